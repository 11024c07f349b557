"""The warning where systems have answered different questions, so that their means are hard to compare."""

from collections.abc import Mapping
from typing import Any

from measures.studies.system_draws import Names, find_lacking
from results.studies.stored import store

MOST_NAMED = 5


def count_lacking(questions: Names, systems: Names) -> dict[str, Any]:
    """Return what an evaluation stores of the questions that each system has not answered."""
    stored: dict[str, Any] = store(find_lacking(questions, systems))
    return stored


def warn_of_unequal_shares(lacking: Mapping[str, Any] | None) -> str:
    """Return the warning about means over all answers of each system; nothing where all answered the same questions.

    Evaluations of earlier versions may not have counted the questions.
    """
    lacks: Mapping[str, int] = (lacking or {}).get("lacks", {})
    if not lacking or not lacks:
        return ""
    # The largest gaps first; names of equal ones in their order.
    ordered = sorted(lacks.items(), key=lambda each: (-each[1], each[0]))
    named = [f"{name or 'unspecified'} lacks {n:,}" for name, n in ordered[:MOST_NAMED]]
    if rest := len(ordered) - len(named):
        named.append(f"{rest:,} other{'s lack' if rest > 1 else ' lacks'} some")
    return (
        f"Systems have answered different questions: of {lacking['n_all']:,}, {'; '.join(named)}. Their means over all "
        "answers rest on different questions, so that they may differ because the questions do."
    )
