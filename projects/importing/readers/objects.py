"""JSON lists, JSONL and MOCHA's JSON: objects one by one, with their lines.

The standard decoder reads one value at a time from a window of text: it is as fast as an event parser in C, and
unlike one it tells where a value stands, refuses NaN and shows every pair of an object, so that a key given twice is
seen.
"""

import json
import math
from collections.abc import Iterator
from io import TextIOWrapper
from typing import Any

from projects.importing.fields import IN_METADATA, OWN_METADATA
from projects.importing.limits import Limits
from projects.importing.readers.base import Reader, Record
from projects.importing.report import Broken, shown
from projects.importing.text import byte_position, encoding_of, lines_of, open_text

SPACE = " \t\r\n"
SAMPLE = 200
WINDOW = 1 << 18
DIGITS = 18


class NotTaken(ValueError):
    """A value that JSON text may hold and a database may not."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise NotTaken(f"the key “{shown(key)}” is there twice in one object")
            seen.add(key)
    return made


def _constant(name: str) -> Any:
    raise NotTaken(f"{name} is no JSON number")


def _whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise NotTaken(f"the number {shown(digits, 30)} is too large")
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise NotTaken(f"the number {shown(digits, 30)} is too large")
    return number


DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_int=_whole, parse_float=_float)


def flat(value: dict[str, Any]) -> dict[str, Any]:
    """Bring what lies under `metadata`, and our own keys below it, up to columns of their own."""
    metadata = value.get("metadata")
    if type(metadata) is not dict:
        return value
    record = {key: entry for key, entry in value.items() if key != "metadata"}
    for key, entry in metadata.items():
        if key == "concord" and type(entry) is dict:
            _raise_up(record, OWN_METADATA, entry)
        else:
            record[IN_METADATA + key] = entry
    return record


def _raise_up(record: dict[str, Any], prefix: str, values: dict[str, Any]) -> None:
    for key, entry in values.items():
        if key == "metadata" and type(entry) is dict:
            record.update({f"{prefix}{IN_METADATA}{name}": each for name, each in entry.items()})
        else:
            record[prefix + key] = entry


class ObjectReader(Reader):
    """Objects whose keys are the columns."""

    is_ragged = True
    _stream: TextIOWrapper

    def open(self) -> None:
        self.encoding = encoding_of(self.head(), self.options.encoding, self.notes)
        self._stream = open_text(self.path, self.encoding)
        self._objects = self._read()
        self._sample: list[Record] = []
        for record in self._objects:
            self._sample.append(record)
            if len(self._sample) == SAMPLE:
                break
        names = dict.fromkeys(name for _, record in self._sample for name in record)
        self._check_columns(list(names))
        self.columns = list(names)

    def records(self) -> Iterator[Record]:
        yield from self._sample
        yield from self._objects

    def position(self) -> int:
        return byte_position(self._stream)

    def close(self) -> None:
        self._stream.close()

    def _read(self) -> Iterator[Record]:
        raise NotImplementedError

    def _check_columns(self, names: list[str]) -> None:
        if len(names) > self.limits.columns:
            raise Broken(f"{len(names):,} different keys; at most {self.limits.columns} can be read")
        for name in names:
            if not name.strip():
                raise Broken("a key has no name")


class JsonlReader(ObjectReader):
    """One object a line."""

    def _read(self) -> Iterator[Record]:
        number = 0
        decode = DECODER.decode
        for number, line in enumerate(lines_of(self._stream, self.limits), start=1):
            try:
                value = decode(line)
            except json.JSONDecodeError as error:
                if not line.strip(SPACE):
                    self.notes.warn("Blank lines are left out.", number)
                    continue
                raise Broken(_explain_line(error, line), line=number) from error
            except (NotTaken, RecursionError) as error:
                raise Broken(_explain_value(error), line=number) from error
            if type(value) is not dict:
                raise Broken(f"the line holds {_kind_of(value)}; every line must hold one object", line=number)
            yield number, flat(value)
        if number == 0:
            raise Broken("the file is empty")


class JsonReader(ObjectReader):
    """A list of objects."""

    def _read(self) -> Iterator[Record]:
        text = Window(self._stream, self.limits)
        start = text.next_character()
        if start != "[":
            raise Broken("the top level is neither a list of objects nor MOCHA's {dataset: {id: …}}", line=text.line)
        text.skip()
        if text.next_character() == "]":
            text.skip()
        else:
            while True:
                text.next_character()
                line = text.line
                value = text.value()
                if type(value) is not dict:
                    raise Broken(f"the list holds {_kind_of(value)}; every entry must be an object", line=line)
                yield line, flat(value)
                if text.comma_or("]"):
                    break
        text.end()


class MochaReader(ObjectReader):
    """MOCHA's own format: {dataset: {id: {context, question, reference, candidate, …}}}."""

    def _read(self) -> Iterator[Record]:
        text = Window(self._stream, self.limits)
        datasets: set[str] = set()
        text.expect("{")
        if text.next_character() == "}":
            raise Broken("the file holds no dataset", line=text.line)
        while True:
            dataset = text.key()
            if dataset in datasets:
                raise Broken(f"the key “{shown(dataset)}” is there twice in one object", line=text.line)
            datasets.add(dataset)
            if text.next_character() != "{":
                raise Broken(_not_mocha(dataset), line=text.line)
            yield from self._dataset(text, dataset)
            if text.comma_or("}"):
                break
        text.end()

    def _dataset(self, text: "Window", dataset: str) -> Iterator[Record]:
        text.expect("{")
        if text.next_character() == "}":
            text.skip()
            self.notes.warn(f"The dataset “{shown(dataset)}” is empty.")
            return
        while True:
            key = text.key()
            text.next_character()
            line = text.line
            value = text.value()
            if type(value) is not dict:
                raise Broken(_not_mocha(dataset), line=line)
            for name in ("dataset", "id"):
                if name in value:
                    raise Broken(
                        f"MOCHA names the {name} outside the object; this one has a key “{name}” inside", line=line
                    )
            yield line, {"dataset": dataset, "id": key, **flat(value)}
            if text.comma_or("}"):
                return


class Window:
    """A stretch of JSON text that moves on as values are taken from it."""

    def __init__(self, stream: TextIOWrapper, limits: Limits) -> None:
        self._stream = stream
        self._cap = limits.row_chars
        self._text = ""
        self._at = 0
        self._is_done = False
        self.line = 1

    def next_character(self) -> str:
        """Step over white space and show what comes, or nothing at the end."""
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
            raise Broken(f"“{character}” is missing here", line=self.line)
        self.skip()

    def comma_or(self, closing: str) -> bool:
        """Step over a comma, or over the closing bracket and say so."""
        found = self.next_character()
        if found not in (",", closing) or not found:
            what = f"“{shown(found)}” stands where “,” or “{closing}” must" if found else "the file ends in the middle"
            raise Broken(what, line=self.line)
        self.skip()
        if found == ",":
            if self.next_character() in ("]", "}"):
                raise Broken("there is a comma after the last entry", line=self.line)
            return False
        return True

    def key(self) -> str:
        if self.next_character() != '"':
            raise Broken("a name in double quotes is missing here", line=self.line)
        name = self.value()
        self.expect(":")
        return str(name)

    def value(self) -> Any:
        """Take one value; reads on until it is whole, or refuses it."""
        if len(self._text) - self._at < WINDOW // 4:
            self._more(WINDOW)
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # What looks broken may only be cut off by the end of the window.
                if self._more(max(WINDOW, len(self._text))):
                    continue
                line = self.line + self._text.count("\n", self._at, error.pos)
                if len(self._text) - self._at >= self._cap and not self._is_done:
                    raise Broken(f"one value is longer than {self._cap:,} characters", line=self.line) from error
                raise Broken(_explain(error), line=line) from error
            except (NotTaken, RecursionError) as error:
                raise Broken(_explain_value(error), line=self.line) from error
            if end == len(self._text) and type(value) in (int, float) and self._more(WINDOW):
                continue
            self._take(end)
            return value

    def end(self) -> None:
        if self.next_character():
            raise Broken(
                "there is more after the end of the JSON value; for one object a line, name the file .jsonl",
                line=self.line,
            )

    def _take(self, end: int) -> None:
        self.line += self._text.count("\n", self._at, end)
        self._at = end

    def _more(self, size: int) -> bool:
        """Read on; False at the end of the file or where one value fills the window."""
        if self._is_done or len(self._text) - self._at >= self._cap:
            return False
        read = self._stream.read(size)
        if not read:
            self._is_done = True
            return False
        self._text = self._text[self._at :] + read
        self._at = 0
        return True


def _explain(error: json.JSONDecodeError) -> str:
    near = error.doc[error.pos : error.pos + 1]
    if near == "'":
        return "single quotes are no JSON quotes; use double ones"
    if near in ("/", "#"):
        return "comments are not allowed in JSON"
    if near in ("}", "]") and error.doc[: error.pos].rstrip(SPACE).endswith(","):
        return "there is a comma after the last entry"
    return f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}"


def _explain_line(error: json.JSONDecodeError, line: str) -> str:
    if line.strip(SPACE) in ("{", "["):
        return "the object is spread over several lines; JSONL wants one a line (a list in one piece is a .json file)"
    if error.msg == "Extra data":
        if line.rstrip(SPACE).endswith(","):
            return "there is a comma after the object; JSONL has none"
        return "there is more than one object on the line"
    return _explain(error)


def _explain_value(error: Exception) -> str:
    return "the value is nested too deep" if isinstance(error, RecursionError) else str(error)


def _not_mocha(dataset: str) -> str:
    return (
        f"under “{shown(dataset)}” there is no object of objects; a .json file is a list of objects, "
        "or MOCHA's {dataset: {id: {…}}}"
    )


def _kind_of(value: object) -> str:
    names = {
        str: "a text",
        int: "a number",
        float: "a number",
        bool: "true or false",
        list: "a list",
        dict: "an object",
    }
    return "null" if value is None else names[type(value)]
