"""The queues of Review: how much work waits for a manager in each."""

from dataclasses import dataclass

from django.db import connection

from annotate.models.batch import find_batch_ids
from annotate.models.conditions import is_collected
from projects.models import Project

MOST_COUNTED = 1000
"""A longer queue is counted no further: the count is on every page of a manager, and “999+” says enough."""


@dataclass(frozen=True)
class Waiting:
    """The length of each queue. Disagreements are not in it: each is a task only if someone wants it adjudicated."""

    submissions: int = 0
    alerts: int = 0
    remarks: int = 0
    spot_checks: int = 0

    @property
    def total(self) -> int:
        return self.submissions + self.alerts + self.remarks + self.spot_checks


def count_waiting(project: Project) -> Waiting:
    """Return the submissions to decide on, open alerts, unresolved comments & flags, and spot checks to do."""
    batches = find_batch_ids(project)
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, {"project": project.pk, "batches": batches, "most": MOST_COUNTED})
        return Waiting(*cursor.fetchone())


_IN_PROJECT = "JOIN annotate_hit h ON h.id = a.hit_id AND h.batch_id = ANY(%(batches)s)"

# One statement for four queues. Imported judgments are nobody's work here, so they wait for no decision.
_WAITING = f"""
SELECT
    (SELECT count(*) FROM (
        SELECT FROM annotate_assignment a {_IN_PROJECT} JOIN annotate_batch b ON b.id = h.batch_id
        WHERE a.state = 'submitted' AND {is_collected("b")} LIMIT %(most)s) waiting),
    (SELECT count(*) FROM (
        SELECT FROM annotate_finding f JOIN projects_membership m ON m.id = f.annotator_id
        WHERE m.project_id = %(project)s AND f.state = 'open' LIMIT %(most)s) waiting),
    (SELECT count(*) FROM (
        SELECT FROM annotate_remark r JOIN annotate_assignment a ON a.id = r.assignment_id {_IN_PROJECT}
        WHERE r.resolved_at IS NULL LIMIT %(most)s) waiting),
    (SELECT count(*) FROM (
        SELECT FROM annotate_review v
        JOIN annotate_assignment a ON a.id = v.assignment_id
        JOIN projects_membership m ON m.id = a.annotator_id
        WHERE m.project_id = %(project)s AND v.state <> 'done' LIMIT %(most)s) waiting)
"""
