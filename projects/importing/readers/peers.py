"""Readers of other tools' exports: Argilla, Label Studio and Potato; and of DuReader's own JSON.

As a file of candidates an export gives one row for each item, with the fields that were shown; as a file of judgments
one row for each item and annotator, with a column for each question that they answered.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from projects.importing.check_report import Broken
from projects.importing.fields import IN_METADATA
from projects.importing.readers.base import Record
from projects.importing.readers.objects import JsonlReader, JsonReader
from projects.importing.sniffing import first_character
from projects.importing.values import describe_type

Row = dict[str, Any]

RAISED = ("dataset", "split", "source", "system", "model", "passage_id", "question_id", "question_type")
"""Keys of Argilla's metadata that become columns of their own, as they tell where a text comes from."""
HUMAN = "human"
DUREADER_TYPES = {"YES_NO": "yes-no", "ENTITY": "entity", "DESCRIPTION": "description"}
_POINT = re.compile(r"(?:scale_)?(-?\d{1,15})")
_INPUTS = {"", "slider", "number", "text_box", "free_response"}
"""Labels that Potato gives to inputs with a value of their own; all other labels are what was chosen."""
_OBJECT, _NAME = (dict,), (int, str)
_UNCHOSEN = (None, False, "", "false")


class PeerReader(JsonlReader):
    """Reads a list of objects or one object per line, and turns each object into rows."""

    tool: str
    is_of_judgments = False
    unit = "row"

    def for_judgments(self) -> None:
        """Read the judgments instead of the items. Raises Broken."""
        self.is_of_judgments = True
        self.close()
        self.n_left_out = 0
        self.open()

    def _read(self) -> Iterator[Record]:
        is_list = first_character(self.head()) == "["
        for line, value in JsonReader._read(self) if is_list else super()._read():  # type: ignore[arg-type]
            for row in self._convert(value, line):
                yield line, row

    def _convert(self, value: Row, line: int) -> Iterator[Row]:
        """Yield the rows of an object. Raises Broken for an object of another shape than the tool writes."""
        try:
            yield from self._judgments(value, line) if self.is_of_judgments else self._items(value, line)
        except (TypeError, AttributeError, ValueError, KeyError, RecursionError) as error:
            # The parts are checked where they are taken; this is for a shape that nobody thought of.
            raise Broken(f"the object is not as exports of {self.tool} are", line=line) from error

    def _items(self, value: Row, line: int) -> Iterator[Row]:
        raise NotImplementedError

    def _judgments(self, value: Row, line: int) -> Iterator[Row]:
        raise NotImplementedError

    def _take(self, value: Row, key: str, kind: type, line: int) -> Any:
        """Return a part that every object of the tool has. Raises Broken without it."""
        part = value.get(key)
        if type(part) is not kind:
            raise Broken(f"the object has no “{key}” as exports of {self.tool} have", line=line)
        return part

    def _take_if_any(self, value: Row, key: str, kind: type, line: int) -> Any:
        """Return a part, or an empty one if it is missing. Raises Broken for a part of another type."""
        part = value.get(key)
        return kind() if part is None else self._check(part, key, (kind,), line)

    def _check(self, part: Any, key: str, kinds: tuple[type, ...], line: int) -> Any:
        """Return a part of one of these types. Raises Broken for another."""
        if type(part) not in kinds:
            raise Broken(f"“{key}” contains {describe_type(part)}, unlike in exports of {self.tool}", line=line)
        return part


class ArgillaReader(PeerReader):
    """Reads the records of `dataset.records.to_json`, and of FeedbackDataset before version 2."""

    tool = "Argilla"

    def _items(self, value: Row, line: int) -> Iterator[Row]:
        row = {"id": _find_id(value, "id", "external_id"), **self._take(value, "fields", dict, line)}
        for key, entry in value.items():
            name = key.removeprefix(IN_METADATA)
            if name != key:
                row.setdefault(name if name in RAISED else key, entry)
        yield row

    def _judgments(self, value: Row, line: int) -> Iterator[Row]:
        self._take(value, "fields", dict, line)
        answers: dict[str, Row] = {}
        for question, annotator, answer in self._list_responses(value.get("responses"), line):
            answers.setdefault(annotator, {})[question] = answer
        for annotator, row in answers.items():
            yield {"id": _find_id(value, "id", "external_id"), "annotator": annotator, **row}

    def _list_responses(self, responses: Any, line: int) -> Iterator[tuple[str, str, Any]]:
        """Yield question, annotator and answer of each submitted response, in the form of either version."""
        found: list[tuple[str, Row, Row]] = []
        if type(responses) is dict:
            for name in responses:
                for each in self._take_if_any(responses, name, list, line):
                    response = self._check(each, "responses", _OBJECT, line)
                    found.append((name, response, response))
        elif responses is not None:
            for each in self._check(responses, "responses", (list,), line):
                response = self._check(each, "responses", _OBJECT, line)
                entries = self._take_if_any(response, "values", dict, line)
                found += [(name, response, self._check(entries[name], "values", _OBJECT, line)) for name in entries]
        for name, response, entry in found:
            if response.get("status") in (None, "submitted") and _is_plain(entry.get("value")):
                annotator = self._check(response.get("user_id") or "", "user_id", _NAME, line)
                yield name, str(annotator), entry["value"]


class LabelStudioReader(PeerReader):
    """Reads the tasks of an export as JSON."""

    tool = "Label Studio"

    def _items(self, value: Row, line: int) -> Iterator[Row]:
        yield {"id": value.get("id"), **self._take(value, "data", dict, line)}

    def _judgments(self, value: Row, line: int) -> Iterator[Row]:
        own = self._take(value, "data", dict, line).get("id", value.get("id"))
        for annotation in self._take(value, "annotations", list, line):
            if self._check(annotation, "annotations", _OBJECT, line).get("was_cancelled"):
                continue
            answers = {
                each["from_name"]: answer
                for each in self._take_if_any(annotation, "result", list, line)
                if type(each) is dict and type(each.get("from_name")) is str
                for answer in _list_answers(each.get("type"), each.get("value"))
            }
            if answers:
                time = {"time": annotation["created_at"]} if annotation.get("created_at") else {}
                yield {"id": own, "annotator": self._name_annotator(annotation, line), **time, **answers}

    def _name_annotator(self, annotation: Row, line: int) -> str:
        """Return the annotator: a number, or an object with an id and an address."""
        by = annotation.get("completed_by")
        if type(by) is dict:
            by = by.get("id") or by.get("email")
        return "" if by is None else f"user-{self._check(by, 'completed_by', _NAME, line)}"


class PotatoReader(PeerReader):
    """Reads `annotated_instances` as JSON or JSON lines."""

    tool = "Potato"
    _OWN = frozenset(
        ("id", "instance_id", "user", "user_id", "label_annotations", "span_annotations", "behavioral_data")
    )

    def open(self) -> None:
        self._seen: set[object] = set()
        super().open()

    def _items(self, value: Row, line: int) -> Iterator[Row]:
        self._take(value, "label_annotations", dict, line)
        own = self._check(_find_id(value, "instance_id", "id"), "id", _NAME, line)
        # The file has a line for each annotator of an item.
        if own not in self._seen:
            self._seen.add(own)
            yield {"id": own, **{key: entry for key, entry in value.items() if key not in self._OWN}}

    def _judgments(self, value: Row, line: int) -> Iterator[Row]:
        chosen = self._take(value, "label_annotations", dict, line).items()
        answers = {name: answer for name, labels in chosen for answer in _list_chosen(labels)}
        if answers:
            annotator = value.get("user_id", value.get("user"))
            named = {} if annotator is None else {"annotator": str(self._check(annotator, "user_id", _NAME, line))}
            yield {"id": _find_id(value, "instance_id", "id"), **named, **answers}


class DuReaderReader(PeerReader):
    """Reads DuReader's data: one question per line, with its documents and answers.

    Answers of systems are read from the key `candidates`, which the data set itself does not have: an object of texts
    by system. Without it, the last of several answers is the candidate, as the data set has no other.
    """

    tool = "DuReader"

    def _items(self, value: Row, line: int) -> Iterator[Row]:
        answers = [each for each in self._list_texts(value, "answers", line) if each.strip()]
        candidates = value.get("candidates")
        if type(candidates) is not dict:
            candidates = {HUMAN: answers.pop()} if len(answers) > 1 else {}
        if not candidates:
            self.notes.warn("Questions without “candidates” and with fewer than two answers are skipped.", line)
            self.leave_out(line)
            return
        # Every candidate is a row of its own, and every answer a column of each.
        for what, n, most in (
            ("candidates", len(candidates), self.limits.list_entries),
            ("answers", len(answers), self.limits.columns),
        ):
            if n > most:
                raise Broken(f"{n:,} {what} of one question; the maximum is {most:,}", line=line)
        own = str(self._check(value.get("question_id", ""), "question_id", _NAME, line))
        opinions = self._list_texts(value, "yesno_answers", line)
        listed = self._take_if_any(value, "entity_answers", list, line)
        named = (
            self._check(each, "entity_answers", (str,), line) for some in listed if type(some) is list for each in some
        )
        question = {
            "passage_id": own,
            "documents": [self._join_paragraphs(each, line) for each in self._take(value, "documents", list, line)],
            "question_id": own,
            "question": self._take(value, "question", str, line),
            "question_type": DUREADER_TYPES.get(str(value.get("question_type")), "other"),
            "entities": list(dict.fromkeys(named)),
            **{f"reference_{n}": answer for n, answer in enumerate(answers, start=1)},
            # A question of facts has no opinions, and an opinion belongs to the answer of the same position.
            **{f"reference_{n}_opinion": each for n, each in enumerate(opinions[: len(answers)], start=1)},
        }
        fact = {"metadata.fact_or_opinion": value.get("fact_or_opinion", "")}
        for source, text in candidates.items():
            yield {**question, "candidate_id": f"{own}-{source}", "candidate": text, "source": source, **fact}

    def _list_texts(self, value: Row, key: str, line: int) -> list[str]:
        return [self._check(each, key, (str,), line) for each in self._take_if_any(value, key, list, line)]

    def _join_paragraphs(self, document: Any, line: int) -> Mapping[str, str]:
        self._check(document, "documents", _OBJECT, line)
        title = self._take_if_any(document, "title", str, line)
        return {"title": title, "text": "\n".join(self._list_texts(document, "paragraphs", line))}

    def _judgments(self, value: Row, line: int) -> Iterator[Row]:
        raise Broken("DuReader's data contain no judgments; import them as candidates", line=line)


def _find_id(value: Row, *names: str) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)


def _list_answers(type_: object, value: Any) -> Iterator[Any]:
    """Yield the answer of a result of Label Studio, if it is a number or one choice."""
    if type(value) is not dict or type(type_) is not str:
        return
    answer = value.get(type_)
    if type(answer) is list and len(answer) == 1:
        answer = answer[0]
    if _is_plain(answer):
        yield answer


def _list_chosen(labels: Any) -> Iterator[Any]:
    """Yield the answer to a scheme of Potato, if it is one point, one number or one label."""
    if type(labels) is not dict:
        return
    chosen = [(label, value) for label, value in labels.items() if value not in _UNCHOSEN]
    if len(chosen) == 1:
        label, value = chosen[0]
        point = _POINT.fullmatch(label)
        yield value if label in _INPUTS else int(point[1]) if point else label


def _is_plain(value: object) -> bool:
    return type(value) in (int, float, str)


READERS: dict[str, type[PeerReader]] = {
    "argilla": ArgillaReader,
    "label_studio": LabelStudioReader,
    "potato": PotatoReader,
    "dureader": DuReaderReader,
}
