"""Parts of pages that are rendered once for each language and kind of content, and then only filled with texts."""

import re
from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from html import escape
from itertools import count
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from projects.language.characters import is_blank

_TEXT = object()
"""The kind of every text that shows something."""
_SLOT = re.compile("\x00([0-9]+)\x00")
"""The place of a text in what is kept: neither the database nor a template has the character around its number."""


class _Group(NamedTuple):
    """The kind of a mapping with these keys, or of a sequence, which has none."""

    keys: tuple[str, ...] | None
    members: tuple[Hashable, ...]


class _Constant(NamedTuple):
    """The kind of what is kept as it is; with its type, because True equals 1."""

    type: type
    value: Hashable


def include_cached(name: str, **values: object) -> SafeString:
    """Return a template rendered with these values and nothing else.

    It is rendered once for each kind of values: all that they contain but the content of texts, which are put in each
    time. So its conditions may ask whether a text is empty or blank, but not what it says, and its filters may change
    none. A number belongs to the kind: one that has many values is better given as a text.
    """
    texts: list[str] = []
    kind = _describe(values, texts)
    pieces, order = _render(name, get_language(), kind)
    filled = [""] * (len(pieces) + len(order))
    filled[::2] = pieces
    filled[1::2] = [texts[n] for n in order]
    return SafeString("".join(filled))


@lru_cache(maxsize=1024)
def _render(name: str, language: str | None, kind: _Group) -> tuple[Sequence[str], Sequence[int]]:
    """Return what is around the texts, and which of them fills each gap."""
    found = _SLOT.split(render_to_string(name, _rebuild(kind, count())))
    return found[::2], [int(number) for number in found[1::2]]


def _describe(value: object, texts: list[str]) -> Any:
    """Return the kind of a value, and append its texts to the list, escaped."""
    if isinstance(value, (str, Promise)):
        text = value if isinstance(value, SafeString) else escape(str(value))
        if is_blank(text) and "\x00" not in text:
            return text
        texts.append(text)
        return _TEXT
    if isinstance(value, dict):
        return _Group(tuple(value), tuple([_describe(each, texts) for each in value.values()]))
    if isinstance(value, (list, tuple)):
        return _Group(None, tuple([_describe(each, texts) for each in value]))
    if value is None or isinstance(value, int):
        return _Constant(type(value), value)
    if type(value).__hash__ is object.__hash__:
        return value
    # A row of a table, for one, equals another with its number that says something else.
    raise TypeError(f"{value!r} may equal what shows something else. Give its texts and numbers.")


def _rebuild(kind: Any, numbers: Iterator[int]) -> Any:
    """Return values of this kind, with a slot for each text."""
    if kind is _TEXT:
        return f"\x00{next(numbers)}\x00"
    if isinstance(kind, _Group):
        members = [_rebuild(each, numbers) for each in kind.members]
        return members if kind.keys is None else dict(zip(kind.keys, members, strict=True))
    return kind.value if isinstance(kind, _Constant) else kind
