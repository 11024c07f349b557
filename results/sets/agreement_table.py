"""The table of agreement of a frozen set."""

from collections.abc import Mapping
from typing import Any

from projects.tables.tables import Table
from results.agreement.criteria_table import CriterionAlpha, tabulate_criteria
from results.models import JudgmentSet
from results.scope.gold_settings import ITEMS, PASSAGES
from results.sets.agreement_text import choose_interval

Figures = Mapping[str, Any]


def tabulate_set_agreement(judgment_set: JudgmentSet, names: Mapping[str, str]) -> Table:
    """Return alpha of each criterion and scale, with the interval that the set's README has; names are by key."""
    found = [_read_criterion(each, names) for each in judgment_set.facts.get("criteria", [])]
    name = judgment_set.name.rstrip(". ")
    methods = {_describe_method(choose_interval(each)) for each in judgment_set.facts.get("criteria", [])}
    caption = (
        f"Krippendorff's alpha by criterion in judgment set {judgment_set.number}, {name} (n = "
        f"{judgment_set.facts.get('n_included', 0):,} judgments; 95 % intervals by the {' or '.join(sorted(methods))})."
    )
    return tabulate_criteria(found, caption=caption, label=f"set-{judgment_set.number}-alpha")


def _read_criterion(figures: Figures, names: Mapping[str, str]) -> CriterionAlpha:
    interval = choose_interval(figures)
    unit = PASSAGES if interval is figures["interval_over_passages"] else ITEMS
    n = interval.get("n_resampled")
    noun = "passages" if unit == PASSAGES else "candidates"
    return CriterionAlpha(
        criterion=names.get(figures["criterion"], figures["criterion"]),
        scale=figures["scale"],
        level=figures["level"],
        outcome=figures["agreement"],
        interval=interval,
        unit=noun if n is None else f"{n:,} {noun}",
    )


def _describe_method(interval: Figures) -> str:
    if interval.get("method") is None:
        return f"percentile bootstrap, {interval['n_resamples']:,} resamples, seed {interval['seed']}"
    return "delete-one jackknife with Student's t"
