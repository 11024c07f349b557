"""Drafts as they are stored, and how two of them are merged: answer by answer, the greater stamp wins."""

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Literal, TypedDict

from django.utils.translation import gettext

from annotate.rating.answers import explain_invalid
from annotate.rating.sent import MAX_COMMENT, Ratings, SentAnswers, clean_seconds
from projects.errors import Refused
from projects.language.characters import remove_forbidden
from projects.rubric.rubrics import CriterionOnPage

MAX_BYTES = 256 * 1024

Entry = list[float | str | None]
"""A value and its stamp in milliseconds, a list of two as JSON keeps it; None clears the value."""
Part = Literal["cannot", "comments", "flags", "read"]
PARTS: tuple[Part, ...] = ("cannot", "comments", "flags", "read")


class DraftContent(TypedDict, total=False):
    """A draft as it is stored: entries by position in the layout, those of `answers` also by key of the criterion."""

    answers: dict[str, dict[str, Entry]]
    cannot: dict[str, Entry]
    comments: dict[str, Entry]
    flags: dict[str, Entry]
    read: dict[str, Entry]
    """The answers longer than the annotator's screen that were on it to their end."""
    seconds: list[float]
    passed: int
    """The number of items whose answers are final, if items are shown one at a time: drafts of these change nothing."""
    of: str
    """The version of a submitted HIT that this draft changes."""


def stamp_answers(sent: SentAnswers, stamp: float) -> DraftContent:
    """Return the content of a form as a draft, every entry with this stamp."""
    return {
        "answers": {
            str(position): {key: [value, stamp] for key, value in values.items()}
            for position, values in sent.values.items()
        },
        "cannot": {str(position): [reason, stamp] for position, reason in sent.cannot.items()},
        "comments": {str(position): [comment, stamp] for position, comment in sent.comments.items()},
        "flags": {str(position): [True, stamp] for position in sent.flags},
    }


def read_draft(draft: DraftContent) -> SentAnswers:
    """Return the content of a draft as if a form had sent it; cleared values are left out."""
    cannot = read_texts(draft.get("cannot", {}))
    values: dict[int, Ratings] = {
        int(position): {key: value for key, (value, _) in entries.items() if value is not None}
        for position, entries in draft.get("answers", {}).items()
    }
    return SentAnswers(
        values={position: entries for position, entries in values.items() if entries and position not in cannot},
        cannot=cannot,
        flags=frozenset(int(position) for position, (value, _) in draft.get("flags", {}).items() if value),
        comments=read_texts(draft.get("comments", {})),
        seconds=draft.get("seconds"),
    )


def read_texts(entries: Mapping[str, Entry]) -> dict[int, str]:
    """Return the texts of one part of a draft by position, without their stamps; cleared ones are left out."""
    return {int(position): str(value) for position, (value, _) in entries.items() if value}


def list_read(draft: DraftContent) -> list[int]:
    """Return the positions of the answers longer than a screen that were read to their end."""
    return sorted(int(position) for position, (is_read, _) in draft.get("read", {}).items() if is_read)


def merge_draft(
    stored: DraftContent,
    sent: Mapping[str, object],
    *,
    n_items: int,
    criteria: Mapping[str, CriterionOnPage],
    now: datetime,
) -> DraftContent:
    """Return the newer of stored and sent, answer by answer; neither argument is changed.

    `sent` is whatever JSON object a page has sent. Raises Refused if it is not a draft of this HIT.
    """
    # A stamp from the future would win over everything that is typed later, so it is capped.
    latest = now.timestamp() * 1000
    passed = stored.get("passed", 0)
    answers = dict(stored.get("answers", {}))
    for position, ratings in _entries(sent, "answers", n_items, passed):
        if not isinstance(ratings, dict):
            raise Refused(gettext("A draft's ratings must be listed by criterion."))
        kept = dict(answers.get(position, {}))
        for key, entry in ratings.items():
            if key not in criteria:
                raise Refused(gettext("There is no criterion “{key}”.").format(key=str(key)[:40]))
            value, stamp = _read_entry(entry, latest)
            wrong = value is not None and explain_invalid(criteria[key].scale, value)
            if wrong:
                raise Refused(wrong)
            _keep(kept, key, value, stamp, latest)
        answers[position] = kept
    merged: DraftContent = {"answers": answers}
    for part in PARTS:
        entries = dict(stored.get(part, {}))
        for position, entry in _entries(sent, part, n_items, passed):
            value, stamp = _read_entry(entry, latest)
            if value is not None and not _IS_VALID[part](value):
                raise Refused(gettext("That value isn't allowed for “{part}” in a draft.").format(part=part))
            _keep(entries, position, remove_forbidden(value) if isinstance(value, str) else value, stamp, latest)
        merged[part] = entries
    if "passed" in stored:
        merged["passed"] = passed
    if seconds := _merge_seconds(stored.get("seconds"), sent, n_items):
        merged["seconds"] = seconds
    return merged


def _merge_seconds(before: list[float] | None, sent: Mapping[str, object], n_items: int) -> list[float] | None:
    """Return the greater time of each item: times only grow, so a late draft must not shorten one."""
    seconds, _is_odd = clean_seconds(sent["seconds"]) if "seconds" in sent else (None, False)
    if not seconds or len(seconds) != n_items:
        return before
    return [max(pair) for pair in zip(seconds, before, strict=True)] if before else seconds


def _entries(sent: Mapping[str, object], part: str, n_items: int, passed: int) -> list[tuple[str, object]]:
    """Return the entries of one part by position, without those of items whose answers are final."""
    entries = sent.get(part, {})
    if not isinstance(entries, dict):
        raise Refused(gettext("“{part}” in a draft must be listed by position.").format(part=part))
    for position in entries:
        if not (position.isascii() and position.isdigit() and len(position) < 4 and int(position) < n_items):
            raise Refused(gettext("That number isn't in this HIT."))
    return [(str(int(position)), entry) for position, entry in entries.items() if int(position) >= passed]


def _read_entry(entry: object, latest: float) -> tuple[float | str | None, float]:
    if not isinstance(entry, list) or len(entry) != 2:
        raise Refused(gettext("Every entry of a draft must be a value and a timestamp."))
    value, stamp = entry
    if isinstance(stamp, bool) or not isinstance(stamp, int | float) or not math.isfinite(stamp):
        raise Refused(gettext("A timestamp must be a number of milliseconds."))
    return value, min(float(stamp), latest)


def _keep(kept: dict[str, Entry], key: str, value: float | str | None, stamp: float, latest: float) -> None:
    # A stored stamp from the future is of a clock that was set back since: by it nothing could be changed for as long.
    if key not in kept or stamp >= min(float(kept[key][1] or 0), latest):
        kept[key] = [value, stamp]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_COMMENT


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


_IS_VALID: dict[Part, Callable[[object], bool]] = {
    "cannot": _is_text,
    "comments": _is_text,
    "flags": _is_flag,
    "read": _is_flag,
}
