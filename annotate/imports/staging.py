"""Copying spool files into temporary tables, in which SQL compares them with the project.

Their ids come from the sequences of the real tables, so a staged row already has the id it will be written with.
"""

from collections.abc import Callable
from typing import Any, BinaryIO

from projects.errors import Refused
from projects.importing import Checked, FileRefused, Problem, Spool
from projects.importing.limits import DEFAULT_LIMITS
from projects.importing.spool import TABLES

OnProgress = Callable[[int, int], None]

_ID = """id bigint DEFAULT nextval(pg_get_serial_sequence('{}', 'id')), is_known boolean DEFAULT false,
        dataset_id bigint, parent_id bigint"""
_COLUMNS: dict[str, str] = {
    "passages": f"""key integer, dataset integer, line integer, has_id boolean, is_given boolean, external_id text,
        title text, text text, split text, documents text, {_ID.format("projects_passage")}""",
    "splits": "passage integer, split text",
    "questions": f"""key integer, passage integer, line integer, has_id boolean, external_id text, text text, type text,
        span text, entities text[], {_ID.format("projects_question")}""",
    "references": "question integer, position integer, line integer, text text, opinion text",
    "candidates": f"""key integer, question integer, line integer, has_id boolean, rank integer, confidence float8,
        external_id text, text text, source text, opinion text, metadata text, {_ID.format("projects_candidate")}""",
    "pairs": """question integer, candidate_1 integer, candidate_2 integer, score_1 float8, score_2 float8,
        phenomenon text""",
    "scores": "candidate integer, line integer, value float8, slot integer, annotator text, criterion text",
    "judgments": """line integer, value float8, slot integer, judged_at timestamptz, dataset text, external_id text,
        annotator text, criterion text""",
}


class ByteProgress:
    """The progress of an import, in bytes over all files of a spool; an exception raised by `report` stops the COPY."""

    def __init__(self, spool: Spool, report: OnProgress | None) -> None:
        self._report = report
        self._done = 0
        sizes = [spool.file(table).stat().st_size for table in TABLES if spool.file(table).exists()]
        # Staging is counted as a third of the work; `at` reports the rest step by step.
        self._total = max(1, 3 * sum(sizes))

    def add(self, n_bytes: int) -> None:
        self._done = min(self._done + n_bytes, self._total)
        if self._report is not None:
            self._report(self._done, self._total)

    def at(self, share: float) -> None:
        self._done = max(self._done, int(self._total * share))
        self.add(0)


class _Watched:
    """A file that reports how much of it is read, and keeps the exception that stopped the reading."""

    def __init__(self, file: BinaryIO, progress: ByteProgress) -> None:
        self._file = file
        self._progress = progress
        self.error: BaseException | None = None

    def read(self, size: int) -> bytes:
        chunk = self._file.read(size)
        try:
            self._progress.add(len(chunk))
        except BaseException as error:
            self.error = error
            raise
        return chunk


def stage(cursor: Any, spool: Spool, tables: list[str], progress: ByteProgress) -> None:
    """Copy some of a spool's files into temporary tables named `staged_<table>`."""
    for table in tables:
        create(cursor, f"staged_{table}", _COLUMNS[table])
        if spool.is_empty(table):
            continue
        names = ", ".join(TABLES[table])
        with spool.file(table).open("rb") as file:
            watched = _Watched(file, progress)
            try:
                cursor.copy_expert(f"COPY staged_{table} ({names}) FROM STDIN", watched, size=1 << 16)
            except Exception as error:
                # The driver turns any exception from read() into an error of its own, so the original is raised again.
                if watched.error is not None:
                    raise watched.error from error
                raise
        cursor.execute(f"ANALYZE staged_{table}")


def create(cursor: Any, table: str, columns: str) -> None:
    """Create an empty temporary table, dropped at the end of the transaction."""
    # Two imports inside one transaction, as in a test, would otherwise meet each other's tables.
    cursor.execute(f"DROP TABLE IF EXISTS pg_temp.{table}")
    cursor.execute(f"CREATE TEMPORARY TABLE {table} ({columns}) ON COMMIT DROP")


def refuse_rows(
    cursor: Any,
    checked: Checked,
    column: str,
    query: str,
    parameters: list[Any] | None = None,
    *,
    all_rows: str = "",
) -> None:
    """Raise FileRefused if the query finds rows of (line, reason); the first hundred reasons are listed.

    `all_rows` finds every row that has to be skipped, if the query finds only the first of several.
    """
    cursor.execute(f"SELECT count(*) FROM ({query}) found", parameters or [])
    total = cursor.fetchone()[0]
    if not total:
        return
    cursor.execute(
        f"""SELECT min(line), reason, count(*), (array_agg(line ORDER BY line))[1:{DEFAULT_LIMITS.lines_shown}]
            FROM ({query}) found GROUP BY reason ORDER BY 1, 2 LIMIT {DEFAULT_LIMITS.problems_shown}""",
        parameters or [],
    )
    problems = [
        Problem(line, column, reason, n, tuple(lines), checked.report.unit)
        for line, reason, n, lines in cursor.fetchall()
    ]
    most = DEFAULT_LIMITS.rows_skipped
    cursor.execute(
        f"SELECT line, min(reason) FROM ({all_rows or query}) found GROUP BY line ORDER BY 1 LIMIT {most + 1}",
        parameters or [],
    )
    rows = {line: (column, reason) for line, reason in cursor.fetchall()}
    raise FileRefused(checked.name, problems, total, rows=rows if len(rows) <= most else None)


def count(cursor: Any, query: str, parameters: list[Any] | None = None) -> int:
    cursor.execute(f"SELECT count(*) FROM {query}", parameters or [])
    return int(cursor.fetchone()[0])


class AlreadyImported(Refused):
    """An import of the project has written this file with these options, or is about to."""

    def __init__(self, number: int) -> None:
        super().__init__(f"This file was already imported as #{number}.")
        self.number = number
