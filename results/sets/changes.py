"""What changed between an earlier set and a later one: settings, counts, judgments one by one, agreement."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import orjson

from results.sets.scores import EVERY, Line
from results.sets.settings import Settings

CHANGES = "changes.json"

Judged = dict[tuple[Any, ...], tuple[Any, ...]]


@dataclass(frozen=True)
class Earlier:
    """The earlier set: number, name, settings, figures and long file."""

    number: int
    name: str
    sha256: str
    settings: Settings
    facts: dict[str, Any]
    long_lines: Callable[[], Iterable[bytes]]


def describe(
    earlier: Earlier,
    settings: Settings,
    figures: dict[str, Any],
    long_lines: Iterable[bytes],
    on_rows: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Return everything that differs; settings, figures and the lines of the long file are those of the later set."""
    before, after = dict(earlier.settings.list_choices()), dict(settings.list_choices())
    return {
        "against": {"number": earlier.number, "name": earlier.name, "sha256": earlier.sha256},
        # A choice that is listed only where it is on is off in the other set.
        "settings": [
            {"name": name, "before": before.get(name, "no"), "after": after.get(name, "no")}
            for name in before | after
            if before.get(name) != after.get(name)
        ],
        "n_included": {"before": earlier.facts["n_included"], "after": figures["n_included"]},
        "judgments": compare(earlier.long_lines(), long_lines, on_rows),
        "agreement": _compare_agreement(earlier.facts["criteria"], figures["criteria"]),
    }


def compare(before: Iterable[bytes], after: Iterable[bytes], on_rows: Callable[[int], None]) -> dict[str, int]:
    """Count the judgments that were added, are gone, have changed or are the same, of two sorted long files.

    A judgment is known by its candidate, criterion, scale and assignment. It has changed if its score has, or whether
    it is included.
    """
    counts = dict.fromkeys(("added", "gone", "changed_score", "changed_entering", "same"), 0)
    # Both files are sorted by candidate, so they are read side by side and only one candidate's judgments are in
    # memory.
    for n_done, (one, other) in enumerate(_merge_by_candidate(_read_candidates(before), _read_candidates(after))):
        counts["gone"] += len(one.keys() - other.keys())
        counts["added"] += len(other.keys() - one.keys())
        for key in one.keys() & other.keys():
            (score, *entering), (new_score, *now_entering) = one[key], other[key]
            change = (
                "changed_score" if score != new_score else "changed_entering" if entering != now_entering else "same"
            )
            counts[change] += 1
        if n_done % EVERY == 0:
            on_rows(n_done)
    return counts


def _read_candidates(lines: Iterable[bytes]) -> Iterator[tuple[tuple[bytes, bytes], Judged]]:
    """Yield each candidate's key with its judgments."""
    for key, rows in groupby(map(orjson.loads, lines), key=_read_candidate_key):
        yield key, {_read_judgment_key(row): (row["score"], row["enters"], row["left_out_reason"]) for row in rows}


def _read_candidate_key(row: Line) -> tuple[bytes, bytes]:
    return row["dataset"].encode(), row["candidate_id"].encode()


def _read_judgment_key(row: Line) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("criterion", "scale_kind", "scale_low", "scale_high", "assignment"))


def _merge_by_candidate(
    before: Iterator[tuple[tuple[bytes, bytes], Judged]], after: Iterator[tuple[tuple[bytes, bytes], Judged]]
) -> Iterator[tuple[Judged, Judged]]:
    """Yield for each candidate its judgments in both files, empty where one does not have it; both rise by its key."""
    one, other = next(before, None), next(after, None)
    while one is not None or other is not None:
        if other is None or (one is not None and one[0] < other[0]):
            assert one is not None
            yield one[1], {}
            one = next(before, None)
        elif one is None or other[0] < one[0]:
            yield {}, other[1]
            other = next(after, None)
        else:
            yield one[1], other[1]
            one, other = next(before, None), next(after, None)


def _compare_agreement(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return alpha of each criterion and scale in both sets; None where it is undefined or was not asked."""

    def read_alphas(parts: list[dict[str, Any]]) -> dict[tuple[str, str, str], float | None]:
        return {(part["criterion"], part["scale"], part["level"]): part["agreement"]["alpha"] for part in parts}

    one, other = read_alphas(before), read_alphas(after)
    return [
        {"criterion": key[0], "scale": key[1], "level": key[2], "before": one.get(key), "after": other.get(key)}
        for key in sorted({*one, *other})
    ]
