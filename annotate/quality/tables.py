"""Tables of annotator quality: every indicator of each annotator, and how many passed the controls."""

from collections.abc import Iterable
from typing import Any

from annotate.quality.control_summary import ControlSummary
from annotate.quality.degraded_tests import NAMES
from annotate.quality.figure_formats import KINDS, FigureKind
from projects.language.amounts import format_percent, plural
from projects.models import Project
from projects.tables.tables import Column, ColumnKind, Missing, Table, Value

_FORMS: dict[str, tuple[str, ColumnKind, int]] = {
    "count": ("{}", "count", 0),
    "share": ("{}, in %", "number", 1),
    "number": ("{}", "number", 2),
    "signed": ("{}", "number", 2),
    "fine": ("{}", "number", 3),
    "p": ("{}", "p", 3),
    "seconds": ("{}, in seconds", "number", 1),
    "brief": ("{}, in seconds", "number", 2),
}
"""The heading, kind and digits of a column by the form of its indicator."""


def tabulate_annotators(project: Project, rows: Iterable[Any]) -> Table:
    """Return the indicators of annotators in their order, for files; the page shows them in slices."""
    columns = [
        Column("annotator", "Annotator"),
        Column("status", "Status"),
        Column("alerts", "Alerts", "count"),
        *map(_make_column, KINDS),
    ]
    cells: list[list[Value]] = [
        [
            # Real names are for those who may see them on pages; files are passed on.
            row.annotator.pseudonym,
            row.annotator.get_standing_display(),
            row.n_findings,
            *(_read_figure(row.figures, kind) for kind in KINDS),
        ]
        for row in rows
    ]
    n = plural(len(cells), "1 annotator", f"{len(cells):,} annotators")
    caption = f"Indicators of annotators' work in {project.name.rstrip('. ')} (n = {n})."
    notes = [f"{kind.label}: {kind.explanation}" for kind in KINDS]
    return Table("annotators", "Annotator quality", columns, cells, caption, notes=notes, label="annotator-quality")


def _make_column(kind: FigureKind) -> Column:
    heading, column_kind, digits = _FORMS[kind.form]
    return Column(kind.key, heading.format(kind.label), column_kind, digits)


def _read_figure(figures: dict[str, Any], kind: FigureKind) -> Value:
    value = kind.value_in(figures)
    if value is None:
        return Missing(kind.reason_in(figures))
    if kind.form == "share":
        return 100 * value
    return round(value) if kind.form == "count" else value


def tabulate_controls(project: Project, summary: ControlSummary) -> list[Table]:
    """Return the outcomes of the degraded test and, if any were rated, of known answers."""
    return [
        _tabulate_degraded(project, summary),
        *([_tabulate_known(project, summary)] if summary.known.n_ratings else []),
    ]


def _tabulate_degraded(project: Project, summary: ControlSummary) -> Table:
    columns = [
        Column("outcome", "Outcome"),
        Column("annotators", "Annotators", "count"),
        Column("hits", "HITs", "count"),
    ]
    rows: list[list[Value]] = [[line.label.capitalize(), line.n_annotators, line.n_hits] for line in summary.lines]
    caption = (
        f"Outcomes of the degraded test in {project.name.rstrip('. ')} ({NAMES[summary.test.value]}; n = "
        f"{summary.n_annotators:,} annotators with submitted work; a HIT passes with its annotator)."
    )
    foot: list[list[Value]] = [["All", summary.n_annotators, summary.n_hits]]
    return Table("degraded-test", "Outcomes of the degraded test", columns, rows, caption, foot=foot)


def _tabulate_known(project: Project, summary: ControlSummary) -> Table:
    known = summary.known
    columns = [Column("check", "Check"), Column("passed", "Passed", "count"), Column("total", "Total", "count")]
    share = format_percent(known.good_share)
    rows: list[list[Value]] = [
        ["Known answers rated within the accepted range", known.n_correct, known.n_ratings],
        ["HITs with all their known answers correct", known.n_hits_all_correct, known.n_hits],
        [f"Annotators with at least {share} correct", known.n_annotators_good, known.n_annotators],
    ]
    caption = (
        f"Outcomes of known answers in {project.name.rstrip('. ')} (n = {known.n_ratings:,} ratings of known answers; "
        "total: HITs and annotators with at least one)."
    )
    return Table("known-answers", "Outcomes of known answers", columns, rows, caption)
