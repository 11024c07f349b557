"""The shape of what annotators send: a rating form, a draft, a reason."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from django import forms

from projects.rubrics import CriterionOnPage

MAX_COMMENT = 5_000
MAX_SECONDS = 7 * 24 * 3600.0
_NUMBER = re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)


@dataclass(frozen=True)
class Sent:
    """What one rating form said, by place in the layout; nothing here has been held against the rubric yet."""

    values: dict[int, dict[str, float | str]]
    cannot: dict[int, str] = field(default_factory=dict)
    flags: frozenset[int] = frozenset()
    comments: dict[int, str] = field(default_factory=dict)
    seconds: list[float] | None = None
    has_odd_times: bool = False


def read_rating(post: Mapping[str, str], n_items: int, criteria: Sequence[CriterionOnPage]) -> Sent:
    """Read the posted form; a text that is no plain number stays text, for the check to name."""
    values: dict[int, dict[str, float | str]] = {}
    cannot, flags, comments = {}, set(), {}
    for place in range(n_items):
        answers: dict[str, float | str] = {}
        for criterion in criteria:
            text = post.get(f"a{place}-{criterion.key}", "").strip()
            if text:
                answers[criterion.key] = float(text) if _NUMBER.fullmatch(text) else text[:40]
        if answers:
            values[place] = answers
        if reason := _clean(post.get(f"cannot{place}", "")):
            cannot[place] = reason
        if post.get(f"flag{place}"):
            flags.add(place)
        if comment := _clean(post.get(f"comment{place}", "")):
            comments[place] = comment
    seconds, is_odd = read_seconds(post.get("seconds", ""), n_items)
    return Sent(values, cannot, frozenset(flags), comments, seconds, is_odd)


def read_seconds(text: str, n_items: int) -> tuple[list[float] | None, bool]:
    """Active seconds per place, and whether what came is no possible measurement."""
    if not text:
        return None, False
    try:
        sent = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None, True
    return clean_seconds(sent, n_items)


def clean_seconds(sent: Any, n_items: int) -> tuple[list[float] | None, bool]:
    if not isinstance(sent, list) or len(sent) != n_items:
        return None, True
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in sent):
        return None, True
    if not all(math.isfinite(value) and 0 <= value <= MAX_SECONDS for value in sent):
        return None, True
    return [round(float(value), 2) for value in sent], False


def _clean(text: str) -> str:
    return text.replace("\x00", "").replace("\r\n", "\n").strip()[:MAX_COMMENT]


class ReturnForm(forms.Form):
    reason = forms.CharField(max_length=500, required=False, strip=True)
