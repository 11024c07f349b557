"""Reading a file of scores against the candidates of a project: its scores, and every row that is wrong."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from projects.importing import DEFAULT_LIMITS, FileRefused, Options, Problem, isolated
from projects.importing.check_report import Broken
from projects.jobs.running import OnProgress
from projects.language.names import shorten_name
from projects.models import Project
from results.score_import.matching import Candidates
from results.score_import.problems import KINDS, Problems
from results.score_import.rows import PREDICTION, ScoreRows, ScoresByMetric, is_selected_by_default

# Python writes a missing score into JSON as NaN: here that is no broken file.
LIMITS = replace(DEFAULT_LIMITS, takes_nan=True)
STEP = 1_000
NAME_LENGTH = 60
KB = 1024


@dataclass(frozen=True)
class Read:
    """The scores of a file by metric, and the report on the file."""

    candidates: Candidates
    columns: dict[str, ScoresByMetric]
    report: dict[str, Any]


def read_scores(
    *,
    project: Project,
    path: Path,
    name: str,
    options: Options,
    problems_path: Path | None,
    on_progress: OnProgress,
    kept_rows: Path | None = None,
) -> Read:
    """Match every row to its candidate.

    `kept_rows` are the file's rows if it was read before. Half of the progress is reading, half is matching. Raises
    FileRefused where the file as a whole cannot be read; a wrong row is only reported.
    """
    candidates = Candidates(project)
    with Problems(problems_path, LIMITS) as problems:
        kilobytes = max(1, path.stat().st_size // KB)
        with isolated.reading(
            path,
            name,
            options,
            LIMITS,
            problems,
            kept=kept_rows,
            on_progress=lambda done, _total: on_progress(done // KB // 2, kilobytes),
        ) as reader:
            rows = ScoreRows(
                candidates,
                problems,
                is_mocha=reader.format == "mocha",
                dataset=options.dataset,
                decimal=reader.find_decimal(options.decimal),
            )
            rows.name_columns(reader.columns, dict(options.mapping))
            for line, record in reader.records():
                rows.add(line, record)
                # Tested row by row, as a file does not say how many it has.
                if rows.n_rows > LIMITS.rows:
                    raise Broken(f"more than {LIMITS.rows:,} rows; split the file", line=line)
                if rows.n_rows % STEP == 0:
                    # Kilobytes, as a file does not say how many rows it has.
                    on_progress((kilobytes + min(reader.position() // KB, kilobytes)) // 2, kilobytes)
            rows.finish()
        _refuse_without_scores(name, rows)
    on_progress(kilobytes, kilobytes)
    report = {
        "format": reader.format,
        "encoding": reader.encoding.removesuffix("-sig"),
        "delimiter": reader.delimiter,
        "n_candidates": candidates.n,
        **_summarise(name, rows, problems),
    }
    return Read(candidates, rows.columns, report)


def _refuse_without_scores(name: str, rows: ScoreRows) -> None:
    if not rows.columns:
        listed = ", ".join(f"“{shorten_name(each, 30)}”" for each in rows.left_out[:10])
        reason = f"no column holds scores (found: {listed})" if listed else "the file holds IDs and no scores"
        if rows.other_decimal:
            reason = f"{reason}; {rows.other_decimal}"
        if not rows.n_rows:
            reason = "the file has a header but no rows"
        raise FileRefused(name, [Problem(None, "", reason)])


def _summarise(file_name: str, rows: ScoreRows, problems: Problems) -> dict[str, Any]:
    """Return what the report says of the rows and of what is wrong with them."""
    return {
        "file": shorten_name(file_name, 200),
        "id_column": rows.id_column,
        "dataset_column": rows.dataset_column,
        "unit": problems.unit,
        "n_rows": rows.n_rows,
        "n_matched": rows.n_matched,
        "columns": [_summarise_column(each, file_name) for each in rows.columns.values()],
        "left_out": rows.left_out,
        "counts": {kind: problems.counts[kind] for kind in KINDS},
        "problems": problems.listed,
        "warnings": [str(warned) for warned in problems.warnings],
    }


def _summarise_column(column: ScoresByMetric, file_name: str) -> dict[str, Any]:
    scores = column.values[np.isfinite(column.values)]
    has_any = len(scores) > 0
    return {
        "column": column.column,
        "name": _name_metric(column.column, file_name),
        "is_taken": has_any and is_selected_by_default(column.column),
        "n": len(scores),
        "n_not_numbers": len(column.not_numbers),
        "n_missing": len(column.missing),
        "low": float(scores.min()) if has_any else None,
        "mean": float(scores.mean()) if has_any else None,
        "high": float(scores.max()) if has_any else None,
    }


def _name_metric(column: str, file_name: str) -> str:
    """Return the name of a column's metric; MOCHA's predictions do not name it, so the file's name does."""
    name = PurePosixPath(file_name).stem if column == PREDICTION else column.removeprefix("metadata.")
    return " ".join(shorten_name(name, NAME_LENGTH).split()) or "scores"


def list_names(columns: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return the columns that are imported by default, each with the name of its metric."""
    return {each["column"]: each["name"] for each in columns if each["is_taken"]}
