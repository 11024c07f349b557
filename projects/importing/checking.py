"""Previewing and checking a file: the result is a report and a spool, or one refusal with all errors."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from projects.importing.fields import FIELDS, JUDGMENT_FIELDS, JUDGMENT_SYNONYMS, Plan, plan_columns
from projects.importing.judgments import JudgmentRows
from projects.importing.limits import DEFAULT_LIMITS, Limits
from projects.importing.options import CORRECTNESS_COLUMN, CriterionColumn, Options, fingerprint
from projects.importing.readers import Reader, open_reader
from projects.importing.report import Broken, Notes, Report, Warned
from projects.importing.rows import CandidateRows
from projects.importing.spool import Spool
from projects.importing.text import bad_byte
from projects.language.names import shorten_name

OnProgress = Callable[[int, int], None]
STEP = 1_000
"""Rows between two reports of the progress."""
PREVIEW_ROWS = 5
PREVIEW_READS = 1_000
"""Rows that a preview reads: enough for warnings and for the columns of JSON, and quick for any file."""
CELL_SHOWN = 300


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
    columns: tuple[str, ...]
    mapping: dict[str, str]
    fields: Mapping[str, str]
    rows: tuple[tuple[str, ...], ...]
    n_rows: int
    is_whole: bool
    warnings: tuple[Warned, ...]
    has_scores: bool


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
) -> Preview:
    """Return the beginning of a file. Raises FileRefused."""
    options = options or Options()
    notes = Notes(limits)
    with reading(path, name, options, limits, notes) as reader:
        plan = _plan(reader, options, kind)
        rows: list[tuple[str, ...]] = []
        n_rows, is_whole = 0, True
        for _, record in reader.records():
            n_rows += 1
            if n_rows <= PREVIEW_ROWS:
                rows.append(tuple(_cell(record.get(column)) for column in reader.columns))
            if n_rows >= PREVIEW_READS:
                is_whole = False
                break
    return Preview(
        format=reader.format,
        encoding=reader.encoding.removesuffix("-sig"),
        delimiter=reader.delimiter,
        columns=tuple(reader.columns),
        mapping=dict(plan.meanings),
        fields=FIELDS if kind == Kind.CANDIDATES else JUDGMENT_FIELDS,
        rows=tuple(rows),
        n_rows=n_rows,
        is_whole=is_whole,
        warnings=notes.warnings,
        has_scores=not plan.by_field.keys().isdisjoint(("scores", "scores_1", "scores_2")),
    )


def check(
    *,
    path: Path,
    name: str,
    folder: Path,
    options: Options | None = None,
    kind: Kind = Kind.CANDIDATES,
    known: Mapping[str, CriterionColumn] | None = None,
    on_progress: OnProgress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Checked:
    """Check every row and write the spool into `folder`.

    `known` are the project's criteria by key. Raises FileRefused, and whatever `on_progress` raises to cancel; both
    delete the spool.
    """
    given = options or Options()
    # The fingerprint below uses the given options: it must not depend on the project's scale.
    options = _with_known_scale(given, known or {})
    notes = Notes(limits)
    report = Report(file=shorten_name(name, 200), kind=kind.value, format="")
    with Spool(folder) as spool:
        with reading(path, name, options, limits, notes) as reader:
            report.format = reader.format
            plan = _plan(reader, options, kind)
            rows: CandidateRows | JudgmentRows
            if kind == Kind.CANDIDATES:
                # Both filters are in every report, so that 0 is visible too.
                report.removed = {"equal_to_reference": 0, "both_numbers": 0}
                rows = CandidateRows(plan, options, limits, notes, spool, report)
                rows.is_ragged = reader.is_ragged
            else:
                rows = JudgmentRows(plan, options, limits, notes, spool, report, known or {})
            _take_all(reader, rows, report, limits, on_progress)
            rows.finish()
        notes.refuse_if_any(name)
        report.warnings = notes.warnings
    checked = Checked(
        report=report,
        spool=spool,
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
    report["warnings"] = tuple(Warned(each["reason"], each["n"], tuple(each["lines"])) for each in report["warnings"])
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
def reading(path: Path, name: str, options: Options, limits: Limits, notes: Notes) -> Iterator[Reader]:
    """Open a reader, and turn whatever ends the reading into one refusal with all problems found before."""
    reader = None
    try:
        reader = open_reader(path, name, options, limits, notes)
        yield reader
    except Broken as error:
        # An error about a column may come from a wrong delimiter, which the reader can suggest.
        hint = getattr(reader, "hint", None)
        if hint is not None and error.problem.column:
            more, offers = hint()
            error = Broken(error.problem.reason + more, line=1, column=error.problem.column, offers=offers)
        notes.broken(error)
    except UnicodeDecodeError as error:
        notes.broken(bad_byte(path, reader.encoding if reader else error.encoding))
    except UnicodeError as error:
        notes.broken(Broken(f"the text cannot be read: {shorten_name(str(error))}"))
    finally:
        if reader is not None:
            reader.close()
    notes.refuse_if_any(name)


def _plan(reader: Reader, options: Options, kind: Kind) -> Plan:
    if kind == Kind.CANDIDATES:
        return plan_columns(reader.columns, options.mapping)
    reader.for_judgments()
    # In MOCHA's format `id` is the candidate's id, and `candidate` its text, not its id as in other files of judgments.
    judged = {"id": "candidate_id", "candidate": "ignore"} if reader.format == "mocha" else {}
    judged = {name: field for name, field in judged.items() if name in reader.columns}
    judged |= {each.column: "ignore" for each in options.criteria if each.column in reader.columns}
    return plan_columns(
        reader.columns, judged | dict(options.mapping), fields=JUDGMENT_FIELDS, synonyms=JUDGMENT_SYNONYMS
    )


def _take_all(
    reader: Reader, rows: CandidateRows | JudgmentRows, report: Report, limits: Limits, on_progress: OnProgress | None
) -> None:
    most, add, n = limits.rows, rows.add, 0
    for line, record in reader.records():
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
    """Return the options with the project's own scale for correctness, if it has one, for reading MOCHA's scores."""
    key = CORRECTNESS_COLUMN.key
    if not options.with_scores or key not in known or any(each.key == key for each in options.criteria):
        return options
    return Options.from_dict(options.as_dict() | {"criteria": (*options.criteria, known[key])})


def _criteria_used(rows: CandidateRows | JudgmentRows, options: Options) -> tuple[CriterionColumn, ...]:
    if isinstance(rows, JudgmentRows):
        return tuple(rows.used.values())
    return (options.correctness(),) if rows.report.judgments else ()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if type(value) is str else json.dumps(value, ensure_ascii=False, default=str)
    text = text if len(text) <= CELL_SHOWN else text[:CELL_SHOWN] + "…"
    return text.encode("utf-8", "backslashreplace").decode()
