"""The warning where nearly all ratings are equal, so that intervals of alpha are too narrow."""

from collections.abc import Iterable

from measures.alpha_intervals import FEW_OFF_MODE, are_nearly_equal
from results.scope.named_parts import name_parts

NEARLY_EQUAL = (
    f"Nearly all ratings are equal: where fewer than {FEW_OFF_MODE} candidates have a rating other than the most "
    "frequent one, the interval of alpha is too narrow."
)


def warn_of_equal_ratings(n_off_mode: int, n_units: int) -> str:
    """Return the warning, with the number of candidates that have another rating, or nothing."""
    return f"{NEARLY_EQUAL} Here {n_off_mode:,} of {n_units:,} have." if are_nearly_equal(n_off_mode, n_units) else ""


def warn_of_equal_ratings_in_parts(parts: Iterable[tuple[str, int, int]], *, noun: str) -> str:
    """Return the warning for the parts of a table, or nothing.

    `parts` are those with an interval: their names, candidates with another rating, and candidates. `noun` names them
    in the plural.
    """
    few = [part for part in parts if are_nearly_equal(*part[1:])]
    listed = name_parts((name, f"{n_off_mode:,} of {n_units:,}") for name, n_off_mode, n_units in few)
    return f"{NEARLY_EQUAL} {noun} with fewer: {listed}." if few else ""
