"""The answers that annotators send in a rating form, before they are checked against the rubric."""

import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import orjson

from projects.language.characters import remove_forbidden
from projects.web.whole_numbers import parse_whole_number

Ratings = dict[str, float | str]
"""The ratings of one answer by the key of the criterion; a text is no number and waits for the check to refuse it."""

MAX_COMMENT = 5_000
"""Characters of a comment or a reason; the page's fields have the same limit or a lower one."""
MAX_ITEMS = 1_000
"""More items than any HIT has: a longer list of times was not sent by the page."""
MAX_SECONDS = 7 * 24 * 3600.0
"""A week: longer than any time limit, so a greater time on one item is a broken clock and not a measurement."""
_FIELD = re.compile(r"(?P<what>a|cannot|flag|comment)(?P<position>[0-9]{1,3})(-(?P<key>[\w-]{1,40}))?", re.ASCII)
# The lengths are limited because float() accepts any number of digits, at a cost that grows with them.
_NUMBER = re.compile(r"-?([0-9]{1,9}(\.[0-9]{0,18})?|\.[0-9]{1,18})", re.ASCII)

_PLAIN = {",": ".", "\u066b": ".", "\u2212": "-"}


@dataclass(frozen=True)
class SentAnswers:
    """The content of one rating form, by position in the layout; it is not checked against the rubric yet."""

    values: dict[int, Ratings]
    cannot: dict[int, str] = field(default_factory=dict)
    flags: frozenset[int] = frozenset()
    comments: dict[int, str] = field(default_factory=dict)
    seconds: list[float] | None = None
    has_odd_times: bool = False

    def first(self, n_items: int) -> "SentAnswers":
        """Return the answers to a HIT's own items: a form may name positions that its HIT doesn't have."""
        return replace(
            self,
            values={position: values for position, values in self.values.items() if position < n_items},
            cannot={position: reason for position, reason in self.cannot.items() if position < n_items},
            flags=frozenset(position for position in self.flags if position < n_items),
            comments={position: comment for position, comment in self.comments.items() if position < n_items},
        )


def read_rating(post: Mapping[str, str]) -> SentAnswers:
    """Return the answers of a posted form. Text that is not a plain number stays text, for the check to refuse."""
    values: dict[int, Ratings] = {}
    cannot, flags, comments = {}, set(), {}
    for name, text in post.items():
        field_name = _FIELD.fullmatch(name)
        if field_name is None or not (text := _clean(text)):
            continue
        position = int(field_name["position"])
        match field_name["what"]:
            case "a" if field_name["key"]:
                # 40 characters are enough to show people what they typed.
                plain = _write_plainly(text)
                rating = float(plain) if _NUMBER.fullmatch(plain) else text[:40]
                values.setdefault(position, {})[field_name["key"]] = rating
            case "cannot":
                cannot[position] = text
            case "flag":
                flags.add(position)
            case "comment":
                comments[position] = text
    seconds, is_odd = read_seconds(post.get("seconds", ""))
    return SentAnswers(values, cannot, frozenset(flags), comments, seconds, is_odd)


def read_position(post: Mapping[str, str]) -> int | None:
    """Return the position of the item that a form answers, if items are shown one at a time, or None."""
    # The form's field is called “place”, in the templates and in the page's script too.
    return parse_whole_number(post.get("place", ""), most_digits=3)


def read_seconds(text: str) -> tuple[list[float] | None, bool]:
    """Return the active seconds of each item, and whether the text is no possible measurement."""
    if not text:
        return None, False
    try:
        sent = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None, True
    return clean_seconds(sent)


def clean_seconds(sent: object) -> tuple[list[float] | None, bool]:
    """Return a list of seconds with two decimals, or None and True for anything else.

    Times come from a script that anyone can change, so they are never trusted: odd ones are marked, and the ratings
    that come with them are stored all the same.
    """
    if not isinstance(sent, list) or len(sent) > MAX_ITEMS:
        return None, True
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in sent):
        return None, True
    if not all(math.isfinite(value) and 0 <= value <= MAX_SECONDS for value in sent):
        return None, True
    return [round(float(value), 2) for value in sent], False


def _write_plainly(text: str) -> str:
    """Return a number in ASCII with a decimal point: people type a comma, and the digits of other scripts."""
    return "".join(_PLAIN.get(each) or str(unicodedata.decimal(each, each)) for each in text)


def _clean(text: str) -> str:
    # Refusing a submit over an invisible character would help nobody; browsers send line ends as CRLF.
    return remove_forbidden(text).replace("\r\n", "\n").strip()[:MAX_COMMENT]
