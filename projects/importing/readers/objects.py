"""Readers of JSON lists, JSONL and MOCHA's JSON, which yield one object at a time with its line."""

import json
from collections.abc import Iterator
from io import TextIOWrapper
from typing import Any

from projects.importing.check_report import LINE, Broken
from projects.importing.fields import IN_METADATA, OWN_METADATA, count_keys
from projects.importing.readers.base import Reader, Record, check_key
from projects.importing.readers.json_values import (
    SPACE,
    NotTaken,
    Window,
    count_values,
    decoder_for,
    explain,
    explain_value,
)
from projects.importing.text import byte_position, detect_encoding, iterate_lines, open_text
from projects.importing.values import describe_type
from projects.language.names import shorten_name

SAMPLE = 200
"""Objects whose keys are read as columns before the mapping is chosen; later objects may have further keys."""
SAMPLE_BYTES = 8 << 20
"""Of long objects fewer are read, because all are held in memory."""


def flat(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the keys under `metadata` and `metadata.concord` as columns of their own."""
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
    """Reads objects whose keys are the columns."""

    is_ragged = True
    unit = "entry"
    """What is counted where several records start on one line."""
    _stream: TextIOWrapper
    _n_values = 0
    _window: Window | None = None

    def open(self) -> None:
        self.encoding = detect_encoding(self.path, self.options.encoding, self.notes)
        self._stream = open_text(self.path, self.encoding)
        self._objects = self._read()
        self._sample: list[Record] = []
        self.notes.unit = LINE
        try:
            for found in self._objects:
                self._sample.append(found)
                if len(self._sample) == SAMPLE or self._is_sample_large():
                    break
        except Broken as error:
            if self._has_shared_lines():
                raise self._name_record(error, len(self._sample) + 1) from error
            raise
        if self._has_shared_lines():
            self.notes.unit = self.unit
            self._sample = [(number, record) for number, (_, record) in enumerate(self._sample, start=1)]
            self._objects = self._count(self._objects, len(self._sample))
        lines: dict[str, int] = {}
        for line, record in self._sample:
            for name in record:
                lines.setdefault(name, line)
        self._check_columns(lines)
        self.columns = list(lines)

    def records(self) -> Iterator[Record]:
        yield from self._sample
        yield from self._objects

    def position(self) -> int:
        return byte_position(self._stream)

    def close(self) -> None:
        self._stream.close()

    def _read(self) -> Iterator[Record]:
        raise NotImplementedError

    def _is_sample_large(self) -> bool:
        n_values = self._n_values + (self._window.n_values if self._window else 0)
        return self.position() > SAMPLE_BYTES or n_values > self.limits.json_values

    def _has_shared_lines(self) -> bool:
        """Return whether several records of the sample start on one line, so that lines do not tell them apart."""
        return len({line for line, _ in self._sample}) < len(self._sample)

    def _count(self, records: Iterator[Record], n: int) -> Iterator[Record]:
        """Yield the records after the first `n` with their numbers in place of lines."""
        try:
            for _, record in records:
                n += 1
                yield n, record
        except Broken as error:
            raise self._name_record(error, n + 1) from error

    def _name_record(self, error: Broken, number: int) -> Broken:
        """Return the error that ended the reading with the number of its record in place of the line."""
        self.notes.unit = self.unit
        problem = error.problem
        return Broken(problem.reason, line=number, column=problem.column, offers=error.offers)

    def _check_columns(self, lines: dict[str, int]) -> None:
        if (n_keys := count_keys(lines)) > self.limits.columns:
            raise Broken(f"{n_keys:,} different keys; the maximum is {self.limits.columns}")
        for name, line in lines.items():
            check_key(name, line)


class JsonlReader(ObjectReader):
    """Reads one object per line."""

    def _read(self) -> Iterator[Record]:
        number = 0
        decode = decoder_for(self.limits).decode
        for number, line in enumerate(iterate_lines(self._stream, self.limits), start=1):
            # Before it is decoded: an error of the decoder costs a hundred times as much.
            if line[0] in SPACE and not line.strip(SPACE):
                self.leave_out_blank(number)
                continue
            self._n_values += count_values(line, self.limits, number)
            try:
                value = decode(line)
            except json.JSONDecodeError as error:
                raise Broken(_explain_line(error, line), line=number) from error
            except (NotTaken, RecursionError) as error:
                raise Broken(explain_value(error), line=number) from error
            if type(value) is not dict:
                raise Broken(f"the line contains {describe_type(value)}; every line must be one object", line=number)
            yield number, flat(value)
        if number == 0:
            raise Broken("the file is empty")


class JsonReader(ObjectReader):
    """Reads a list of objects."""

    def _read(self) -> Iterator[Record]:
        text = self._window = Window(self._stream, self.limits)
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
                    raise Broken(f"the list contains {describe_type(value)}; every entry must be an object", line=line)
                yield line, flat(value)
                if text.comma_or("]"):
                    break
        text.end()


class MochaReader(ObjectReader):
    """Reads MOCHA's own format: {dataset: {id: {context, question, reference, candidate, …}}}."""

    def _read(self) -> Iterator[Record]:
        text = self._window = Window(self._stream, self.limits)
        datasets: set[str] = set()
        text.expect("{")
        if text.next_character() == "}":
            raise Broken("the file contains no dataset", line=text.line)
        while True:
            dataset = text.key()
            if dataset in datasets:
                raise Broken(f"duplicate key “{shorten_name(dataset)}” in an object", line=text.line)
            datasets.add(dataset)
            if text.next_character() != "{":
                raise Broken(_not_mocha(dataset), line=text.line)
            yield from self._dataset(text, dataset)
            if text.comma_or("}"):
                break
        text.end()

    def _dataset(self, text: Window, dataset: str) -> Iterator[Record]:
        text.expect("{")
        if text.next_character() == "}":
            text.skip()
            self.notes.warn(f"The dataset “{shorten_name(dataset)}” is empty.")
            self.leave_out(text.line)
            return
        while True:
            key = text.key()
            text.next_character()
            line = text.line
            value = text.value()
            if type(value) is not dict:
                raise Broken(_not_mocha(dataset), line=line)
            # The format gives both as keys around the object; a second value could contradict them.
            for name in ("dataset", "id"):
                if name in value:
                    raise Broken(
                        (
                            f"in the MOCHA format the {name} is given outside the object, but this object "
                            f"contains a key “{name}”"
                        ),
                        line=line,
                    )
            yield line, {"dataset": dataset, "id": key, **flat(value)}
            if text.comma_or("}"):
                return


def _explain_line(error: json.JSONDecodeError, line: str) -> str:
    if line.strip(SPACE) in ("{", "["):
        return "the object spans several lines; JSONL requires one object per line (save a single list as .json)"
    if error.msg == "Extra data":
        if line.rstrip(SPACE).endswith(","):
            return "unexpected comma after the object; JSONL uses none"
        return "there is more than one object on the line"
    return explain(error)


def _not_mocha(dataset: str) -> str:
    return (
        f"“{shorten_name(dataset)}” does not contain an object of objects; a .json file must be "
        "a list of objects, or MOCHA's "
        "{dataset: {id: {…}}}"
    )
