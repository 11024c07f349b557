"""The table of alpha by criterion, as of a batch and of a frozen set: each criterion at its own level."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from projects.tables.tables import Column, Missing, Table, Value
from results.agreement.tables import COUNTS, add_interval, make_counts

Figures = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class CriterionAlpha:
    """Alpha of a criterion on a scale: the outcome and its counts, and the interval with the unit that it is over."""

    criterion: str
    scale: str
    level: str
    outcome: Figures
    interval: Figures | None
    unit: str


def tabulate_criteria(found: Sequence[CriterionAlpha], *, caption: str, label: str) -> Table:
    """Return one row for each criterion and scale."""
    columns = [
        Column("criterion", "Criterion"),
        Column("alpha", "Alpha", "estimate", 4, hint="alpha"),
        Column("unit", "Interval over"),
        Column("level", "Level", hint="alpha-level"),
        Column("scale", "Scale"),
        *COUNTS,
    ]
    rows: list[list[Value]] = [
        [each.criterion, _read_alpha(each), each.unit, each.level, each.scale, *make_counts(each.outcome)]
        for each in found
    ]
    return Table("criteria", "Alpha by criterion", columns, rows, caption, label=label)


def _read_alpha(each: CriterionAlpha) -> Value:
    if each.outcome["alpha"] is None:
        return Missing(each.outcome["undefined"])
    return add_interval(each.outcome["alpha"], each.interval)
