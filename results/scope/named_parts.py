"""Parts of a table that a warning names, with their numbers."""

from collections.abc import Iterable

MOST_NAMED = 8
"""Of more parts, such as the days of a month, the first are named and the others counted."""


def name_parts(parts: Iterable[tuple[str, str]]) -> str:
    """Return the parts by name with what is to be said of each, as one part of a sentence.

    Parts of which the same is to be said are listed together.
    """
    alike: dict[str, list[str]] = {}
    for name, text in parts:
        alike.setdefault(text, []).append(name.rstrip(". "))  # a criterion may be a sentence
    n_more = sum(map(len, alike.values())) - MOST_NAMED
    # A single one takes no more room than its number.
    n_left = MOST_NAMED if n_more > 1 else MOST_NAMED + 1
    listed = []
    for text, names in alike.items():
        if named := names[:n_left]:
            listed.append(f"{_join(named)} ({'each ' if len(named) > 1 else ''}{text})")
            n_left -= len(named)
    return "; ".join([*listed, f"{n_more:,} more"] if n_more > 1 else listed)


def _join(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
