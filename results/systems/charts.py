"""Charts of systems and of replication."""

from projects.charts import specs
from projects.charts.drawing import Chart
from results.scope.gold_settings import ITEMS, PASSAGES
from results.scores.charts import Figures
from results.systems.pair_tables import chart_pairs
from results.systems.pairs import GRAHAM2016

MOST_IN_MAP = 15
"""The most systems in the map of pairs; the table has more."""


def chart_systems(figures: Figures, *, key: str) -> list[Chart]:
    """Return the systems with their intervals, by z score and on the scale, and their pairs."""
    # Reports of earlier versions name no unit, and their charts show the interval over candidates.
    scores, unit = figures["scores"].get(key, []), figures.get("unit", ITEMS)
    charts = [
        _draw_forest(scores, "z", "Mean z score by system", unit),
        _draw_forest(scores, "raw", "Mean score by system", unit),
    ]
    # Reports of earlier versions have only that test.
    if figures.get("test", GRAHAM2016) != GRAHAM2016:
        return [*charts, chart_pairs(figures, key=key)]
    cells = [
        {"better": pair["first"], "than": pair["second"], "p": pair["p"], "label": _format_p(pair["p"])}
        for pair in figures["pairs"].get(key, [])
        if isinstance(pair["p"], float)
    ]
    spec = specs.heat_map(
        "better", "than", "p", "label", title="p", domain=(0, 1), order=[score["source"] for score in scores]
    )
    return [
        *charts,
        Chart(
            "pairs",
            "p-values of one-sided tests: row better than column",
            # Without cells no map is drawn; the table below it has every pair.
            cells if len(scores) <= MOST_IN_MAP else [],
            spec,
            columns=("better", "than", "p"),
        ),
    ]


def chart_replication(figures: Figures, *, key: str) -> list[Chart]:
    """Return the systems' scores in one batch against the other, as z scores where there are any."""
    found = figures["by"].get(key, {})
    measure = "z" if found.get("z", {}).get("systems") else "raw"
    rows = found.get(measure, {}).get("systems", [])
    axis = "mean z, %(run)s" if measure == "z" else "mean score, %(run)s"
    spec = specs.points(
        *("first", "second", "source"),
        x_title=axis % {"run": "first batch"},
        y_title=axis % {"run": "second batch"},
    )
    return [Chart("replication", "System scores in two batches", rows, spec, columns=("source", "first", "second"))]


def _draw_forest(scores: list[Figures], measure: str, title: str, unit: str) -> Chart:
    shown = "by_group" if unit == PASSAGES else "by_unit"
    rows = [
        {
            "system": score["source"] or "none named",
            "mean": score[measure]["mean"],
            "low": score[measure][shown].get("low"),
            "high": score[measure][shown].get("high"),
            "passage_low": score[measure]["by_group"].get("low"),
            "passage_high": score[measure]["by_group"].get("high"),
            "n_candidates": score["n_units"],
            "n_ratings": score["n_ratings"],
        }
        for score in scores
        if isinstance(score[measure]["mean"], float)
    ]
    axis = "mean z" if measure == "z" else "mean score"
    spec = specs.intervals("system", "mean", "low", "high", title=axis, zero=0 if measure == "z" else None)
    title = f"{title}, with 95 % CI over {'passages' if unit == PASSAGES else 'candidates'}"
    # Two stand side by side, each with its names.
    return Chart(f"systems-{measure}", title, rows, spec | {"width": 400})


def _format_p(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")
