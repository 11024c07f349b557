"""The HITs of a participant's set: which, how many were given and submitted, and whether the set is complete."""

from collections.abc import Iterable

from django.db import connection
from django.db.models.expressions import RawSQL

from annotate.models import Assignment, PanelParticipant, PanelSession, Reservation
from annotate.models.assignment import AssignmentQuerySet
from annotate.models.conditions import is_begun_for, is_let_in, is_submitted, seconds_spent
from projects.models import Membership

_WORK = f"""
SELECT a.id FROM annotate_panelparticipant p JOIN annotate_assignment a ON {is_begun_for("a", "p")} WHERE p.id = %s
"""
_SPENT = f"""
SELECT coalesce(sum({seconds_spent("a")}), 0)
FROM annotate_panelparticipant p JOIN annotate_assignment a ON {is_begun_for("a", "p")} AND {is_submitted("a")}
WHERE p.id = %s
"""
_DONE = f"""
SELECT p.id, count(*)
FROM annotate_panelparticipant p JOIN annotate_assignment a ON {is_begun_for("a", "p")} AND {is_submitted("a")}
WHERE p.id = ANY(%s) GROUP BY p.id
"""
# A HIT is of the session in which it was submitted: the newest that had been let in by then.
_DONE_IN_SESSIONS = f"""
SELECT its.id, count(*)
FROM annotate_panelparticipant p JOIN annotate_assignment a ON {is_begun_for("a", "p")} AND {is_submitted("a")}
CROSS JOIN LATERAL (
    SELECT s.id FROM annotate_panelsession s
    WHERE s.participant_id = p.id AND {is_let_in("s")} AND s.arrived_at <= a.submitted_at
    ORDER BY s.id DESC LIMIT 1) its
WHERE p.id = ANY(%s) GROUP BY its.id
"""


def is_complete(session: PanelSession) -> bool:
    """Return whether the participant has submitted their one set of this panel, in however many sessions."""
    if minutes := session.panel.minutes_per_session:
        with connection.cursor() as cursor:
            cursor.execute(_SPENT, [session.participant_id])
            return bool(cursor.fetchone()[0] >= minutes * 60)
    due = session.participant.n_hits_due
    return 0 < due <= count_done(session.participant)


def find_work(participant: PanelParticipant) -> AssignmentQuerySet:
    """Return the HITs that a participant began for this panel: since they joined it, and before they joined another."""
    return Assignment.objects.filter(pk__in=RawSQL(_WORK, [participant.pk]))  # noqa: S611 - constant text, value bound


def count_done(participant: PanelParticipant) -> int:
    """Return the HITs of a participant's set that they have submitted."""
    return find_work(participant).submitted().count()


def count_done_of_each(participants: Iterable[int]) -> dict[int, int]:
    """Return the same for many, by their ids; who has submitted none is not there."""
    with connection.cursor() as cursor:
        cursor.execute(_DONE, [list(participants)])
        return dict(cursor.fetchall())


def count_done_in_sessions(participants: Iterable[int]) -> dict[int, int]:
    """Return the submitted HITs of each session of these participants by its id; one without any is not there."""
    with connection.cursor() as cursor:
        cursor.execute(_DONE_IN_SESSIONS, [list(participants)])
        return dict(cursor.fetchall())


def count_submitted(annotator: Membership) -> int:
    return Assignment.objects.submitted().filter(annotator=annotator).count()


def count_hits(annotator: Membership) -> int:
    """Return the HITs that a participant has submitted, for any panel, has open, and has places for.

    One whose time ran out is among them while its place is still open: submitting it late counts.
    """
    n_open = Assignment.objects.open().filter(annotator=annotator).count()
    n_late = Assignment.objects.expired().filter(annotator=annotator, hit__places_open__gt=0).count()
    return count_submitted(annotator) + n_open + n_late + Reservation.objects.filter(annotator=annotator).count()


def count_asked(participant: PanelParticipant) -> int:
    """Return the HITs of a participant's set that they were given, except those that the project took away.

    A HIT whose time ran out is asked of them also when its place is gone: it can still be submitted. One that they
    returned stays asked, so that another has to replace it.
    """
    begun = find_work(participant).exclude(state=Assignment.State.WITHDRAWN)
    return begun.count() + Reservation.objects.filter(annotator=participant.membership_id).count()
