"""Checking a file: the result is a report and a spool, or one refusal with all errors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from projects.importing.check_report import Broken, CheckReport, FileRefused, Notes, Problem, Warned
from projects.importing.import_options import CriterionColumn, Options, fingerprint
from projects.importing.judgments import JudgmentRows
from projects.importing.limits import DEFAULT_LIMITS, Limits
from projects.importing.opening import Kind, plan_file, reading
from projects.importing.readers import Reader
from projects.importing.rows import CandidateRows
from projects.importing.skipping import SkippedFile, SkippedRows
from projects.importing.spool import Spool
from projects.language.names import shorten_name

OnProgress = Callable[[int, int], None]
STEP = 1_000
"""Rows between two reports of the progress."""
SKIPPED_NAME = "skipped.csv"
"""The list of skipped rows, in the folder of the spool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A file without errors: its report, the spool with its rows, and the hash that identifies the import."""

    report: CheckReport
    spool: Spool
    kind: Kind
    name: str
    sha256: str
    n_bytes: int
    options: Options
    datasets: tuple[tuple[str, str], ...] = ()
    criteria: tuple[CriterionColumn, ...] = ()


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
) -> tuple[CheckReport, CandidateRows | JudgmentRows]:
    """Read the whole file without the skipped rows. Raises FileRefused."""
    notes = Notes(limits, skipped=skipped)
    report = CheckReport(file=shorten_name(name, 200), kind=kind.value, format="")
    with Spool(folder) as spool:
        with reading(path, name, options, limits, notes) as reader:
            report.format = reader.format
            plan = plan_file(reader, options, kind)
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
        report=CheckReport(**report),
        spool=spool,
        kind=Kind(manifest["kind"]),
        name=manifest["name"],
        sha256=manifest["sha256"],
        n_bytes=manifest["n_bytes"],
        options=Options.from_dict(manifest["options"]),
        datasets=tuple((name, kind) for name, kind in manifest["datasets"]),
        criteria=criteria,
    )


def _take_all(
    reader: Reader,
    rows: CandidateRows | JudgmentRows,
    report: CheckReport,
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
