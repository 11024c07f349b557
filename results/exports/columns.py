"""What every export is built from: candidates with their texts, and assignments with their times, as SQL.

Both are computed once per candidate and once per assignment, not once per judgment: formatting and guarding a million
rows would take longer than reading them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from annotate.models.conditions import is_turned
from projects.database.csv import guard_sql

Columns = Mapping[str, str]
"""Name in the file and SQL of each column."""
TIME = 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'


def write_yes_no(expression: str) -> str:
    return f"CASE WHEN {expression} THEN 'yes' ELSE 'no' END"


@dataclass(frozen=True, kw_only=True)
class Writing:
    """How a file format writes text from outside, JSON and booleans: functions from SQL to SQL. Numbers stay."""

    text: Callable[[str], str]
    json: Callable[[str], str]
    truth: Callable[[str], str]


AS_CSV = Writing(text=guard_sql, json="({})::text".format, truth=write_yes_no)
AS_JSON = Writing(text=str, json="({})".format, truth="({})".format)
"""The text exactly as stored: no spreadsheet opens JSON, so there is nothing to guard against."""


def id_columns(writing: Writing) -> Columns:
    return {
        "dataset": writing.text("d.name"),
        "split": writing.text("p.split"),
        "passage_id": writing.text("p.external_id"),
        "question_id": writing.text("q.external_id"),
        "candidate_id": writing.text("c.external_id"),
        "source": writing.text("c.source"),
    }


def text_columns(writing: Writing) -> Columns:
    """Return the columns of texts, and of what else their file held."""
    return {
        "passage": writing.text("p.text"),
        "title": writing.text("p.title"),
        "documents": writing.json("p.documents"),
        "question": writing.text("q.text"),
        "question_type": "q.type",
        "entities": writing.json("CASE WHEN cardinality(q.entities) > 0 THEN to_json(q.entities) END"),
        "span": writing.text("q.span"),
        "references": writing.json(
            "SELECT json_agg(r.text ORDER BY r.position) FROM projects_reference r WHERE r.question_id = q.id"
        ),
        "candidate": writing.text("c.text"),
        "opinion": writing.text("c.opinion"),
        "rank": "c.rank",
        "confidence": "c.confidence",
        "metadata": writing.json("nullif(c.metadata, '{}')"),
    }


def write_utc(expression: str) -> str:
    """Return SQL that writes a time in UTC as ISO 8601."""
    return f"to_char({expression} AT TIME ZONE 'UTC', '{TIME}')"


def select_columns(columns: Columns) -> str:
    return ", ".join(f'{sql} AS "{name}"' for name, sql in columns.items())


def name_columns(columns: Columns, table: str) -> str:
    return ", ".join(f'{table}."{name}"' for name in columns)


def select_candidate_rows(columns: Columns, *, where: str = "") -> str:
    """Return SQL of the project's candidates, numbered in the order of the file: by dataset and id, byte by byte."""
    # The collation "C" sorts alike on every server, whatever its locale. Later sorts use the number, as comparing texts
    # of a million rows takes longer.
    return f"""
    SELECT c.id, {select_columns(columns)},
           row_number() OVER (ORDER BY d.name COLLATE "C", c.external_id COLLATE "C") AS position
    FROM projects_candidate c
    JOIN projects_question q ON q.id = c.question_id
    JOIN projects_passage p ON p.id = q.passage_id
    JOIN projects_dataset d ON d.id = c.dataset_id
    WHERE d.project_id = %(project)s {where}"""


def select_criteria() -> str:
    """Return SQL of the project's criteria, or of those of one key.

    What has no order are categories, as `measures.rubric.has_order` says: a nominal criterion of three or more points.
    """
    return f"""
    SELECT cr.id, cr.key, cr.is_reversed, {is_turned("cr")} AS is_turned, cr.kind AS scale_kind, cr.low, cr.high,
           cr.key <> ALL (%(nominal)s::text[]) OR cr.high - cr.low < 2 AS has_order
    FROM projects_criterion cr JOIN projects_rubric r ON r.id = cr.rubric_id
    WHERE r.project_id = %(project)s AND (%(criterion)s = '' OR cr.key = %(criterion)s)"""


def in_batches(alias: str) -> str:
    return (
        f"(cardinality(%(batches)s::bigint[]) = 0 OR {alias}.id = ANY (%(batches)s)) "
        f"AND {alias}.id <> ALL (%(left_out)s::bigint[])"
    )
