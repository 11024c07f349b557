"""Merge drafts answer by answer: the greater stamp wins."""

import math
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from annotate.rating.sent import MAX_COMMENT, SentAnswers, clean_seconds
from projects.errors import Refused
from projects.rubric.rubrics import CriterionOnPage, explain_invalid

MAX_BYTES = 256 * 1024
PASSED = "passed"
"""How many items are fixed, where they are shown one at a time: what comes for those changes nothing any more."""


def stamp_answers(sent: SentAnswers, stamp: float) -> dict[str, dict[str, Any]]:
    """A form's content as a draft keeps it, every entry with this stamp."""
    return {
        "answers": {
            str(place): {key: [value, stamp] for key, value in values.items()} for place, values in sent.values.items()
        },
        "cannot": {str(place): [value, stamp] for place, value in sent.cannot.items()},
        "comments": {str(place): [value, stamp] for place, value in sent.comments.items()},
        "flags": {str(place): [True, stamp] for place in sent.flags},
    }


def read_draft(draft: dict[str, Any]) -> SentAnswers:
    """What a draft says, as a form would."""
    texts = {
        part: {int(place): value for place, (value, _) in draft.get(part, {}).items() if value}
        for part in ("cannot", "comments", "flags")
    }
    values: dict[int, dict[str, float | str]] = {
        int(place): {key: value for key, (value, _) in entries.items() if value is not None}
        for place, entries in draft.get("answers", {}).items()
    }
    return SentAnswers(
        values={place: entries for place, entries in values.items() if entries and place not in texts["cannot"]},
        cannot=texts["cannot"],
        flags=frozenset(texts["flags"]),
        comments=texts["comments"],
        seconds=draft.get("seconds"),
    )


def merge_draft(
    stored: dict[str, Any], sent: dict[str, Any], *, n_items: int, criteria: dict[str, CriterionOnPage], now: datetime
) -> dict[str, Any]:
    """The newer of stored and sent, answer by answer; neither argument is changed."""
    latest = now.timestamp() * 1000
    merged = _copied(stored)
    passed = stored.get(PASSED, 0)
    for place, answers in _entries(sent, "answers", n_items, passed):
        if not isinstance(answers, dict):
            raise Refused(gettext("A draft's ratings must be listed by criterion."))
        kept = dict(merged["answers"].get(place, {}))
        for key, entry in answers.items():
            if key not in criteria:
                raise Refused(gettext("There is no criterion “{key}”.").format(key=str(key)[:40]))
            value, stamp = _stamped(entry, latest)
            wrong = value is not None and explain_invalid(criteria[key].scale, value)
            if wrong:
                raise Refused(wrong)
            _keep(kept, key, value, stamp)
        merged["answers"][place] = kept
    for part, is_valid in (("cannot", _is_text), ("comments", _is_text), ("flags", lambda v: isinstance(v, bool))):
        for place, entry in _entries(sent, part, n_items, passed):
            value, stamp = _stamped(entry, latest)
            if value is not None and not is_valid(value):
                raise Refused(gettext("That value isn't allowed for “{part}” in a draft.").format(part=part))
            _keep(merged[part], place, value, stamp)
    seconds, _ = clean_seconds(sent["seconds"]) if "seconds" in sent else (None, False)
    before = stored.get("seconds")
    if seconds and len(seconds) != n_items:
        seconds = None
    if seconds and before:
        seconds = [max(pair) for pair in zip(seconds, before, strict=True)]
    if seconds or before:
        merged["seconds"] = seconds or before
    return merged


def _copied(stored: dict[str, Any]) -> dict[str, Any]:
    """Every part of a draft that answers are merged into, and how many items are fixed."""
    parts: dict[str, Any] = {part: dict(stored.get(part, {})) for part in ("answers", "cannot", "flags", "comments")}
    return parts | ({PASSED: stored[PASSED]} if PASSED in stored else {})


def _entries(sent: dict[str, Any], part: str, n_items: int, passed: int) -> list[tuple[str, Any]]:
    entries = sent.get(part, {})
    if not isinstance(entries, dict):
        raise Refused(gettext("“{part}” in a draft must be listed by position.").format(part=part))
    for place in entries:
        if not (place.isascii() and place.isdigit() and len(place) < 4 and int(place) < n_items):
            raise Refused(gettext("That answer isn't in this HIT."))
    return [(str(int(place)), entry) for place, entry in entries.items() if int(place) >= passed]


def _stamped(entry: Any, latest: float) -> tuple[Any, float]:
    if not isinstance(entry, list) or len(entry) != 2:
        raise Refused(gettext("Every entry of a draft must be a value and a timestamp."))
    value, stamp = entry
    if isinstance(stamp, bool) or not isinstance(stamp, int | float) or not math.isfinite(stamp):
        raise Refused(gettext("A timestamp must be a number of milliseconds."))
    return value, min(float(stamp), latest)


def _keep(kept: dict[str, Any], key: str, value: Any, stamp: float) -> None:
    if key not in kept or stamp >= kept[key][1]:
        kept[key] = [value, stamp]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_COMMENT and "\x00" not in value
