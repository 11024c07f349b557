"""Previewing and checking a file: the result is a report and a spool, or one refusal with all errors."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from projects.importing.check_report import Broken, FileRefused, Notes, Problem, Report, Warned
from projects.importing.fields import (
    CANDIDATE_IDS,
    JUDGMENT_FIELDS,
    JUDGMENT_SYNONYMS,
    TEXT_SYNONYMS,
    Plan,
    normal_name,
    plan_columns,
)
from projects.importing.import_options import CriterionColumn, Options, fingerprint, normal_label
from projects.importing.judgments import JudgmentRows
from projects.importing.limits import DEFAULT_LIMITS, Limits
from projects.importing.readers import Reader, open_reader
from projects.importing.rows import CandidateRows
from projects.importing.skipping import SkippedFile, SkippedRows
from projects.importing.spool import Spool
from projects.importing.text import bad_byte
from projects.importing.values import PLAIN_NUMBER
from projects.language.names import shorten_name

OnProgress = Callable[[int, int], None]
OpenReader = Callable[[Path, str, Options, Limits, Notes], Reader]
STEP = 1_000
"""Rows between two reports of the progress."""
PREVIEW_ROWS = 5
PREVIEW_READS = 1_000
"""Rows that a preview reads: enough for warnings and for the columns of JSON, and quick for any file."""
CELL_SHOWN = 300
MOST_WORDS = 12
LONGEST_LABEL = 60
SKIPPED_NAME = "skipped.csv"
"""The list of skipped rows, in the folder of the spool."""
_OF_MOCHA = {"id": "candidate_id", "candidate": "ignore"}
"""Columns of judgments in MOCHA's format."""


class PreviewNotes(Notes):
    """Turns the errors of single rows into warnings: the columns can be mapped all the same."""

    def problem(self, line: int | None, column: str, reason: str, *, contradicts: int | None = None) -> None:
        if line is None:
            super().problem(line, column, reason)
        else:
            self.warn(f"{reason[:1].upper()}{reason[1:]}.", line)


class Kind(StrEnum):
    """What a file is imported as; the values are stored in the import job."""

    CANDIDATES = "candidates"
    JUDGMENTS = "judgments"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The beginning of a file. `mapping` maps columns to fields; `rows` are texts, shortened for a table.

    `n_rows` is exact if `is_whole`; otherwise it is the number of rows read for the preview.
    """

    format: str
    encoding: str
    delimiter: str
    decimal: str
    columns: tuple[str, ...]
    mapping: dict[str, str]
    fields: Mapping[str, str]
    rows: tuple[tuple[str, ...], ...]
    n_rows: int
    is_whole: bool
    warnings: tuple[Warned, ...]
    has_scores: bool
    words: Mapping[str, tuple[str, ...]]
    """The texts that are no numbers in each column with few different ones: labels, if it has ratings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A file without errors: its report, the spool with its rows, and the hash that identifies the import."""

    report: Report
    spool: Spool
    kind: Kind
    name: str
    sha256: str
    n_bytes: int
    options: Options
    datasets: tuple[tuple[str, str], ...] = ()
    criteria: tuple[CriterionColumn, ...] = ()


def preview(
    *,
    path: Path,
    name: str,
    options: Options | None = None,
    kind: Kind = Kind.CANDIDATES,
    limits: Limits = DEFAULT_LIMITS,
    make_plan: Callable[[Reader], Plan] | None = None,
    opens: OpenReader = open_reader,
) -> Preview:
    """Return the beginning of a file, without rows that can't be read. Raises FileRefused.

    `make_plan` maps the columns of a file that is no import of candidates or judgments.
    """
    options = options or Options()
    notes = PreviewNotes(limits)
    with reading(path, name, options, limits, notes, opens) as reader:
        plan = make_plan(reader) if make_plan else _plan(reader, options, kind)
        reader.texts = plan.list_texts()
        if hint := reader.hint()[0]:
            notes.warn(f"The table has one column{hint}.")
        rows: list[tuple[str, ...]] = []
        words: dict[str, dict[str, None]] = {column: {} for column in reader.columns}
        n_rows, is_whole = 0, True
        for _, record in reader.records():
            n_rows += 1
            _add_words(words, record)
            if n_rows <= PREVIEW_ROWS:
                rows.append(tuple(_cell(record.get(column)) for column in reader.columns))
            if n_rows >= PREVIEW_READS:
                is_whole = False
                break
    return Preview(
        format=reader.format,
        encoding=reader.encoding.removesuffix("-sig"),
        delimiter=reader.delimiter,
        decimal=options.decimal or reader.decimal,
        columns=tuple(reader.columns),
        mapping=dict(plan.meanings),
        fields=plan.fields,
        rows=tuple(rows),
        n_rows=n_rows,
        is_whole=is_whole,
        warnings=notes.warnings,
        has_scores=bool(plan.raters) or not plan.by_field.keys().isdisjoint(("scores", "scores_1", "scores_2")),
        words={column: tuple(found) for column, found in words.items() if 0 < len(found) <= MOST_WORDS},
    )


def check(
    *,
    path: Path,
    name: str,
    folder: Path,
    options: Options | None = None,
    kind: Kind = Kind.CANDIDATES,
    known: Mapping[str, CriterionColumn] | None = None,
    skipped: SkippedRows | None = None,
    on_progress: OnProgress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Checked:
    """Check every row and write the spool into `folder`.

    `known` are the project's criteria by key. If the options say so, wrong rows are skipped: the file is read again
    without them, because a wrong row may have brought a passage that others refer to. `skipped` are rows that are left
    out from the start, and collects the others. Raises FileRefused, and whatever `on_progress` raises to cancel; both
    delete the spool.
    """
    given = options or Options()
    # The fingerprint below uses the given options: it must not depend on the project's scale.
    options = _with_known_scale(given, known or {}) if kind == Kind.CANDIDATES else given
    skipped = SkippedRows() if skipped is None else skipped
    arguments = (path, name, folder, options, kind, known or {}, on_progress, limits, skipped)
    while True:
        try:
            report, rows = _read_rows(*arguments)
            break
        except FileRefused as refusal:
            skipped.take(refusal, is_wanted=options.skip_wrong_rows)
    checked = Checked(
        report=report,
        spool=Spool(folder),
        kind=kind,
        name=report.file,
        sha256=fingerprint(path, given),
        n_bytes=path.stat().st_size,
        options=given,
        datasets=tuple((each.name, each.kind) for each in rows.datasets.values())
        if isinstance(rows, CandidateRows)
        else (),
        criteria=_criteria_used(rows, options),
    )
    save(checked)
    return checked


def _read_rows(
    path: Path,
    name: str,
    folder: Path,
    options: Options,
    kind: Kind,
    known: Mapping[str, CriterionColumn],
    on_progress: OnProgress | None,
    limits: Limits,
    skipped: SkippedRows,
) -> tuple[Report, CandidateRows | JudgmentRows]:
    """Read the whole file without the skipped rows. Raises FileRefused."""
    notes = Notes(limits, skipped=skipped)
    report = Report(file=shorten_name(name, 200), kind=kind.value, format="")
    with Spool(folder) as spool:
        with reading(path, name, options, limits, notes) as reader:
            report.format = reader.format
            plan = _plan(reader, options, kind)
            reader.texts = plan.list_texts()
            report.unit = skipped.unit = notes.unit
            rows: CandidateRows | JudgmentRows
            if kind == Kind.CANDIDATES:
                # Both filters are in every report, so that 0 is visible too.
                report.removed = {"equal_to_reference": 0, "both_numbers": 0}
                rows = CandidateRows(plan, options, limits, notes, spool, report)
                rows.is_ragged = reader.is_ragged
            else:
                rows = JudgmentRows(plan, options, limits, notes, spool, report, known)
            rows.values.decimal = reader.find_decimal(options.decimal)
            rows.values.labels = options.labels
            with SkippedFile(spool.folder / SKIPPED_NAME, reader.columns, skipped) as left_out:
                _take_all(reader, rows, report, limits, on_progress, skipped, left_out)
            if skipped and not report.rows:
                nothing_left = Problem(None, "", "every row has an error, so nothing is left to import")
                raise FileRefused(name, [nothing_left, *skipped.problems])
            rows.finish()
        notes.refuse_if_any(name)
    if skipped:
        report.skipped["wrong_rows"] = len(skipped)
        report.skipped_rows = skipped.problems
    report.labels = dict(options.labels)
    report.warnings = notes.warnings
    return report, rows


def save(checked: Checked) -> None:
    """Write the result into the spool's manifest, so that another process can load it."""
    manifest = {
        "kind": checked.kind.value,
        "name": checked.name,
        "sha256": checked.sha256,
        "n_bytes": checked.n_bytes,
        "options": checked.options.as_dict(),
        "datasets": checked.datasets,
        "criteria": checked.criteria,
        "report": checked.report,
    }
    # Through JSON once, which turns dataclasses and enumerations into plain values.
    checked.spool.write_manifest(orjson.loads(orjson.dumps(manifest)))


def load(folder: Path) -> Checked:
    """Return the result of an earlier check from its spool."""
    spool = Spool(folder)
    manifest: dict[str, Any] = spool.manifest()
    report = manifest["report"]
    report["warnings"] = tuple(Warned(**each | {"lines": tuple(each["lines"])}) for each in report["warnings"])
    # A file that was checked by an earlier version has no skipped rows.
    skipped = report.get("skipped_rows", ())
    report["skipped_rows"] = tuple(Problem(**each | {"lines": tuple(each["lines"])}) for each in skipped)
    criteria = Options.from_dict({"criteria": manifest["criteria"]}).criteria
    return Checked(
        report=Report(**report),
        spool=spool,
        kind=Kind(manifest["kind"]),
        name=manifest["name"],
        sha256=manifest["sha256"],
        n_bytes=manifest["n_bytes"],
        options=Options.from_dict(manifest["options"]),
        datasets=tuple((name, kind) for name, kind in manifest["datasets"]),
        criteria=criteria,
    )


@contextmanager
def reading(
    path: Path, name: str, options: Options, limits: Limits, notes: Notes, opens: OpenReader = open_reader
) -> Iterator[Reader]:
    """Open a reader, and turn whatever ends the reading into one refusal with all problems found before."""
    reader = None
    try:
        reader = opens(path, name, options, limits, notes)
        yield reader
    except Broken as error:
        # An error about a column may come from a wrong delimiter, which the reader can suggest.
        if reader is not None and error.problem.column:
            more, offers = reader.hint()
            error = Broken(error.problem.reason + more, line=1, column=error.problem.column, offers=offers)
        notes.broken(error)
    except UnicodeError as error:
        notes.broken(explain_encoding(error, path, reader))
    finally:
        if reader is not None:
            reader.close()
    notes.refuse_if_any(name)


def explain_encoding(error: UnicodeError, path: Path, reader: Reader | None) -> Broken:
    """Return the error of a text that is not in its encoding, with the line of the first wrong byte."""
    if isinstance(error, UnicodeDecodeError):
        return bad_byte(path, reader.encoding if reader else error.encoding)
    return Broken(f"the text cannot be read: {shorten_name(str(error))}")


def _plan(reader: Reader, options: Options, kind: Kind) -> Plan:
    if kind == Kind.CANDIDATES:
        return plan_columns(reader.columns, options.mapping)
    reader.for_judgments()
    names = {normal_name(column): column for column in reader.columns}
    mapping: dict[str, str] = {}
    if reader.format == "mocha":
        # There `id` is the candidate's id, and `candidate` its text, not its id as in other files of judgments.
        mapping = {name: field for name, field in _OF_MOCHA.items() if name in reader.columns}
    elif {"question", "answer"} <= names.keys() and names.keys().isdisjoint(JUDGMENT_SYNONYMS["candidate_id"]):
        # Beside its question, an “answer” is what was rated, and no rating.
        mapping = {names["answer"]: "candidate_id"}
    if "candidate_id" in options.mapping.values():
        mapping = {name: field for name, field in mapping.items() if field != "candidate_id"}
    mapping |= {each.column: "ignore" for each in options.criteria if each.column in reader.columns}
    has_texts = names.keys().isdisjoint(CANDIDATE_IDS)
    synonyms = JUDGMENT_SYNONYMS | (TEXT_SYNONYMS if has_texts else {})
    return plan_columns(reader.columns, mapping | dict(options.mapping), fields=JUDGMENT_FIELDS, synonyms=synonyms)


def _take_all(
    reader: Reader,
    rows: CandidateRows | JudgmentRows,
    report: Report,
    limits: Limits,
    on_progress: OnProgress | None,
    skipped: SkippedRows,
    left_out: SkippedFile,
) -> None:
    most, add, n, lines = limits.rows, rows.add, 0, skipped.reasons
    for line, record in skipped.follow(reader.records()):
        if line in lines:
            left_out.add(line, record)
            continue
        n += 1
        if n > most:
            raise Broken(f"more than {most:,} rows; split the file into smaller ones", line=line)
        add(line, record)
        if on_progress is not None and n % STEP == 0:
            on_progress(min(reader.position(), reader.size), reader.size)
    report.rows = n
    if on_progress is not None:
        on_progress(reader.size, reader.size)


def _with_known_scale(options: Options, known: Mapping[str, CriterionColumn]) -> Options:
    """Return the options with the criterion of scores on the project's own scale, for a file of candidates."""
    scored = options.find_scored(known)
    return replace(options, criteria=(scored,), rater_criterion=scored.key)


def _criteria_used(rows: CandidateRows | JudgmentRows, options: Options) -> tuple[CriterionColumn, ...]:
    if isinstance(rows, JudgmentRows):
        return tuple(rows.used.values())
    return (options.find_scored({}),) if rows.report.judgments else ()


def _add_words(words: dict[str, dict[str, None]], record: Mapping[str, Any]) -> None:
    for column, found in words.items():
        value = record.get(column)
        if type(value) is str and len(found) <= MOST_WORDS and len(value) <= LONGEST_LABEL:
            label = normal_label(value)
            if label and not PLAIN_NUMBER.fullmatch(label.replace(",", ".", 1)):
                found[label] = None


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if type(value) is str else json.dumps(value, ensure_ascii=False, default=str)
    text = text if len(text) <= CELL_SHOWN else text[:CELL_SHOWN] + "…"
    return text.encode("utf-8", "backslashreplace").decode()
