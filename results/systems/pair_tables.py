"""Table and chart of the pairs of systems."""

from collections.abc import Mapping
from typing import Any

from projects.charts import specs
from projects.charts.drawing import Chart
from projects.tables.stored_values import read_number
from projects.tables.tables import Column, Estimate, Table, Value
from results.systems.system_pairs import TESTS, Measure
from results.systems.warnings import list_notes

Figures = Mapping[str, Any]
MOST_DRAWN = 28
"""The most pairs in the chart, those of eight systems; the table has all."""
NAMES = {Measure.Z: "mean z", Measure.RAW: "mean score"}


def tabulate_pairs(figures: Figures, *, key: str) -> Table:
    """Return each pair of systems with its difference, effect sizes and p-values."""
    pairs, measure = figures["pairs"].get(key, []), Measure(figures["values"])
    columns = [
        Column("first", "System"),
        Column("second", "vs."),
        Column("n_questions", "Questions", "count", hint="shared-questions"),
        Column("n_groups", "Passages", "count"),
        Column("difference", f"Difference of {NAMES[measure]}", "estimate", is_signed=True),
        Column("superiority", "Superiority", "number", 2, hint="superiority"),
        Column("d_z", "d_z", "number", 2, hint="d-z", is_signed=True),
        Column("p", "p", "p", 4),
        Column("p_holm", "p (Holm)", "p", 4, hint="p-holm-pairs"),
    ]
    rows: list[list[Value]] = [
        [
            _name(pair["first"]),
            _name(pair["second"]),
            pair["n_questions"],
            pair["n_groups"],
            _read_difference(pair),
            read_number(pair["superiority"]),
            read_number(pair["d_z"]),
            read_number(pair["p"]),
            pair["p_holm"],
        ]
        for pair in pairs
    ]
    n = sum(pair["p_holm"] is not None for pair in pairs)
    scope = f"criterion: {key}" if key else "all criteria"
    caption = (
        f"Each pair of systems on the questions that both answered ({scope}; {NAMES[measure]} of an answer; two-sided "
        f"p by {TESTS[figures['test']]}, Holm's correction over {n:,} pairs; 95 % CI by the jackknife over passages)."
    )
    notes = [*figures["notes"].get(key, []), *list_notes(figures, key)]
    return Table("pairs", "Pairs of systems", columns, rows, caption, n_keys=2, notes=notes, label="system-pairs")


def chart_pairs(figures: Figures, *, key: str) -> Chart:
    """Return the difference of each pair with its interval; none where there are too many to draw."""
    measure = Measure(figures["values"])
    rows = [
        {
            "pair": f"{_name(pair['first'])} − {_name(pair['second'])}",
            "difference": pair["difference"],
            "low": pair["interval"].get("low"),
            "high": pair["interval"].get("high"),
        }
        for pair in figures["pairs"].get(key, [])
        if isinstance(pair["difference"], float)
    ]
    columns = ("pair", "difference", "low", "high")
    title = f"Difference of {NAMES[measure]} of each pair of systems, with 95 % CI over passages"
    spec = specs.intervals(*columns, title=f"difference of {NAMES[measure]}", zero=0)
    return Chart("pairs", title, rows if len(rows) <= MOST_DRAWN else [], spec, columns=columns)


def _name(source: str) -> str:
    return source or "unspecified"


def _read_difference(pair: Figures) -> Value:
    difference, ends = read_number(pair["difference"]), pair["interval"]
    if not isinstance(difference, float):
        return difference
    return Estimate(difference, ends.get("low"), ends.get("high"), ends.get("reason", ""))
