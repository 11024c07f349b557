"""Parts of a table that a warning names, with their numbers."""

from collections.abc import Iterable

MOST_NAMED = 8
"""Of more parts, such as the days of a month, the first are named and the others counted."""


def name_parts(parts: Iterable[tuple[str, str]]) -> str:
    """Return the parts by name, each with what is to be said of it, as one part of a sentence."""
    named = [f"{name.rstrip('. ')} ({text})" for name, text in parts]  # a criterion may be a sentence
    n_more = len(named) - MOST_NAMED
    # A single one takes no more room than its number.
    if n_more > 1:
        named[MOST_NAMED:] = [f"{n_more:,} more"]
    return "; ".join(named)
