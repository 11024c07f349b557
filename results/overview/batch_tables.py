"""Tables of the results of one batch: alpha by criterion and by dataset, and the spread of ratings."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from annotate.frames.criteria_in_use import CriterionInUse
from annotate.models import Batch
from projects.language.amounts import plural
from projects.tables.tables import Column, Name, Table, Value
from results.agreement.criteria_table import CriterionAlpha, tabulate_criteria
from results.agreement.tables import count_passages, tabulate_parts
from results.scope.gold_settings import PASSAGES

Figures = Mapping[str, Any]
SPREAD = "spread"
"""The table of differences between ratings."""


def tabulate_batch(
    batch: Batch, figures: Figures, criteria: Sequence[CriterionInUse], *, chosen: CriterionInUse
) -> list[Table]:
    """Return alpha of every criterion, and of the chosen one alpha by dataset and the spread of its ratings."""
    found = [_read_report(each, figures[each.key]["report"], is_chosen=each == chosen) for each in criteria]
    name = batch.name.rstrip(". ")
    counted = f"n = {plural(len(found), '1 criterion', f'{len(found):,} criteria')}"
    caption = (
        f"Krippendorff's alpha by criterion in batch {batch.number}, {name} ({counted}; 95 % intervals by the "
        "delete-one jackknife with Student's t)."
    )
    return [
        tabulate_criteria(found, caption=caption, label=f"batch-{batch.number}-alpha"),
        tabulate_parts(figures[chosen.key]["report"], criterion=chosen.name),
        _tabulate_spread(batch, figures[chosen.key]["spread"], chosen),
    ]


def _read_report(criterion: CriterionInUse, report: Figures, *, is_chosen: bool) -> CriterionAlpha:
    line = report["levels"][0]
    is_over_passages = report["unit"] == PASSAGES
    return CriterionAlpha(
        criterion=Name(criterion.name, url="" if is_chosen else f"?{urlencode({'criterion': criterion.key})}"),
        scale="; ".join(criterion.scales),
        level=report["level"],
        outcome=line,
        interval=line["by_passage" if is_over_passages else "by_unit"],
        unit=count_passages(report["n_passages"]) if is_over_passages else "candidates",
    )


def _tabulate_spread(batch: Batch, spread: Figures, criterion: CriterionInUse) -> Table:
    if criterion.has_order:
        first = Column("difference", "Maximum difference between two ratings", hint="max-difference")
        title, what = "Candidates by maximum difference", "the maximum difference between two ratings"
        rows: list[list[Value]] = [list(row) for row in spread["by_quarter"]]
    else:
        first = Column("n_categories", "Categories", "count")
        title, what = "Candidates by categories", "the number of categories that annotators chose"
        # Figures of earlier versions don't have them.
        rows = [list(row) for row in spread.get("by_categories") or ()]
    columns = [first, Column("n", "Candidates", "count")]
    caption = (
        f"Candidates of batch {batch.number} by {what} (criterion: "
        f"{criterion.name.rstrip('. ')}; n = {spread['n_items']:,} candidates with two or more ratings)."
    )
    return Table(SPREAD, title, columns, rows, caption, label=f"batch-{batch.number}-spread")
