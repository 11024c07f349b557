"""What a reader of system scores has to know, in sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from measures.jackknife import FEW_UNITS
from projects.language.amounts import plural
from results.scope.gold_settings import PASSAGES
from results.scope.human_sources import COUNT_AS_SYSTEMS


def list_warnings(figures: Mapping[str, Any], human_sources: Sequence[str], *, key: str = "") -> list[str]:
    """Return why the scores of systems on a criterion, or on all, may mislead: human sources, few passages.

    Notes on pairs, such as that no pair can be significant, are stored with the figures.
    """
    scored = {score["source"] for scores in figures["scores"].values() for score in scores}
    found = []
    if among := sorted(scored & set(human_sources)):
        found.append(
            f"{COUNT_AS_SYSTEMS}: {', '.join(among)}. They take ranks, and each is compared with each "
            "system, so that more pairs are corrected for. Leave them out or show them apart under “Human sources”."
        )
    if counted := _count_few_passages(figures, key):
        found.append(f"Few passages: with fewer than {FEW_UNITS} the intervals are rough. {counted}")
    return found


def _count_few_passages(figures: Mapping[str, Any], key: str) -> str:
    """Return a sentence on how few passages the scores are of, or nothing where they are enough."""
    if figures.get("unit") != PASSAGES:
        return ""
    # Figures of earlier versions do not tell how many passages there are, or only how many in all.
    n = figures.get("n_passages", FEW_UNITS)
    by_criterion = {each["key"]: (each["name"], each.get("n_passages", n)) for each in figures["criteria"]}
    if key in by_criterion:
        n = by_criterion[key][1]
    if n < FEW_UNITS:
        return f"These scores are of {_name_count(n)}."
    few = [(name, n) for name, n in by_criterion.values() if 0 < n < FEW_UNITS] if key not in by_criterion else []
    listed = "; ".join(f"{name.rstrip('. ')}, {_name_count(n)}" for name, n in few)
    return f"Criteria with fewer: {listed}." if few else ""


def _name_count(n: int) -> str:
    return plural(n, "1 passage", f"{n:,} passages")
