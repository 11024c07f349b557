"""What clients were told is stored, counted against the database."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import psycopg2


@dataclass(frozen=True)
class Counts:
    """Numbers that are all zero on a site that keeps what it acknowledges."""

    lost: int
    """Acknowledged submissions that are not stored."""
    doubled: int
    """Submissions acknowledged to two people, and judgments that are stored more than once."""
    over_counted: int
    """HITs with more counted submissions than places, and candidates that an annotator's judgments count for twice."""

    def __str__(self) -> str:
        return f"{self.lost} lost, {self.doubled} doubled, {self.over_counted} over-counted"

    def __bool__(self) -> bool:
        return bool(self.lost or self.doubled or self.over_counted)


def count(database_url: str, acknowledged: Iterable[str]) -> Counts:
    """Compare the uuids of acknowledged submissions, each once for every annotator who was told so, with the rows."""
    times = Counter(acknowledged)
    connection = psycopg2.connect(database_url)
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT uuid::text FROM annotate_assignment WHERE state IN ('submitted', 'approved')")
        stored = {row[0] for row in cursor.fetchall()}

        def read(statement: str) -> int:
            cursor.execute(statement)
            return int((cursor.fetchone() or (0,))[0])

        n_twice = read(
            "SELECT count(*) - count(DISTINCT (assignment_id, item_id, criterion_id)) FROM annotate_judgment"
        )
        n_full = read(
            """SELECT count(*) FROM annotate_hit h
               WHERE h.places_wanted < (SELECT count(*) FROM annotate_assignment a WHERE a.hit_id = h.id
                                        AND a.mark = 'counted' AND a.state IN ('submitted', 'approved'))"""
        )
        n_again = read(
            """SELECT count(*) FROM (
                   SELECT 1 FROM annotate_judgment j JOIN annotate_assignment a ON a.id = j.assignment_id
                   WHERE a.mark = 'counted' AND a.state IN ('submitted', 'approved')
                   GROUP BY j.annotator_id, j.candidate_id, j.criterion_id HAVING count(*) > 1) twice"""
        )
    connection.close()
    return Counts(
        lost=len(times.keys() - stored),
        doubled=n_twice + sum(n - 1 for n in times.values()),
        over_counted=n_full + n_again,
    )
