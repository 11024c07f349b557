"""What people were told is stored, counted against the database: submissions, their values, drafts and imports."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg2

from benchmarks import acknowledged
from benchmarks.chaos.people import ROWS, Manager, Worker


@dataclass(frozen=True)
class Result:
    """What is wrong in the database at the end; all numbers are zero on a site that keeps what it acknowledges."""

    submissions: acknowledged.Counts
    n_other_values: int
    """Ratings that are stored with another value than the one acknowledged, or not at all."""
    n_lost_drafts: int
    """Ratings of open HITs that were acknowledged as saved and are not in the draft."""
    n_broken_imports: int
    """Imports of which more or fewer rows are stored than the file has, or none although they were done."""

    def __bool__(self) -> bool:
        return bool(self.submissions or self.n_other_values or self.n_lost_drafts or self.n_broken_imports)

    def __str__(self) -> str:
        return (
            f"submissions {self.submissions}; ratings with another value {self.n_other_values}; "
            f"ratings lost from drafts {self.n_lost_drafts}; imports not whole {self.n_broken_imports}"
        )


def count(url: str, people: list[Worker], manager: Manager) -> Result:
    with _cursor(url) as cursor:
        return Result(
            acknowledged.count(url, [uuid for worker in people for uuid in worker.told]),
            sum(_count_other_values(cursor, worker) for worker in people),
            sum(_count_lost_drafts(cursor, worker) for worker in people),
            _count_broken_imports(cursor, set(manager.imported)),
        )


@contextmanager
def _cursor(url: str) -> Iterator[Any]:
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        yield cursor
    connection.close()


def _count_other_values(cursor: Any, worker: Worker) -> int:
    cursor.execute(
        """SELECT a.uuid::text, array_position(a.layout, j.item_id) - 1, j.value
           FROM annotate_judgment j JOIN annotate_assignment a ON a.id = j.assignment_id
           WHERE a.uuid = ANY(%s::uuid[])""",
        [list(worker.told)],
    )
    stored = {(uuid, position): value for uuid, position, value in cursor.fetchall()}
    told = {(uuid, position): value for uuid, values in worker.told.items() for position, value in values.items()}
    return sum(stored.get(key) != value for key, value in told.items())


def _count_lost_drafts(cursor: Any, worker: Worker) -> int:
    cursor.execute(
        """SELECT a.uuid::text, d.answers FROM annotate_assignment a
           LEFT JOIN annotate_draft d ON d.assignment_id = a.id
           WHERE a.uuid = ANY(%s::uuid[]) AND a.state IN ('open', 'expired')""",
        [list(worker.drafts)],
    )
    n_lost = 0
    for uuid, draft in cursor.fetchall():
        answers = (draft or {}).get("answers", {})
        for position, value in worker.drafts[uuid].items():
            n_lost += answers.get(str(position), {}).get("correctness", [None])[0] != value
    return n_lost


def _count_broken_imports(cursor: Any, done: set[str]) -> int:
    cursor.execute(
        """SELECT substring(q.text FROM '^Why (i[0-9]+x)') AS prefix, count(*)
           FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
           WHERE q.text LIKE 'Why i%' GROUP BY 1"""
    )
    stored: dict[str, int] = dict(cursor.fetchall())
    return sum(n != ROWS for n in stored.values()) + len(done - stored.keys())
