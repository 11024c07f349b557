import csv
import io
from xml.etree import ElementTree as ET

import pytest
from django.template.loader import render_to_string

from projects.charts import drawing, specs
from projects.charts.drawing import FORMS, Chart, Row, draw, draw_for_phone, write

NASTY = "<script>alert(1)</script> & مثال"
ROWS: list[Row] = [
    {"dataset": NASTY, "alpha": 0.5, "low": 0.4, "high": 0.6},
    {"dataset": "=1+1", "alpha": None, "low": None, "high": None},
]
FOREST = Chart(
    "alpha", "Alpha by dataset", ROWS, specs.intervals("dataset", "alpha", "low", "high", title="alpha", zero=0)
)
PEOPLE = [{"who": name, "x": x, "y": x / 2, "n": 4, "text": "0.5"} for x, name in enumerate("abc")]


def test_a_chart_in_a_page_takes_the_colours_of_the_page_and_runs_nothing() -> None:
    drawn = draw(FOREST)
    assert "var(--series-1)" in drawn
    assert "#" not in drawn.replace("url(#", "").replace("&#", ""), "no colour of its own"
    assert "<script>" not in drawn
    assert "aria-label" not in drawn, "the page says it for the whole"
    texts = [text.strip() for text in ET.fromstring(drawn).itertext() if text.strip()]
    assert "".join(NASTY.split()) in "".join("".join(texts).split()), "long names are on several lines"


def test_a_page_scrolls_a_tall_chart_in_a_frame() -> None:
    def render(names: int, times: int = 1) -> str:
        rows = [{"system": f"s{name}", "mean": 0.5, "low": 0.4, "high": 0.6} for name in range(names)] * times
        spec = specs.intervals("system", "mean", "low", "high", title="mean")
        return render_to_string("projects/charts/_drawing.html", {"chart": Chart("systems", "Systems", rows, spec)})

    assert render(40).count("chart-scroll--tall") == 2, "the drawing, and that for phones"
    assert "chart-scroll--tall" not in render(20, times=2)


def test_what_is_no_drawing_is_refused() -> None:
    for bad in ("<svg><script/></svg>", '<svg><g onload="x"/></svg>', '<svg><g href="x"/></svg>'):
        with pytest.raises(ValueError, match="A chart contains"):
            drawing._checked(bad)


@pytest.mark.parametrize(("form", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_a_file_has_colours_of_its_own(form: str, start: bytes) -> None:
    assert form in FORMS
    written = write(FOREST, form)
    assert written.startswith(start)
    assert form == "pdf" or written == write(FOREST, form)
    if form == "svg":
        assert b"var(" not in written
        assert b"Alpha by dataset" in written


def test_the_csv_holds_the_figures_with_formulas_disarmed() -> None:
    rows = list(csv.DictReader(io.StringIO(write(FOREST, "csv").decode(), newline="")))
    assert rows == [
        {"dataset": NASTY, "alpha": "0.5", "low": "0.4", "high": "0.6"},
        {"dataset": "'=1+1", "alpha": "", "low": "", "high": ""},
    ]


@pytest.mark.parametrize(
    "spec",
    [
        specs.bars("who", "x", title="n", axis="who"),
        specs.bars("who", "x", title="n", axis="who", series="text", order=["b", "a", "c"]),
        specs.small_multiples("who", "x", "text", title="n", axis="who", n=1),
        specs.heat_map("who", "text", "y", "text", title="kappa", domain=(0, 1)),
        specs.line("who", "x", "y", "x", title="alpha", axis="day", domain=(0, 2)),
        specs.points("x", "y", "who", x_title="bias", y_title="r", size="n", size_title="items", zero=0),
    ],
)
def test_every_kind_of_mark_is_drawn_of_its_rows(spec: drawing.Spec) -> None:
    drawn = draw(Chart("it", "It", PEOPLE, spec))
    empty = draw(Chart("it", "It", [], spec))
    shapes = ("<path", "<rect", "<text")
    assert sum(drawn.count(shape) for shape in shapes) > sum(empty.count(shape) for shape in shapes)
    assert (
        "<svg" in draw_for_phone(Chart("it", "It", PEOPLE, spec)) or "width" not in spec or "step" in str(spec["width"])
    )
    for form in FORMS:
        assert write(Chart("it", "It", PEOPLE, spec), form)


@pytest.mark.parametrize(
    ("last", "ticks"),
    [
        (0, [1]),
        (1, [1]),
        (3, [1, 2, 3]),
        (10, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (11, [1, 2, 4, 6, 8, 10]),
        (47, [1, 5, 10, 15, 20, 25, 30, 35, 40, 45]),
        (1_234, [1, 200, 400, 600, 800, 1_000, 1_200]),
    ],
)
def test_an_axis_of_whole_numbers_has_few_ticks_and_no_halves(last: int, ticks: list[int]) -> None:
    assert specs.choose_ticks(last) == ticks


def test_a_tall_chart_has_its_axis_above_it_too() -> None:
    def count_titles(n: int) -> int:
        rows = [{"name": f"system {each}", "mean": each / n, "low": 0.0, "high": 1.0} for each in range(n)]
        spec = specs.intervals("name", "mean", "low", "high", title="mean rating")
        return draw(Chart("means", "Means", rows, spec)).count("mean rating")

    assert count_titles(10) == 1
    assert count_titles(80) == 2
