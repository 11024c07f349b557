"""Items from a file, read row by row: all are added or none, and every error is reported with its line and column."""

import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from annotate.attempts.gradable_items import Fault, ItemSpec, find_faults, find_quality_criteria, shown_key
from annotate.models import QualificationItem, QualificationTest
from annotate.qualification.items import MOST_ITEMS, Purpose, add_items
from projects.errors import Refused
from projects.importing import Preview, isolated
from projects.importing.check_report import Broken, FileRefused, Notes, Problem
from projects.importing.fields import ColumnPlan, normal_name, plan_columns
from projects.importing.import_options import Options
from projects.importing.limits import MIB, Limits
from projects.importing.readers import Reader
from projects.importing.skipping import SkippedFile, SkippedRows
from projects.importing.values import MAYBE_THOUSANDS, PLAIN_NUMBER, Values
from projects.models import Membership
from projects.rubric.rubrics import CriterionOnPage

# 20 MiB hold 500 items with passages of 40 kB; archive_bytes is the limit of what a spreadsheet unpacks to.
LIMITS = Limits(file_bytes=20 * MIB, rows=MOST_ITEMS, archive_bytes=64 * MIB)
FIELDS = {
    "question": "Question",
    "answer": "Answer to rate",
    "expected": "Correct rating",
    "tolerance": "Tolerance",
    "title": "Passage title",
    "passage": "Passage",
    "reference": "Reference",
    "references": "References (list)",
    "explanation": "Explanation",
    "purpose": "Purpose",
    "ignore": "Ignore",
}
SYNONYMS = {
    "question": ("question", "question_text"),
    "answer": ("answer", "candidate"),
    "expected": ("expected", "right_answer", "score"),
    "tolerance": ("tolerance",),
    "title": ("passage_title", "title"),
    "passage": ("passage", "passage_text", "context"),
    "reference": ("reference", "reference_1"),
    "references": ("references", "reference_answers"),
    "explanation": ("explanation", "why"),
    "purpose": ("purpose",),
}
"""Column names for each part of an item, besides `reference_2` … and `expected_<criterion>`."""

_OTHER_ANSWER = re.compile(r"answer_?[0-9]+")
"""In imports these are further references; beside an answer to rate nobody knows what they are."""
_RANGE = re.compile(r"(-?[0-9.,]+)\s*(?:-|–|to)\s*(-?[0-9.,]+)")


def import_items(
    *,
    test: QualificationTest,
    actor: Membership | None,
    path: Path,
    name: str,
    options: Options | None = None,
    skipped: SkippedRows | None = None,
    skipped_path: Path | None = None,
    kept_rows: Path | None = None,
) -> list[QualificationItem]:
    """Add the items of a file and return them. Raises FileRefused with every error, and Refused for too many items.

    If the options say so, rows with errors are skipped; `skipped` collects them, and `skipped_path`, or else a file
    beside the first one, lists them. `kept_rows` are the file's rows if it was read before.
    """
    criteria = find_quality_criteria(test.rubric)
    specs = read_items(
        path=path,
        name=name,
        criteria=criteria,
        options=options,
        skipped=skipped,
        skipped_path=skipped_path,
        kept_rows=kept_rows,
    )
    return add_items(test=test, actor=actor, specs=specs, how="file")


def read_items(
    *,
    path: Path,
    name: str,
    criteria: Sequence[CriterionOnPage],
    options: Options | None = None,
    skipped: SkippedRows | None = None,
    skipped_path: Path | None = None,
    kept_rows: Path | None = None,
) -> list[ItemSpec]:
    """Return the items of a CSV, TSV, XLSX, JSON, JSONL or Parquet file. Raises FileRefused."""
    options = options or Options()
    skipped = SkippedRows() if skipped is None else skipped
    skipped_path = skipped_path or find_skipped_file(path)
    with tempfile.TemporaryDirectory(prefix="concord-items-") as folder:
        rows = kept_rows or Path(folder) / "rows"
        while True:
            try:
                return _read_rows(path, name, criteria, options, skipped, skipped_path, rows)
            except FileRefused as refusal:
                # Without some rows others may become wrong, or right: a repeated answer whose first row is skipped.
                skipped.take(refusal, is_wanted=options.skip_wrong_rows)


def _read_rows(
    path: Path,
    name: str,
    criteria: Sequence[CriterionOnPage],
    options: Options,
    skipped: SkippedRows,
    skipped_path: Path,
    kept_rows: Path,
) -> list[ItemSpec]:
    notes = Notes(LIMITS, skipped=skipped)
    specs: list[ItemSpec] = []
    with ExitStack() as stack:
        reader = stack.enter_context(
            isolated.reading(path, name, options, LIMITS, notes, kept=kept_rows, seconds=isolated.PAGE_SECONDS)
        )
        skipped.unit = notes.unit
        left_out = stack.enter_context(SkippedFile(skipped_path, reader.columns, skipped))
        rows = _Rows(reader, criteria, notes, options)
        for n, (line, record) in enumerate(skipped.follow(reader.records()), start=1):
            if n > MOST_ITEMS:
                raise Broken(f"more than {MOST_ITEMS} rows, the maximum for a test", line=line)
            if line in skipped:
                left_out.add(line, record)
                continue
            # A row with an error gives no item, but the others are still read, so that all errors are reported at once.
            before = notes.total
            spec = rows.spec(line, record)
            if notes.total == before:
                specs.append(spec)
        if not specs and not notes.total:
            reason = "every row has a problem, so nothing is left" if skipped else "the file has a header and no rows"
            raise FileRefused(name, [Problem(None, "", reason), *skipped.problems])
    return specs


def find_skipped_file(path: Path) -> Path:
    """Return the list of the rows that were skipped, beside the file."""
    return path.with_name(f"{path.name}.skipped.csv")


def find_kept_rows(path: Path) -> Path:
    """Return where the rows of a file are kept, beside it."""
    return path.with_name(f"{path.name}.rows")


def read_range(text: str) -> tuple[float, float]:
    """Return the range that a text such as `4`, `4-5` or `4,5 to 5` gives. Raises Refused for anything else."""
    found = _RANGE.fullmatch(text.strip())
    written = [found[1], found[2]] if found else [text.strip()] * 2
    if doubtful := next(filter(MAYBE_THOUSANDS.fullmatch, written), ""):
        raise Refused(
            f"“{doubtful}” may be {doubtful.replace(',', '.')} or {doubtful.replace(',', '')}. Write one of them."
        )
    ends = [end.replace(",", ".") for end in written]
    if not all(PLAIN_NUMBER.fullmatch(end) for end in ends):
        raise Refused("Write one number, or a range such as 4-5.")
    return float(ends[0]), float(ends[1])


def list_fields(criteria: Sequence[CriterionOnPage]) -> dict[str, str]:
    """Return what a column of items may hold, with the label of each; several criteria have a rating each."""
    if len(criteria) == 1:
        return FIELDS
    fields: dict[str, str] = {}
    for name, label in FIELDS.items():
        if name == "expected":
            fields |= {_name_expected(each, criteria): f"Correct rating: {each.name}" for each in criteria}
        else:
            fields[name] = label
    return fields


def plan_items(columns: Sequence[str], criteria: Sequence[CriterionOnPage], mapping: Mapping[str, str]) -> ColumnPlan:
    """Map columns to the parts of an item, as imports do. Raises Broken for a wrong mapping."""
    own: dict[str, tuple[str, ...]] = {
        _name_expected(each, criteria): (normal_name(f"expected_{each.key}"),) for each in criteria
    }
    if len(criteria) == 1:
        own = {"expected": (*own["expected"], *SYNONYMS["expected"])}
    synonyms = {name: names for name, names in SYNONYMS.items() if name != "expected"} | own
    others = {column: "ignore" for column in columns if _OTHER_ANSWER.fullmatch(normal_name(column))}
    return plan_columns(columns, others | dict(mapping), fields=list_fields(criteria), synonyms=synonyms)


def preview_items(*, path: Path, name: str, criteria: Sequence[CriterionOnPage], options: Options) -> Preview:
    """Return the columns of a file with their fields and its first rows. Raises FileRefused."""
    return isolated.preview_planned(
        path=path,
        name=name,
        options=options,
        limits=LIMITS,
        make_plan=lambda reader: plan_items(reader.columns, criteria, options.mapping),
        kept=find_kept_rows(path),
    )


def _name_expected(criterion: CriterionOnPage, criteria: Sequence[CriterionOnPage]) -> str:
    return "expected" if len(criteria) == 1 else f"expected_{criterion.key}"


class _Rows:
    """Turns rows into items and collects their errors."""

    def __init__(self, reader: Reader, criteria: Sequence[CriterionOnPage], notes: Notes, options: Options) -> None:
        self.notes = notes
        self.values = Values(LIMITS, notes)
        self.values.decimal = options.decimal or reader.decimal
        self.criteria = criteria
        self.lines: dict[tuple[str, ...], int] = {}
        plan = plan_items(reader.columns, criteria, options.mapping)
        self.columns = {part: plan.column(part) for part in FIELDS}
        self.references = [column for column, _opinion in plan.references]
        self.expected = {each.key: plan.column(_name_expected(each, criteria)) for each in criteria}
        missing = [part for part in ("question", "answer") if not self.columns[part]]
        missing += [_name_expected(each, criteria) for each in criteria if not self.expected[each.key]]
        if missing:
            columns = ", ".join(reader.columns[:12])
            raise Broken(f"no column “{missing[0]}” (found: {columns}); map one to it", column=missing[0])

    def spec(self, line: int, record: dict[str, Any]) -> ItemSpec:
        def text(part: str) -> str:
            column = self.columns[part]
            return self.values.text(record.get(column), column, line) if column else ""

        spec = ItemSpec(
            question=text("question"),
            answer=text("answer"),
            expected={key: self._read_range(line, record, column) for key, column in self.expected.items()},
            purpose=self._read_purpose(line, text("purpose")),
            passage_title=text("title"),
            passage_text=text("passage"),
            references=[{"text": each, "opinion": ""} for each in self._read_references(line, record)],
            tolerance=self._read_tolerance(line, record),
            explanation=text("explanation"),
        )
        if not self._has_faults_at(line):
            for fault in find_faults(spec, self.criteria):
                self.notes.problem(line, self._find_column(fault), fault.reason)
        # Two ratings of the same answer could contradict each other, so a repetition is an error even if they agree.
        first = self.lines.setdefault(shown_key(spec), line)
        if first != line:
            reason = f"repeats the answer of {self.notes.unit} {first}"
            self.notes.problem(line, self.columns["answer"], reason, contradicts=first)
        return spec

    def _has_faults_at(self, line: int) -> bool:
        """Return whether a value has an error already, so that it is not reported as off the scale too."""
        return self.notes.last_line == line

    def _read_references(self, line: int, record: dict[str, Any]) -> list[str]:
        found = [self.values.text(record.get(column), column, line) for column in self.references]
        column = self.columns["references"]
        if column:
            entries = self.values.entries(record.get(column), column, line, separators="|")
            for entry in entries:
                text = entry.get("text") if isinstance(entry, dict) else entry
                found.append(self.values.text(text, column, line))
        return [text for text in found if text]

    def _read_range(self, line: int, record: dict[str, Any], column: str) -> tuple[float, float]:
        """Return the range that one number, `4-5`, or a list of both ends gives."""
        value = record.get(column)
        if isinstance(value, str) and value.lstrip().startswith("["):
            before = self.notes.total
            value = self.values.entries(value, column, line)
            if self.notes.total != before:
                return (0.0, 0.0)
        if isinstance(value, str) and (found := _RANGE.fullmatch(value.strip())):
            value = [found[1], found[2]]
        # A single value is both ends, and is read once so that its error is reported once.
        ends = value if isinstance(value, list) and len(value) == 2 else [value, value]
        low = self.values.number(ends[0], column, line)
        high = low if ends[1] is ends[0] else self.values.number(ends[1], column, line)
        return (low or 0.0, high or 0.0)

    def _read_tolerance(self, line: int, record: dict[str, Any]) -> float:
        column = self.columns["tolerance"]
        if not column or record.get(column) in (None, ""):
            return 0.0
        return self.values.number(record[column], column, line) or 0.0

    def _read_purpose(self, line: int, text: str) -> str:
        purpose = text.strip().lower() or Purpose.TEST
        if purpose not in Purpose.values:
            reason = f"is “{text[:30]}”; use test or practice"
            self.notes.problem(line, self.columns["purpose"], reason)
            return Purpose.TEST
        return purpose

    def _find_column(self, fault: Fault) -> str:
        if fault.part == "expected":
            return self.expected.get(fault.key, "")
        return self.columns.get(fault.part, "")
