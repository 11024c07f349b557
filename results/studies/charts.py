"""Charts that several kinds of evaluation share: metrics with their ceiling, heat maps, scatter plots."""

from collections.abc import Mapping, Sequence
from typing import Any

from projects.charts import specs
from projects.charts.drawing import Chart
from projects.language.amounts import format_score
from results.studies.tables import ONE_PERSON, Estimate, Value, read_ceiling, read_one_person

MOST_IN_MAP = 600
"""The most cells of a heat map; the table has more."""
WIDTH = 400
"""The width of a plot beside its table."""


def draw_metrics(
    name: str,
    title: str,
    found: Sequence[tuple[str, Value]],
    one_person: Mapping[str, Any],
    ceiling: Mapping[str, Any] | None = None,
    *,
    axis: str,
) -> Chart:
    """Return each metric and one person against the others, each with its interval, and the ceiling as a line.

    The band around the line is the interval of the ceiling. Without a ceiling there is no line.
    """
    estimates: list[tuple[str, Value]] = [
        (label, Estimate(value) if isinstance(value, float) else value) for label, value in found
    ]
    estimates.append((ONE_PERSON, read_one_person(one_person)))
    rows = [
        {"metric": label, "value": value.value, "low": value.low, "high": value.high}
        for label, value in estimates
        if isinstance(value, Estimate)
    ]
    columns = ("metric", "value", "low", "high")
    limit = read_ceiling(ceiling) if ceiling is not None else None
    # An undefined ceiling draws no line.
    if not isinstance(limit, Estimate):
        spec = specs.intervals(*columns, title=axis)
        return Chart(name, title, rows, {**spec, "width": WIDTH}, columns=columns)
    spec = specs.intervals(
        *columns,
        title=axis,
        line=(limit.value, f"ceiling {limit.value:.3f}"),
        is_line_right=_is_right(limit, rows),
        band=None if limit.low is None or limit.high is None else (limit.low, limit.high),
    )
    description = f"{title}. The ceiling is at {limit.value:.3f}."
    return Chart(name, title, rows, {**spec, "width": WIDTH}, description=description, columns=columns)


def _is_right(limit: Estimate, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the ceiling lies right of most of the drawing, so that its label goes to its left."""
    own = [each for each in (limit.value, limit.low, limit.high) if each is not None]
    ends: list[float] = [*own, *(row[key] for row in rows for key in ("value", "low", "high") if row[key] is not None)]
    # The label would otherwise be cut off at the edge of the picture.
    return limit.value > (min(ends) + max(ends)) / 2


def draw_estimates(name: str, title: str, found: Sequence[tuple[str, Value]], *, axis: str) -> Chart:
    """Return each metric with its interval; what is undefined is not drawn."""
    rows = [
        {"metric": label, "value": value.value, "low": value.low, "high": value.high}
        for label, value in found
        if isinstance(value, Estimate)
    ]
    columns = ("metric", "value", "low", "high")
    return Chart(name, title, rows, {**specs.intervals(*columns, title=axis), "width": WIDTH}, columns=columns)


def draw_heat_map(name: str, title: str, cells: Sequence[Mapping[str, Any]], *, row: str, column: str) -> Chart:
    """Return a square for each cell of `row`, `column` and `value`, darker where it is lower."""
    labelled = [{**cell, "label": format_score(cell["value"], 2)} for cell in cells]
    values = [cell["value"] for cell in cells]
    spec = specs.heat_map(
        # Correlations may be negative; a map of positive ones begins at 0, so that maps can be compared.
        row,
        column,
        "value",
        "label",
        title="correlation",
        domain=(min([0.0, *values]), max([0.0, *values]) or 1.0),
    )
    return Chart(name, title, labelled if len(labelled) <= MOST_IN_MAP else [], spec, columns=(row, column, "value"))


def draw_scatter(
    name: str, title: str, rows: Sequence[Mapping[str, Any]], *, x_title: str, y_title: str, series: str = ""
) -> Chart:
    """Return a point for each row of `metric` and `human`, coloured by series where there are any."""
    spec = specs.scatter("metric", "human", x_title=x_title, y_title=y_title, series=series)
    return Chart(name, title, rows, {**spec, "width": WIDTH})
