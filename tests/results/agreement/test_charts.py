from typing import Any

import pytest

from projects.charts.drawing import draw
from results.agreement.charts import chart_time


def _make_figures(*periods: tuple[float, float | None]) -> dict[str, Any]:
    made = [
        {
            "name": f"2026-01-{day:02d}",
            "outcome": {"alpha": alpha, "n_units": 9},
            "interval": None if low is None else {"low": low, "high": 0.9},
            "so_far": alpha,
        }
        for day, (alpha, low) in enumerate(periods, start=1)
    ]
    return {"level": "ordinal", "periods": made}


def _read_axis(figures: dict[str, Any]) -> tuple[str, Any]:
    (chart,) = chart_time(figures)
    return chart.title, chart.spec["layer"][0]["encoding"]["y"]["scale"].get("domain")


def test_an_interval_of_few_passages_leaves_room_for_the_others() -> None:
    assert _read_axis(_make_figures((0.7, 0.5), (0.6, None))) == ("Alpha by period, with 95 % CI", None)
    title, domain = _read_axis(_make_figures((0.7, -4.8), (0.6, None)))
    assert title == "Alpha by period, with 95 % CI (cut at −1)"
    assert domain == [-1.0, 1.0]
    (chart,) = chart_time(_make_figures((0.7, -4.8)))
    assert chart.rows[0]["low"] == -4.8, "the file keeps the whole interval"
    assert chart.spec["layer"][0]["mark"]["clip"]


def test_one_period_without_an_interval_has_its_own_value_on_the_axis() -> None:
    assert _read_axis(_make_figures((-0.52, None)))[1] == pytest.approx([-0.62, -0.42])
    assert _read_axis(_make_figures((0.5, None), (0.5, None)))[1] == pytest.approx([0.4, 0.6])
    (chart,) = chart_time(_make_figures((-0.52, None)))
    drawn = draw(chart)
    assert ">−0.55<" in drawn
    assert ">−1<" not in drawn
