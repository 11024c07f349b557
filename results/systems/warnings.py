"""What a reader of system scores has to know, in sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from measures.jackknife import FEW_UNITS
from projects.language.amounts import plural
from results.scope.gold_settings import PASSAGES
from results.scope.human_sources import COUNT_AS_SYSTEMS


def list_warnings(figures: Mapping[str, Any], human_sources: Sequence[str]) -> list[str]:
    """Return why the scores of systems may mislead: human sources among them, few passages.

    Notes on pairs, such as that no pair can be significant, are stored with the figures.
    """
    scored = {score["source"] for scores in figures["scores"].values() for score in scores}
    found = []
    if among := sorted(scored & set(human_sources)):
        found.append(
            f"{COUNT_AS_SYSTEMS}: {', '.join(among)}. They take ranks, and each is compared with each "
            "system, so that more pairs are corrected for. Leave them out or show them apart under “Human sources”."
        )
    # Figures of earlier versions do not tell how many passages there are.
    n = figures.get("n_passages", FEW_UNITS)
    if figures.get("unit") == PASSAGES and n < FEW_UNITS:
        passages = plural(n, "1 passage", f"{n:,} passages")
        found.append(
            f"Few passages: with fewer than {FEW_UNITS} the intervals are rough. These scores are of {passages}."
        )
    return found
