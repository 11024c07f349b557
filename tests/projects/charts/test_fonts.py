"""Scripts for which the server has no font: named where a chart can be downloaded."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest
from django.core.cache import cache
from django.template.loader import render_to_string

from projects.charts import fonts, specs
from projects.charts.drawing import Chart
from projects.charts.fonts import find_undrawable

ROWS = [
    {"system": "通义千问", "z": 0.5, "low": 0.4, "high": 0.6},
    {"system": "نموذج", "z": 0.4, "low": 0.3, "high": 0.5},
]
CHART = Chart("z", "Mean z", ROWS, specs.intervals("system", "z", "low", "high", title="z", zero=0))


@pytest.fixture
def without_chinese(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server that draws a box for Chinese, as for a code point that no font has, and everything else as it is."""
    cache.clear()
    boxed = SimpleNamespace(draw=lambda svg, form: b"box" if {*"通\u0378"} & set(svg) else svg.encode())
    monkeypatch.setattr(fonts, "drawing_process", boxed)
    yield
    cache.clear()


def test_scripts_without_a_font_are_named(without_chinese: None) -> None:
    assert find_undrawable(["Bär, Ωδή, Дом 7 %", "通义", "نموذج"]) == ["Chinese"]
    assert find_undrawable(["Bär", "نموذج"]) == []


def test_a_page_says_so_beside_the_downloads(without_chinese: None) -> None:
    template = "projects/charts/_figure.html"
    shown = " ".join(render_to_string(template, {"chart": CHART, "charts_url": "charts/"}).split())
    assert "The server has no font for Chinese names: PNG and PDF files show boxes in their place." in shown
    plain = replace(CHART, rows=[row | {"system": "plain"} for row in ROWS])
    assert "has no font" not in render_to_string(template, {"chart": plain, "charts_url": "charts/"})


def test_a_letter_with_a_font_differs_from_a_code_point_that_none_has() -> None:
    assert fonts._draw_text("д") != fonts._draw_text(fonts._IN_NO_FONT)
