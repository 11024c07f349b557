"""Questions and references of the records; each is written to the spool once."""

from typing import Any

from projects.importing import filters
from projects.importing.check_report import Broken, CheckReport, Notes
from projects.importing.fields import ColumnPlan
from projects.importing.import_options import Options
from projects.importing.limits import Limits
from projects.importing.passages import PassageRows
from projects.importing.row_identity import SeenDataset, SeenPassage, SeenQuestion, SeenQuestions, digest, make_text_id
from projects.importing.spool import Spool, array_text
from projects.language.names import shorten_name

References = list[tuple[str, str]]
"""Texts with their opinions ("" where none is given), in their order."""

TYPES = {
    "yes-no": "yes-no",
    "yes/no": "yes-no",
    "yes_no": "yes-no",
    "yesno": "yes-no",
    "boolean": "yes-no",
    "entity": "entity",
    "description": "description",
    "other": "other",
    "": "",
}
NO_REFERENCE = "has an object with other keys than “text” and “opinion”"
UNITED = "A question appears again with different references; they are merged."
OTHER_TYPE = "An unknown question type (not yes-no, entity or description) is imported as “other”."
FIRST_COUNTS = "A question appears again with a different type, entity list or span; the first is used."


class QuestionRows(PassageRows):
    """The questions and references met so far, on top of datasets and passages."""

    def __init__(
        self, plan: ColumnPlan, options: Options, limits: Limits, notes: Notes, spool: Spool, report: CheckReport
    ) -> None:
        super().__init__(plan, options, limits, notes, spool, report)
        self._seen = SeenQuestions()
        self._last_question: tuple[tuple[Any, ...], SeenQuestion] | None = None
        self._last_references: tuple[list[Any], References] | None = None

    def read_references(self, record: dict[str, Any], line: int) -> References:
        """Return the references of this record in order, each once."""
        columns, get = self.columns, record.get
        raw: list[Any] = [get(column) for pair in self.plan.references for column in pair]
        if "references" in columns:
            raw.append(get(columns["references"]))
        if self.options.multiple_choice:
            raw += [get(columns.get("choices", "")), get(columns.get("choice", ""))]
        # Consecutive rows often belong to one question; comparing the raw values saves checking its texts again.
        if self._last_references is not None and raw == self._last_references[0]:
            return self._last_references[1]
        before = self.notes.total
        found: dict[str, str] = {}
        listed: dict[str, str] = {}
        for column, opinion_column in self.plan.references:
            text = self.values.text(get(column), column, line)
            opinion = self.values.text(get(opinion_column), opinion_column, line, 20) if opinion_column else ""
            if text:
                found.setdefault(text, opinion)
        if "references" in columns:
            self._read_listed_references(get(columns["references"]), columns["references"], line, listed)
        if self.options.multiple_choice:
            self._read_correct_choice(record, line, found)
        references = list(_in_listed_order(found, listed).items())
        if self.notes.total == before:
            self._last_references = (raw, references)
        return references

    def find_or_add_question(
        self, record: dict[str, Any], line: int, dataset: SeenDataset, references: References
    ) -> SeenQuestion | None:
        """Return the question of this record, written if it is new; None if it was refused."""
        columns, get = self.columns, record.get
        before = self.notes.total
        passage = self.find_or_add_passage(record, line, dataset)
        column, id_column = columns["question"], columns.get("question_id", "")
        raw = (
            *(dataset.number, passage and passage.key, get(column), get(id_column) if id_column else None, references),
            *map(get, self.question_columns),
        )
        if self._last_question is not None and raw == self._last_question[0]:
            return self._last_question[1]
        text = self.values.text(get(column), column, line)
        # Unlike an answer of spaces alone, which a system may have given, such a question asks nothing.
        if not text.strip() and self.notes.total == before:
            self.notes.problem(line, column, "is empty")
        external_id = self.values.identity(get(id_column), id_column, line) if id_column else ""
        about = self._read_details(record, line)
        if self.notes.total != before:
            return None
        if passage is None:
            passage = self.add_empty_passage(record, line, dataset, external_id or make_text_id("", text))
        question = self._find_or_write_question(line, dataset, passage, external_id, text, about)
        if question is None:
            return None
        self._add_references(line, dataset, question, references)
        if self.notes.total == before:
            self._last_question = (raw, question)
        return question

    def add_reference_candidate(
        self, line: int, dataset: SeenDataset, question: SeenQuestion, text: str, number: int
    ) -> None:
        raise NotImplementedError

    def _read_details(self, record: dict[str, Any], line: int) -> tuple[str, str, str]:
        columns, get = self.columns, record.get
        kind = entities = span = ""
        if "question_type" in columns:
            written = self.values.text(get(columns["question_type"]), columns["question_type"], line)
            kind = TYPES.get(written.strip().lower(), "other")
            if kind == "other" and written.strip().lower() != "other":
                self.notes.warn(OTHER_TYPE, line)
        if "entities" in columns:
            listed = self.values.texts(get(columns["entities"]), columns["entities"], line, "|")
            entities = array_text(listed) if listed else ""
        if "span" in columns:
            span = self.values.text(get(columns["span"]), columns["span"], line)
        return kind, span, entities

    def _find_or_write_question(
        self,
        line: int,
        dataset: SeenDataset,
        passage: SeenPassage,
        external_id: str,
        text: str,
        about: tuple[str, str, str],
    ) -> SeenQuestion | None:
        seen, mark = self._seen, digest(f"{passage.external_id}\0{text}")
        about_mark = digest("\0".join(about)) if any(about) else b""
        key = dataset.questions_by_id.get(external_id) if external_id else dataset.questions_by_text.get(mark)
        name = external_id or f"text-{mark.hex()}"
        if key is None:
            key = seen.add(passage.key, mark, about_mark, line)
            if external_id:
                dataset.questions_by_id[external_id] = key
            else:
                dataset.questions_by_text[mark] = key
            dataset.questions += 1
            flag = "t" if external_id else "f"
            texts = (name, text, about[0], about[1], about[2] or "{}")
            self.spool.add("questions", f"{key}\t{passage.key}\t{line}\t{flag}", texts)
        elif seen.digest(key) != mark:
            what = "a different text" if seen.passage(key) == passage.key else "a different passage"
            place = self.notes.name_place(seen.line(key))
            reason = f"the question “{shorten_name(external_id, 60)}” has {what} {place}"
            self.notes.problem(line, self.columns["question"], reason, contradicts=seen.line(key))
            return None
        elif seen.about(key) != about_mark:
            self.notes.warn(FIRST_COUNTS, line)
        return SeenQuestion(key, name)

    def _add_references(self, line: int, dataset: SeenDataset, question: SeenQuestion, references: References) -> None:
        seen, key = self._seen, question.key
        is_first = not seen.n_references(key)  # later references come from another row and are merged with a warning
        below = self.options.second_reference_below
        for place, (text, opinion) in enumerate(references, start=1):
            mark = digest(text)
            if seen.has_reference(key, mark):
                continue  # further candidates of the question repeat its references
            if seen.n_references(key) >= self.limits.list_entries:
                most = f"{self.limits.list_entries:,}"
                reason = f"adds a reference to a question that already has {most}, which is the most"
                self.notes.problem(line, self._name_reference_column(), reason)
                return
            if below is not None and place > 1 and filters.overlap(references[0][0], text) < below:
                seen.add_reference(key, mark)
                self.add_reference_candidate(line, dataset, question, text, place)
                continue
            if not is_first:
                self.notes.warn(UNITED, line)
            dataset.references += 1
            self.spool.add("references", f"{key}\t{seen.add_reference(key, mark)}\t{line}", (text, opinion))

    def _name_reference_column(self) -> str:
        if self.plan.references:
            return self.plan.references[0][0]
        return self.columns.get("references") or self.columns.get("choices", "")

    def _read_listed_references(self, value: Any, column: str, line: int, found: dict[str, str]) -> None:
        for entry in self.values.entries(value, column, line):
            raw, opinion = entry, ""
            if type(entry) is dict:
                if not set(entry) <= {"text", "opinion"}:
                    self.notes.problem(line, column, NO_REFERENCE)
                    return
                raw, opinion = entry.get("text"), self.values.text(entry.get("opinion"), column, line, 20)
            if raw is None or raw == "":
                self.notes.problem(line, column, "is a list with an empty entry")
            elif text := self.values.text(raw, column, line):
                found.setdefault(text, opinion)

    def _read_correct_choice(self, record: dict[str, Any], line: int, found: dict[str, str]) -> None:
        """Convert multiple choice to generative: add the correct choice as a reference."""
        column, choice_column = self.columns.get("choices", ""), self.columns.get("choice", "")
        if not column or not choice_column:
            raise Broken("multiple choice requires a column with the choices and a column with the correct choice")
        choices = self.values.texts(record.get(column), column, line, "|")
        chosen = filters.find_choice(choices, record.get(choice_column))
        if chosen is None:
            self.notes.problem(
                line, choice_column, "matches none of the choices (use a letter, a number starting at 0, or the text)"
            )
        else:
            found.setdefault(chosen, "")
            self.report.made["multiple_choice"] = self.report.made.get("multiple_choice", 0) + 1


def _in_listed_order(single: dict[str, str], listed: dict[str, str]) -> dict[str, str]:
    """Return the references with those of single columns first, then those of the list in its order."""
    if not listed:
        return single
    return {text: opinion for text, opinion in single.items() if text not in listed} | {
        text: opinion or single.get(text, "") for text, opinion in listed.items()
    }
