"""The shape of what annotators send: a rating form, a draft, a reason."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

MAX_COMMENT = 5_000
MAX_ITEMS = 1_000
MAX_SECONDS = 7 * 24 * 3600.0
_FIELD = re.compile(r"(?P<what>a|cannot|flag|comment)(?P<place>[0-9]{1,3})(-(?P<key>[\w-]{1,40}))?", re.ASCII)
_NUMBER = re.compile(r"-?([0-9]{1,9}(\.[0-9]{0,18})?|\.[0-9]{1,18})", re.ASCII)


@dataclass(frozen=True)
class SentAnswers:
    """What one rating form said, by place in the layout; nothing here has been held against the rubric yet."""

    values: dict[int, dict[str, float | str]]
    cannot: dict[int, str] = field(default_factory=dict)
    flags: frozenset[int] = frozenset()
    comments: dict[int, str] = field(default_factory=dict)
    seconds: list[float] | None = None
    has_odd_times: bool = False


def read_rating(post: Mapping[str, str]) -> SentAnswers:
    """Read the posted form; a text that is no plain number stays text, for the check to name."""
    values: dict[int, dict[str, float | str]] = {}
    cannot, flags, comments = {}, set(), {}
    for name, text in post.items():
        field_name = _FIELD.fullmatch(name)
        if field_name is None or not (text := _clean(text)):
            continue
        place = int(field_name["place"])
        match field_name["what"]:
            case "a" if field_name["key"]:
                values.setdefault(place, {})[field_name["key"]] = float(text) if _NUMBER.fullmatch(text) else text[:40]
            case "cannot":
                cannot[place] = text
            case "flag":
                flags.add(place)
            case "comment":
                comments[place] = text
    seconds, is_odd = read_seconds(post.get("seconds", ""))
    return SentAnswers(values, cannot, frozenset(flags), comments, seconds, is_odd)


def read_place(post: Mapping[str, str]) -> int | None:
    """Which item a form answers, where items are shown one at a time."""
    text = post.get("place", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 3 else None


def read_seconds(text: str) -> tuple[list[float] | None, bool]:
    """Active seconds per place, and whether what came is no possible measurement."""
    if not text:
        return None, False
    try:
        sent = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None, True
    return clean_seconds(sent)


def clean_seconds(sent: Any) -> tuple[list[float] | None, bool]:
    if not isinstance(sent, list) or len(sent) > MAX_ITEMS:
        return None, True
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in sent):
        return None, True
    if not all(math.isfinite(value) and 0 <= value <= MAX_SECONDS for value in sent):
        return None, True
    return [round(float(value), 2) for value in sent], False


def _clean(text: str) -> str:
    return text.replace("\x00", "").replace("\r\n", "\n").strip()[:MAX_COMMENT]
