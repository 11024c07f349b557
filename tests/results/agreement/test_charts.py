from typing import Any

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
