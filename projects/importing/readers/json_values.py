"""Reading single JSON values from a text, and refusing those that a database cannot store.

The standard decoder reads one value at a time from a window of text. It is as fast as an event parser in C, and unlike
one it reports the position of a value, refuses NaN and shows every pair of an object, so that duplicate keys are found.
"""

import json
import math
import re
from io import TextIOWrapper
from typing import Any

from projects.importing.check_report import Broken
from projects.importing.limits import Limits
from projects.language.names import shorten_name

SPACE = " \t\r\n"
WINDOW = 1 << 18
"""Characters that are read at once."""
DIGITS = 18
"""A whole number with more digits may not fit a bigint."""


class NotTaken(ValueError):
    """A value that is valid JSON but cannot be stored, or is ambiguous."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise NotTaken(f"duplicate key “{shorten_name(key)}” in an object")
            seen.add(key)
    return values


def _constant(name: str) -> Any:
    raise NotTaken(f"{name} is not a valid JSON number")


def _whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise NotTaken(f"the number {shorten_name(digits, 30)} is too large")
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise NotTaken(f"the number {shorten_name(digits, 30)} is too large")
    return number


def _any_number(digits: str) -> float:
    return int(digits) if len(digits) <= DIGITS and digits.lstrip("-").isdecimal() else float(digits)


DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_int=_whole, parse_float=_float)

_WITH_NAN = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=float, parse_int=_any_number, parse_float=_any_number
)


def decoder_for(limits: Limits) -> json.JSONDecoder:
    return _WITH_NAN if limits.takes_nan else DECODER


_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"')


def count_values(text: str, limits: Limits, line: int, start: int = 0, end: int | None = None) -> int:
    """Return how many values a JSON text has, or a few more. Raises Broken for more than the limit."""
    end = len(text) if end is None else end
    n = sum(text.count(sign, start, end) for sign in ",[{")
    if n > limits.json_values:
        # Texts may contain many commas, and lists be empty.
        bare = _STRING.sub("", text[start:end])
        n = sum(map(bare.count, ",[{")) - bare.count("[]") - bare.count("{}")
    if n > limits.json_values:
        raise Broken(f"one entry has more than {limits.json_values:,} values; split it", line=line)
    return n


class Window:
    """A part of a JSON text in memory that moves forward as values are read, so that a file of any size can be read."""

    def __init__(self, stream: TextIOWrapper, limits: Limits) -> None:
        self._stream = stream
        self._limits = limits
        self._cap = limits.row_chars
        self._decoder = decoder_for(limits)
        self._text = ""
        self._at = 0
        self._is_done = False
        self.line = 1
        self.n_values = 0
        """Values read so far, or a few more."""

    def next_character(self) -> str:
        """Skip white space and return the next character without reading it; empty at the end of the file."""
        while True:
            text, start, at = self._text, self._at, self._at
            while at < len(text) and text[at] in SPACE:
                at += 1
            self._take(at)
            if at < len(text):
                return text[at]
            if not self._more(WINDOW) and start == at:
                return ""

    def skip(self) -> None:
        self._at += 1

    def expect(self, character: str) -> None:
        if self.next_character() != character:
            raise Broken(f"expected “{character}” here", line=self.line)
        self.skip()

    def comma_or(self, closing: str) -> bool:
        """Read a comma and return False, or the closing bracket and return True. Raises Broken for anything else."""
        found = self.next_character()
        if found not in (",", closing) or not found:
            what = (
                f"expected “,” or “{closing}” but found “{shorten_name(found)}”"
                if found
                else "the file ends unexpectedly"
            )
            raise Broken(what, line=self.line)
        self.skip()
        if found == ",":
            if self.next_character() in ("]", "}"):
                raise Broken("trailing comma after the last entry", line=self.line)
            return False
        return True

    def key(self) -> str:
        if self.next_character() != '"':
            raise Broken("expected a key in double quotes here", line=self.line)
        name = self.value()
        self.expect(":")
        return str(name)

    def value(self) -> Any:
        """Return the next value, reading on until it is complete. Raises Broken for an invalid or too large one."""
        if len(self._text) - self._at < WINDOW // 4:
            self._more(WINDOW)
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # What looks broken may only be cut off by the end of the window.
                if self._more(max(WINDOW, len(self._text))):
                    continue
                line = self.line + self._text.count("\n", self._at, error.pos)
                if len(self._text) - self._at >= self._cap and not self._is_done:
                    raise Broken(f"one value is longer than {self._cap:,} characters", line=self.line) from error
                raise Broken(explain(error), line=line) from error
            except (NotTaken, RecursionError) as error:
                raise Broken(explain_value(error), line=self.line) from error
            # A number at the very end of the window may continue in the next one.
            if end == len(self._text) and type(value) in (int, float) and self._more(WINDOW):
                continue
            self.n_values += count_values(self._text, self._limits, self.line, self._at, end)
            self._take(end)
            return value

    def end(self) -> None:
        if self.next_character():
            raise Broken(
                (
                    "unexpected text after the end of the JSON value; if the file has one object per line, "
                    "name it .jsonl"
                ),
                line=self.line,
            )

    def _take(self, end: int) -> None:
        self.line += self._text.count("\n", self._at, end)
        self._at = end

    def _more(self, size: int) -> bool:
        """Read more text and return True; False at the end of the file, or if one value fills the window."""
        if self._is_done or len(self._text) - self._at >= self._cap:
            return False
        read = self._stream.read(size)
        if not read:
            self._is_done = True
            return False
        self._text = self._text[self._at :] + read
        self._at = 0
        return True


def explain(error: json.JSONDecodeError) -> str:
    near = error.doc[error.pos : error.pos + 1]
    if near == "'":
        return "JSON requires double quotes, not single quotes"
    if near in ("/", "#"):
        return "comments are not allowed in JSON"
    if near in ("}", "]") and error.doc[: error.pos].rstrip(SPACE).endswith(","):
        return "trailing comma after the last entry"
    return f"invalid JSON: {error.msg[:1].lower()}{error.msg[1:]}"


def explain_value(error: Exception) -> str:
    return "the value is nested too deeply" if isinstance(error, RecursionError) else str(error)
