"""The parts that the exports are made of: candidates with their texts, and assignments with their times, as SQL.

Both are computed once per candidate and once per assignment, not once per judgment: formatting and guarding a million
rows would take longer than reading them.
"""

from collections.abc import Mapping

from results.exporting.guard import guarded

Columns = Mapping[str, str]
"""What a column is called in the file, and the SQL that makes it."""

TIME = 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'

_REFERENCES = (
    """(SELECT json_agg(r.text ORDER BY r.position)::text FROM projects_reference r WHERE r.question_id = q.id)"""
)

IDS: Columns = {
    "dataset": guarded("d.name"),
    "split": guarded("p.split"),
    "passage_id": guarded("p.external_id"),
    "question_id": guarded("q.external_id"),
    "candidate_id": guarded("c.external_id"),
    "source": guarded("c.source"),
}
TEXTS: Columns = {
    "passage": guarded("p.text"),
    "documents": "p.documents::text",
    "question": guarded("q.text"),
    "references": _REFERENCES,
    "candidate": guarded("c.text"),
}


def utc(expression: str) -> str:
    """SQL that writes a time in UTC as ISO 8601."""
    return f"to_char({expression} AT TIME ZONE 'UTC', '{TIME}')"


def yes_no(expression: str) -> str:
    return f"CASE WHEN {expression} THEN 'yes' ELSE 'no' END"


def listed(columns: Columns) -> str:
    return ", ".join(f'{sql} AS "{name}"' for name, sql in columns.items())


def named(columns: Columns, table: str) -> str:
    return ", ".join(f'{table}."{name}"' for name in columns)


def candidates(columns: Columns, *, where: str = "") -> str:
    """Candidates of the project, numbered in the order of the file: by dataset and id, byte by byte."""
    return f"""
    SELECT c.id, {listed(columns)},
           row_number() OVER (ORDER BY d.name COLLATE "C", c.external_id COLLATE "C") AS place
    FROM projects_candidate c
    JOIN projects_question q ON q.id = c.question_id
    JOIN projects_passage p ON p.id = q.passage_id
    JOIN projects_dataset d ON d.id = c.dataset_id
    WHERE d.project_id = %(project)s {where}"""


def criteria() -> str:
    """The criteria of the project, or those of one key."""
    return """
    SELECT cr.id, cr.key, cr.is_reversed, cr.low, cr.high
    FROM projects_criterion cr JOIN projects_rubric r ON r.id = cr.rubric_id
    WHERE r.project_id = %(project)s AND (%(criterion)s = '' OR cr.key = %(criterion)s)"""


def in_batches(alias: str) -> str:
    return f"(cardinality(%(batches)s::bigint[]) = 0 OR {alias}.id = ANY (%(batches)s))"
