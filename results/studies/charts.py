"""Charts that several kinds of study share: metrics with the human ceiling, maps of figures, scatters."""

from collections.abc import Mapping, Sequence
from typing import Any

from projects.charts import specs
from projects.charts.drawing import Chart
from results.studies.tables import Estimate, Value

MOST_IN_MAP = 600
"""So many cells are drawn; the table has more."""
WIDTH = 400
"""Of a plot that stands beside its table."""


def draw_metrics(
    name: str, title: str, found: Sequence[tuple[str, Value]], ceiling: Mapping[str, Any], *, axis: str
) -> Chart:
    """Each metric with its interval, and the human ceiling behind them."""
    estimates = [(label, Estimate(value) if isinstance(value, float) else value) for label, value in found]
    rows = [
        {"metric": label, "value": value.value, "low": value.low, "high": value.high}
        for label, value in estimates
        if isinstance(value, Estimate)
    ]
    columns = ("metric", "value", "low", "high")
    if "reason" in ceiling:
        spec = specs.intervals("metric", "value", "low", "high", title=axis)
        return Chart(name, title, rows, {**spec, "width": WIDTH}, columns=columns)
    spec = specs.intervals(
        *columns,
        title=axis,
        line=(ceiling["r"], "human ceiling {r}".format(r=f"{ceiling['r']:.3f}")),
        is_line_right=_is_right(ceiling["r"], rows),
        band=(ceiling["low"], ceiling["high"]),
    )
    description = "{title}. The human ceiling is at {r}.".format(title=title, r=f"{ceiling['r']:.3f}")
    return Chart(name, title, rows, {**spec, "width": WIDTH}, description=description, columns=columns)


def _is_right(at: float, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the ceiling lies to the right of most of what is drawn, so that its words stand on its left."""
    ends: list[float] = [at, *(row[name] for row in rows for name in ("value", "low", "high") if row[name] is not None)]
    return at > (min(ends) + max(ends)) / 2


def heat_map(name: str, title: str, cells: Sequence[Mapping[str, Any]], *, row: str, column: str) -> Chart:
    """A square for each cell of `row`, `column` and `value`, darker where it is lower."""
    shown = [{**cell, "said": f"{cell['value']:.2f}".replace("-", "\u2212")} for cell in cells]
    values = [cell["value"] for cell in cells]
    spec = specs.heat_map(
        row, column, "value", "said", title="correlation", domain=(min([0.0, *values]), max([0.0, *values]) or 1.0)
    )
    return Chart(name, title, shown if len(shown) <= MOST_IN_MAP else [], spec, columns=(row, column, "value"))


def map_of_p(name: str, title: str, cells: Sequence[Mapping[str, Any]], *, order: Sequence[str]) -> Chart:
    """A square for each `better`, `than` and their `p`."""
    shown = [{**cell, "said": _short(cell["p"])} for cell in cells]
    spec = specs.heat_map("better", "than", "p", "said", title="p", domain=(0, 1), order=order)
    return Chart(name, title, shown if len(shown) <= MOST_IN_MAP else [], spec, columns=("better", "than", "p"))


def _short(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def scatter(
    name: str, title: str, rows: Sequence[Mapping[str, Any]], *, x_title: str, y_title: str, series: str = ""
) -> Chart:
    """A point for each row of `metric` and `human`, in the colour of its series where there are any."""
    spec = specs.scatter("metric", "human", x_title=x_title, y_title=y_title, series=series)
    return Chart(name, title, rows, {**spec, "width": WIDTH})
