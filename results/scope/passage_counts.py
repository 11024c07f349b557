"""How many passages intervals are over, and the warning where these are few, or few of them have most candidates.

There is one rule for all pages: passages count as Student's t of the intervals that are shown counts them, by the
effective number of what the interval is over. That is ratings for alpha, questions for accuracies and means of
questions, and candidates otherwise. A table of parts has an interval for each part, and so a number for each. Figures
of earlier versions may know the number of passages alone, which stands in for it then.
"""

from collections.abc import Iterable

import numpy as np

from measures.jackknife import FEW_UNITS, effective_number
from measures.patterns import Ints
from results.scope.named_parts import name_parts

FEW = f"Few passages: with fewer than {FEW_UNITS} the intervals are rough."


def count_effective(passages: Ints) -> float:
    """Return the effective number of passages, from the passage of each candidate, numbered from 0."""
    return effective_number(np.bincount(passages)) if len(passages) else 0.0


def are_few(n: int, n_effective: float | None) -> bool:
    # Rounded, as the warning has it: that 20 passages count as 19.8 is no reason to say that these are fewer than 20.
    return min(n, round(n_effective or n)) < FEW_UNITS


def warn_of_few_passages(n: int, n_effective: float | None, *, covering: str) -> str:
    """Return the warning, with what covers so many passages, or nothing; figures of earlier versions know no other
    number than that of the passages."""
    if not are_few(n, n_effective):
        return ""
    return f"{FEW} {covering} {n:,}{explain_uneven(n, n_effective)}."


def warn_of_few_in_parts(parts: Iterable[tuple[str, int, float | None]], *, noun: str) -> str:
    """Return the warning for the parts of a table with few passages, or nothing.

    `parts` are those with an interval: their names, passages and effective numbers. `noun` names them in the plural.
    """
    few = [part for part in parts if part[1] and are_few(*part[1:])]
    listed = name_parts((name, f"{n:,}{explain_uneven(n, n_effective)}") for name, n, n_effective in few)
    return f"{FEW} {noun} with fewer: {listed}." if few else ""


def explain_uneven(n: int, n_effective: float | None) -> str:
    """Return how many passages these count as, as a part of a sentence; nothing where they have about one size."""
    if not n_effective or round(n_effective) >= n:
        return ""
    return f", which count as {round(n_effective):,} because some weigh more than others"
