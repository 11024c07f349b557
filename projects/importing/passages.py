"""Datasets and passages of the records; each is written to the spool once."""

from typing import Any

import orjson

from projects.importing.check_report import Broken, CheckReport, Notes
from projects.importing.fields import FIELD_KEYS, ColumnPlan, count_keys
from projects.importing.import_options import Options
from projects.importing.limits import Limits
from projects.importing.readers.base import check_key
from projects.importing.row_identity import SeenDataset, SeenPassage, digest, make_text_id
from projects.importing.spool import Spool
from projects.importing.values import Values
from projects.language.names import shorten_name

DEFAULT_DATASET = "main"
KINDS = ("generative", "span", "question_generation")
SPAN_DATASETS = ("drop", "quoref")
"""MOCHA's datasets whose answers are spans of the passage; all its others are generative."""
NO_PASSAGE = "A row has no passage, so its question is shown without one."


class PassageRows:
    """The datasets and passages met so far. Consecutive rows mostly share them, so the last ones are kept at hand."""

    is_ragged = False

    def __init__(
        self, plan: ColumnPlan, options: Options, limits: Limits, notes: Notes, spool: Spool, report: CheckReport
    ) -> None:
        self.plan = plan
        self.columns = plan.by_field
        self.options = options
        self.limits = limits
        self.notes = notes
        self.spool = spool
        self.report = report
        self.values = Values(limits, notes)
        self.datasets: dict[str, SeenDataset] = {}
        self.n_passages = self.n_candidates = 0
        self._find_columns()
        self._last_dataset: tuple[Any, SeenDataset] | None = None
        self._last_passage: tuple[tuple[Any, ...], SeenPassage] | None = None

    def add_new_columns(self, record: dict[str, Any], line: int) -> None:
        known = self.plan.meanings
        for column in record:
            if column not in known:
                if column not in FIELD_KEYS and count_keys(known) >= self.limits.columns:
                    raise Broken(f"more than {self.limits.columns} different keys", line=line)
                check_key(column, line)
                self.plan.add(column)
                self._find_columns()

    def find_or_add_dataset(self, record: dict[str, Any], line: int) -> SeenDataset:
        column = self.columns.get("dataset", "")
        name = record.get(column) if column else None
        if self._last_dataset is not None and name == self._last_dataset[0]:
            return self._last_dataset[1]
        text = self.values.text(name, column, line, 120) or self.options.dataset or DEFAULT_DATASET
        dataset = self.datasets.get(text)
        if dataset is None:
            dataset = SeenDataset(text, len(self.datasets), self._read_kind(record, text, line))
            self.datasets[text] = dataset
            if len(self.datasets) > self.limits.list_entries:
                raise Broken(f"more than {self.limits.list_entries:,} datasets in one file", line=line)
        self._last_dataset = (name, dataset)
        return dataset

    def find_or_add_passage(self, record: dict[str, Any], line: int, dataset: SeenDataset) -> SeenPassage | None:
        """Return the passage of this record, written if it is new; None if the record has none or it was refused."""
        columns, get = self.columns, record.get
        raw = (dataset.number, *map(get, self._passage_columns))
        # True equals 1 in Python: an id that is a boolean must be refused even after the id 1.
        if self._last_passage is not None and raw == self._last_passage[0] and type(raw[1]) is not bool:
            return self._last_passage[1]
        before = self.notes.total
        text, documents = self._passage_text(raw[2], raw[4], line)
        external_id = self.values.identity(raw[1], columns.get("passage_id", ""), line)
        split = self.read_split(record, line)
        if self.notes.total != before:
            return None
        if not (external_id or text or documents):
            if "passage" in columns or "documents" in columns:
                self.notes.warn(NO_PASSAGE, line)
            return None
        title = self.values.text(raw[3], columns.get("title", ""), line)
        # Texts are compared by their hash: keeping those of a million passages would fill the memory.
        mark = digest("\0".join((text, documents)))
        known = dataset.passages_by_id.get(external_id) if external_id else dataset.passages_by_text.get(mark)
        is_given = bool(text or documents)
        if known is None:
            has_id = bool(external_id)
            known = SeenPassage(self.n_passages, external_id or make_text_id(text, documents), mark, line, split)
            self._write_passage(dataset, known, has_id, is_given, title, text, documents)
        elif is_given and known.digest != mark:
            place = self.notes.name_place(known.line)
            reason = f"the passage “{shorten_name(external_id, 60)}” has a different text {place}"
            column = columns.get("passage", columns.get("documents", ""))
            self.notes.problem(line, column, reason, contradicts=known.line)
        elif split and split != known.split:
            self._note_other_split(line, known, split)
        if self.notes.total == before:
            self._last_passage = (raw, known)
        return known

    def _find_columns(self) -> None:
        """Look up once the columns that are compared in every row; "" stands for a column that the file lacks."""
        column = self.plan.column
        self._passage_columns = tuple(map(column, ("passage_id", "passage", "title", "documents", "split")))
        self.question_columns = tuple(filter(None, map(column, ("question_type", "entities", "span"))))

    def _read_kind(self, record: dict[str, Any], name: str, line: int) -> str:
        column = self.columns.get("dataset_kind", "")
        kind = record.get(column) if column else None
        kind = kind or self.options.dataset_kind
        if not kind:
            return "span" if name.lower() in SPAN_DATASETS else "generative"
        if kind not in KINDS:
            self.notes.problem(line, column, f"the dataset type must be one of {', '.join(KINDS)}")
            return "generative"
        return str(kind)

    def _passage_text(self, passage: Any, documents: Any, line: int) -> tuple[str, str]:
        """Return the text and the documents (as JSON); a list in the passage's column is a list of documents."""
        columns = self.columns
        column, documents_column = columns.get("passage", ""), columns.get("documents", "")
        if type(passage) is list:
            passage, documents, documents_column = None, passage, column
        text = self.values.text(passage, column, line)
        listed = self.values.documents(documents, documents_column, line) if documents else []
        return text, orjson.dumps(listed).decode() if listed else ""

    def read_split(self, record: dict[str, Any], line: int) -> str:
        column = self.columns.get("split", "")
        return (
            self.values.text(record.get(column), column, line, 40)
            if column and record.get(column)
            else self.options.split
        )

    def _write_passage(
        self,
        dataset: SeenDataset,
        passage: SeenPassage,
        has_id: bool,
        is_given: bool,
        title: str,
        text: str,
        documents: str,
    ) -> None:
        if has_id:
            dataset.passages_by_id[passage.external_id] = passage
        else:
            dataset.passages_by_text[passage.digest] = passage
        dataset.passages += 1
        self.n_passages += 1
        flags = f"{'t' if has_id else 'f'}\t{'t' if is_given else 'f'}"
        texts = (passage.external_id, title, text, passage.split, documents)
        self.spool.add("passages", f"{passage.key}\t{dataset.number}\t{passage.line}\t{flags}", texts)

    def _note_other_split(self, line: int, passage: SeenPassage, split: str) -> None:
        if passage.split:
            name, here, there = shorten_name(passage.external_id, 60), shorten_name(split), shorten_name(passage.split)
            place = self.notes.name_place(passage.line)
            reason = f"the passage “{name}” belongs to split “{here}” here but to “{there}” {place}"
            self.notes.problem(line, self.columns.get("split", ""), reason, contradicts=passage.line)
        else:
            passage.split = split
            self.spool.add("splits", str(passage.key), (split,))

    def add_empty_passage(self, record: dict[str, Any], line: int, dataset: SeenDataset, name: str) -> SeenPassage:
        """Return the empty passage of a question without a passage, written if it is new; each question has its own."""
        external_id = make_text_id("no passage", name)
        known = dataset.passages_by_id.get(external_id)
        split = self.read_split(record, line)
        if known is None:
            known = SeenPassage(self.n_passages, external_id, b"", line, split)
            self._write_passage(dataset, known, True, True, "", "", "")
        elif split and split != known.split:
            self._note_other_split(line, known, split)
        return known
