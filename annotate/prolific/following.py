"""Places on Prolific follow the open places here: they rise with them, and the study pauses while there are none."""

from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus

from django.db import connection
from django.db.models import Count, Q
from django.utils import timezone

from annotate.models import Outcome, Panel, PanelSession, ProlificStudy, ProlificSubmission
from annotate.models.conditions import can_be_taken, is_collected, is_work
from annotate.panels import participant_work
from annotate.prolific.calling import Client, PlatformError, require_number, require_text

Status = ProlificStudy.Status
Submission = ProlificSubmission.Status

OCCUPYING = (
    *(Submission.RESERVED, Submission.ACTIVE, Submission.AWAITING_REVIEW),
    *(Submission.APPROVED, Submission.PARTIALLY_APPROVED),
)
"""Statuses of submissions that take a place of their study on the platform."""
RETURN_REASONS = {
    Outcome.NO_CONSENT: "No consent",
    Outcome.NOTHING_LEFT: "No place was left",
    Outcome.SCREENED_OUT: "Screened out",
}
"""Outcomes whose code asks participants to return their submission, which then takes no place, with the reason."""
RETURNS_WITHIN = timedelta(minutes=10)
"""Who has not returned a submission by then may not do so before their time is over; others get the place."""
_PUBLISHED = (Status.ACTIVE, Status.PAUSED, Status.AWAITING_REVIEW)

# One person takes a place of a HIT once, so that a HIT with many open places needs as many people.
_OPEN_PLACES = f"""
SELECT coalesce(sum(h.places_open), 0), coalesce(max(h.places_open), 0)
FROM annotate_hit h JOIN annotate_batch b ON b.id = h.batch_id
WHERE b.project_id = %s AND b.state = 'open' AND NOT b.has_named_annotators AND {is_collected("b")}
  AND {is_work("h")} AND h.reserved_for_id IS NULL AND h.places_open > 0 AND {can_be_taken("h")}
"""


def count_sessions(panel: Panel) -> int:
    """Return how many sessions the open places of a project are enough for; a last one may be smaller."""
    with connection.cursor() as cursor:
        cursor.execute(_OPEN_PLACES, [panel.project_id])
        n_places, n_people = cursor.fetchone()
    return max(-(-int(n_places) // _hits_per_session(panel)), int(n_people))


@dataclass(frozen=True)
class OpenSessions:
    """Sessions of a panel that the open places of its project are enough for."""

    n_in_all: int
    n_offered: int
    """Those that earlier studies offer; more than there are, where places have closed since."""

    @property
    def n_left(self) -> int:
        return max(0, self.n_in_all - self.n_offered)

    @property
    def is_all_offered(self) -> bool:
        return self.n_in_all > 0 and not self.n_left


@dataclass(frozen=True)
class StudyPlan:
    """What the platform should have: places in all, and whether new participants may come."""

    total: int
    is_open: bool
    here: OpenSessions
    """Those that are left are besides those of people who come from earlier studies."""
    n_beyond: int
    """Sessions that are wanted, and more than the study's limit allows."""


def count_open_sessions(panel: Panel, study: ProlificStudy | None) -> OpenSessions:
    """Return what earlier studies leave to the study of a panel, or to the one that would be drafted now."""
    return OpenSessions(count_sessions(panel), _count_offered_before(panel, study))


def plan_places(study: ProlificStudy) -> StudyPlan:
    """Return what the platform should have.

    Whoever has arrived has places of their own. Whoever has taken a place there and has yet to arrive will take open
    ones, as will new participants. Whoever was screened out here has given their places back, and will give back the
    one there, which a new participant then takes. Places never fall, so a study that has too many pauses.
    """
    occupying = study.submissions.filter(status__in=OCCUPYING)
    found = occupying.aggregate(
        n=Count("pk"), n_coming=Count("pk", filter=_is_coming()), n_leaving=Count("pk", filter=_is_leaving())
    )
    n_occupying, here = found["n"], count_open_sessions(study.panel, study)
    n_new = max(0, here.n_left - found["n_coming"])
    if study.panel.ended_at is not None:
        n_new = 0
    wanted = n_occupying + max(0, n_new - found["n_leaving"])
    total = max(study.total_places, min(wanted, study.most_places))
    is_open = n_new > 0 and total > n_occupying
    return StudyPlan(total, is_open=is_open, here=here, n_beyond=max(0, wanted - total))


def _is_coming(path: str = "") -> Q:
    """Return the condition of submissions with a place on the platform whose participants have yet to arrive."""
    names = (Submission.RESERVED, Submission.ACTIVE)
    return Q(**{f"{path}session": None, f"{path}status__in": names})


def _is_leaving() -> Q:
    """Return the condition of submissions that their participants are asked to return, and have yet to."""
    return Q(
        status__in=(Submission.RESERVED, Submission.ACTIVE),
        session__state=PanelSession.State.SCREENED_OUT,
        session__outcome__in=RETURN_REASONS,
        session__ended_at__gt=timezone.now() - RETURNS_WITHIN,
    )


def _count_offered_before(panel: Panel, study: ProlificStudy | None) -> int:
    """Return how many sessions people have yet to begin whom earlier studies of the project brought, or still invite.

    Without a study, all that there are come before it.

    Studies share the open places. Of two, the one that was drafted first has them, and the other one what is left.
    A panel that has ended lets nobody in, even if its study could not be paused, as one that is gone from the platform.
    """
    taken = Q(submissions__status__in=OCCUPYING)
    earlier = ProlificStudy.objects.filter(panel__project=panel.project_id, panel__ended_at=None, status=Status.ACTIVE)
    if study is not None:
        earlier = earlier.filter(pk__lt=study.pk)
    offers = earlier.select_related("panel").annotate(
        n_taken=Count("submissions", filter=taken), n_coming=Count("submissions", filter=_is_coming("submissions__"))
    )
    n_hits = sum((max(0, o.total_places - o.n_taken) + o.n_coming) * _hits_per_session(o.panel) for o in offers)
    return -(-n_hits // _hits_per_session(panel)) if n_hits else 0


def follow_places(study: ProlificStudy, client: Client) -> None:
    """Raise the places of a published study, pause it while none is left, start it again if it was paused for that.

    Asks the platform only if something is to change. A study that a person paused stays so.
    """
    if study.status not in _PUBLISHED:
        return
    plan = plan_places(study)
    path = f"/api/v1/studies/{study.external_id}/"
    if plan.total > study.total_places and plan.is_open:
        _store(study, client.patch(path, {"total_available_places": plan.total}))
    if study.status == Status.ACTIVE and not plan.is_open and _has_free_places(study):
        study.is_paused_here = True
        _transition(study, client, "PAUSE")
    elif study.status == Status.PAUSED and plan.is_open and study.is_paused_here:
        _transition(study, client, "START")


def _transition(study: ProlificStudy, client: Client, action: str) -> None:
    """Pause or start a study. Where the platform has moved it meanwhile, that it refuses is no failure."""
    path = f"/api/v1/studies/{study.external_id}/"
    before = study.status
    try:
        _store(study, client.post(f"{path}transition/", {"action": action}))
    except PlatformError as error:
        if error.status != HTTPStatus.BAD_REQUEST:
            raise
        _store(study, client.get(path))
        if study.status == before:
            raise


def _has_free_places(study: ProlificStudy) -> bool:
    return study.total_places > study.submissions.filter(status__in=OCCUPYING).count()


def _hits_per_session(panel: Panel) -> int:
    """Return the HITs of a session; where minutes are set, as many as finished sessions had on average, at least 1."""
    if panel.hits_per_session:
        return panel.hits_per_session
    finished = PanelSession.objects.filter(panel=panel, outcome="completed").order_by("-pk")
    participants = list(finished.values_list("participant_id", flat=True)[:50])
    n_done = sum(participant_work.count_done_of_each(participants).values())
    return max(1, round(n_done / len(participants))) if participants else 1


def _store(study: ProlificStudy, answer: dict[str, object]) -> None:
    study.status = require_text(answer, "status")[:20]
    study.total_places = int(require_number(answer, "total_available_places"))
    study.is_paused_here = study.is_paused_here and study.status == Status.PAUSED
    study.save(update_fields=["status", "total_places", "is_paused_here"])
