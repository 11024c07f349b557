"""The chart of a run: the distribution of its scores."""

from typing import Any

from projects.charts.drawing import Chart, Spec
from results.models import MetricRun


def make_charts(run: MetricRun) -> list[Chart]:
    histogram = (run.report.get("summary") or {}).get("histogram")
    return [_draw_histogram(histogram)] if histogram else []


def make_bins(histogram: dict[str, Any]) -> list[dict[str, Any]]:
    edges, counts = histogram["edges"], histogram["counts"]
    n = sum(counts)
    return [
        {"from": low, "to": high, "n": count, "share": count / n}
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
    ]


def _draw_histogram(histogram: dict[str, Any]) -> Chart:
    axis = {"type": "quantitative", "title": "score", "scale": {"nice": False, "zero": False}}
    spec: Spec = {
        "height": 220,
        "mark": {"type": "bar", "color": "@series-1", "binSpacing": 1},
        "encoding": {
            "x": {**axis, "field": "from", "bin": {"binned": True}},
            "x2": {"field": "to"},
            "y": {"field": "n", "type": "quantitative", "title": "candidates"},
        },
    }
    return Chart("spread", "Candidates by score", make_bins(histogram), spec, columns=("from", "to", "n", "share"))
