"""Charts of systems and of replication."""

from projects.charts import specs
from projects.charts.drawing import Chart
from results.scope.gold_settings import ITEMS, PASSAGES
from results.scores.charts import Figures
from results.systems.pair_tables import chart_pairs
from results.systems.system_pairs import GRAHAM2016


def chart_systems(figures: Figures, *, key: str) -> list[Chart]:
    """Return the systems with their intervals, by z score and on the scale, and their pairs."""
    # Reports of earlier versions name no unit, and their charts show the interval over candidates.
    scores, unit = figures["scores"].get(key, []), figures.get("unit", ITEMS)
    charts = [
        _draw_forest(scores, "z", "Mean z score by system", unit),
        _draw_forest(scores, "raw", "Mean score by system", unit),
    ]
    # The published test, the only one of earlier versions, has p-values alone: a table says these better than a map.
    is_published = figures.get("test", GRAHAM2016) == GRAHAM2016
    return charts if is_published else [*charts, chart_pairs(figures, key=key)]


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
    # Two are side by side, each with its names.
    return Chart(f"systems-{measure}", title, rows, spec | {"width": 400})
