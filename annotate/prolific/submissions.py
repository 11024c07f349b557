"""Submissions: what the platform says of them, in messages and lists, and what people decide about them."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from http import HTTPStatus

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotate.models import Outcome, PanelSession, ProlificStudy, ProlificSubmission
from annotate.panels import sessions
from annotate.prolific import accounts
from annotate.prolific.calling import Client, PlatformError, require_text
from projects import log
from projects.access import lock_actor
from projects.errors import Refused
from projects.language.characters import remove_forbidden
from projects.models import Act, Membership

Status = ProlificSubmission.Status
State = PanelSession.State

MOST_APPROVALS = 1_000
"""As many as one call to Prolific takes."""
APPROVE_AGAIN = timedelta(minutes=10)
"""Approvals are carried out by the platform some time later; after this they are asked for again."""
MOST_CODES = 50
"""Submissions asked about one by one in a round; the list has them all."""
LEAST_MESSAGE, MOST_MESSAGE = 100, 2_000
"""Characters of what a participant is told about a rejection; the least is a rule of Prolific."""
NO_CODE = "NOCODE"
"""What the platform notes for participants who enter none."""
CATEGORIES = {
    "TOO_QUICKLY": "Exceptionally fast",
    "TOO_SLOWLY": "Exceptionally slow",
    "FAILED_INSTRUCTIONS": "Instructions not followed",
    "INCOMP_LONGITUDINAL": "Parts of a study in several parts missing",
    "FAILED_CHECK": "Attention checks failed",
    "LOW_EFFORT": "Low effort",
    "MALINGERING": "False answers about themselves",
    "NO_CODE": "No code, and not finished",
    "BAD_CODE": "Wrong code, and not finished",
    "NO_DATA": "No data",
    "UNSUPP_DEVICE": "Device not supported",
    "OTHER": "Other",
}
STATES = {
    Status.TIMED_OUT: State.TIMED_OUT,
    Status.AWAITING_REVIEW: State.SUBMITTED,
    Status.APPROVED: State.APPROVED,
    Status.PARTIALLY_APPROVED: State.APPROVED,
    Status.RETURNED: State.RETURNED,
    Status.REJECTED: State.REJECTED,
    Status.SCREENED_OUT: State.SCREENED_OUT,
}
"""The state of a session by what the platform says; a place reserved there, or work begun, is no news."""
RANKS: list[str] = [
    *(Status.RESERVED, Status.ACTIVE, Status.TIMED_OUT, Status.AWAITING_REVIEW, Status.RETURNED),
    *(Status.SCREENED_OUT, Status.REJECTED, Status.PARTIALLY_APPROVED, Status.APPROVED),
]
"""From first to last."""
_ID = re.compile(r"[0-9a-f]{24}")

_LINK = """
UPDATE annotate_prolificsubmission s SET session_id = p.id
FROM annotate_panelsession p
WHERE s.study_id = %s AND s.session_id IS NULL AND p.panel_id = %s AND p.external_id = s.external_id
RETURNING s.id
"""


def read_all(study: ProlificStudy, client: Client) -> int:
    """Store the platform's list of submissions, and return how many sessions that moved.

    Each is as of the platform's own time of its page, so that an older message, though it comes later, is none.
    """
    n = 0
    path = f"/api/v1/studies/{study.external_id}/submissions/"
    for row in client.list_all(path, {"page_size": 100}):
        at = client.answered_at or timezone.now()
        code = row.get("entered_code") or row.get("study_code") or ""
        n += tell(study, require_text(row, "id"), require_text(row, "status"), at=at, code=str(code))
    return n


def tell(study: ProlificStudy, external_id: str, status: str, *, at: datetime, code: str | None = None) -> bool:
    """Store what the platform says of a submission, and return whether its session moved.

    What is older than the newest that was told changes nothing, and neither does what is told twice.
    """
    if _ID.fullmatch(external_id) is None:
        return False
    # Words of the platform in capitals; messages and lists differ in how they write a space.
    status = remove_forbidden(status).upper().replace("_", " ").replace("TIMED OUT", "TIMED-OUT")[:20]
    with transaction.atomic():
        session = PanelSession.objects.filter(panel=study.panel_id, external_id=external_id).first()
        defaults = {"status": status, "told_at": at, "session": session}
        row, is_new = ProlificSubmission.objects.select_for_update(no_key=True, of=("self",)).get_or_create(
            study=study, external_id=external_id, defaults=defaults
        )
        if not is_new and (at, _rank(status)) < (row.told_at, _rank(row.status)):
            return False
        row.status, row.told_at = status, at
        row.session_id = row.session_id or (session.pk if session else None)
        if code is not None:
            is_over = row.status not in (Status.RESERVED, Status.ACTIVE)
            row.entered_code = remove_forbidden(code)[:60] or (NO_CODE if is_over else "")
        row.save(update_fields=["status", "told_at", "session", "entered_code"])
    return _move(row)


def _rank(status: str) -> int:
    """Return how far a status is: the platform's messages have whole seconds, and come in any order."""
    return RANKS.index(status) if status in RANKS else 0


def read_codes(study: ProlificStudy, client: Client) -> int:
    """Ask for the codes of submissions that only a message has told of, which names none; return of how many."""
    unknown = study.submissions.filter(status=Status.AWAITING_REVIEW, entered_code="").order_by("pk")[:MOST_CODES]
    for row in unknown:
        answer = client.get(f"/api/v1/submissions/{row.external_id}/")
        at, code = client.answered_at or timezone.now(), str(answer.get("entered_code") or "")
        tell(study, row.external_id, require_text(answer, "status"), at=at, code=code)
    return len(unknown)


def link_sessions(study: ProlificStudy) -> int:
    """Join submissions with the sessions that arrived after they were told of; return how many sessions moved."""
    with connection.cursor() as cursor:
        cursor.execute(_LINK, [study.pk, study.panel_id])
        found = [row[0] for row in cursor.fetchall()]
    return sum(_move(row) for row in ProlificSubmission.objects.filter(pk__in=found))


def _move(row: ProlificSubmission) -> bool:
    """Move the session of a submission. One that can't become what the platform says stays, and is reported."""
    if row.session_id is None or row.status not in STATES:
        return False
    session = PanelSession.objects.select_related("panel", "participant__membership__project").get(pk=row.session_id)
    try:
        return sessions.record(session, STATES[Status(row.status)], at=row.told_at)
    except Refused:
        return False


def list_differing(study: ProlificStudy) -> QuerySet[ProlificSubmission]:
    """Return the submissions whose session is not in the state that the platform says."""
    same = Q()
    for status, state in STATES.items():
        same |= Q(status=status, session__state=state)
    decided = ProlificSubmission.objects.filter(study=study, status__in=STATES, session__isnull=False)
    return decided.exclude(same).select_related("session__participant__membership").order_by("pk")


def is_sent_again() -> Exists:
    """Return the condition that a submission repeats another, an earlier or an approved one for the same HITs.

    A participant who opens a panel again is shown the same code without new work, so that only one payment is due.
    """
    same = ProlificSubmission.objects.filter(
        session__participant=OuterRef("session__participant"), session__outcome=Outcome.COMPLETED
    ).exclude(pk=OuterRef("pk"))
    is_approved = Q(status__in=(Status.APPROVED, Status.PARTIALLY_APPROVED))
    is_before = Q(status=Status.AWAITING_REVIEW, pk__lt=OuterRef("pk"))
    return Exists(same.filter(is_approved | is_before))


def is_rejected_work() -> Exists:
    """Return the condition that another submission for the same HITs was rejected: approved, this one pays for them."""
    same = ProlificSubmission.objects.filter(
        session__participant=OuterRef("session__participant"), session__outcome=Outcome.COMPLETED
    )
    return Exists(same.filter(status=Status.REJECTED).exclude(pk=OuterRef("pk")))


def want_approval(*, study: ProlificStudy, actor: Membership, chosen: QuerySet[ProlificSubmission]) -> int:
    """Note that submissions are to be approved, which the next round does; return how many.

    Approved at once, one that was just submitted could still be active for the platform: it is asked until it is not.
    """
    with transaction.atomic():
        lock_actor(actor)
        open_ones = chosen.filter(study=study, approval_wanted_at=None, session__isnull=False)
        undecided = (Status.RESERVED, Status.ACTIVE, Status.AWAITING_REVIEW, Status.REJECTED)
        n = open_ones.filter(status__in=undecided).update(approval_wanted_at=timezone.now(), approval_tried_at=None)
        if n:
            log.record(actor.project, actor, Act.APPROVE_PROLIFIC_SUBMISSIONS, study.panel, after={"submissions": n})
    return n


def approve_wanted(study: ProlificStudy, client: Client, *, now: datetime | None = None) -> int:
    """Ask the platform for the approvals that people want, and return for how many.

    Those still active there wait. An approval is done when the platform lists it as approved, and not when it accepts
    the request, so that a request that was lost, or passed over, is sent again.
    """
    now = now or timezone.now()
    wanted = ProlificSubmission.objects.filter(study=study, approval_wanted_at__isnull=False)
    # A time that is further ahead than this is of a clock that was set back since.
    is_over = Q(approval_tried_at__lt=now - APPROVE_AGAIN) | Q(approval_tried_at__gt=now + APPROVE_AGAIN)
    due = wanted.filter(Q(approval_tried_at=None) | is_over)
    rows = list(due.filter(status__in=(Status.AWAITING_REVIEW, Status.REJECTED)).order_by("pk")[:MOST_APPROVALS])
    if not rows:
        return 0
    # The platform passes over rejected ones in bulk.
    alone = [each for each in rows if each.status == Status.REJECTED]
    together = [each.external_id for each in rows if each.status != Status.REJECTED]
    tried = ProlificSubmission.objects.filter(pk__in=[each.pk for each in rows])
    if len(together) > 1:
        client.post("/api/v1/submissions/bulk-approve/", {"submission_ids": together}, repeats=True)
        tried.exclude(status=Status.REJECTED).update(approval_tried_at=now)
    else:
        alone = rows
    refusals = []
    for row in alone:
        try:
            _approve_one(row, client)
        except PlatformError as error:
            # One that the platform doesn't take holds up no other.
            if error.status not in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):
                raise
            refusals.append(error)
        tried.filter(pk=row.pk).update(approval_tried_at=now)
    if refusals:
        raise refusals[0]
    return len(rows)


def _approve_one(row: ProlificSubmission, client: Client) -> None:
    path = f"/api/v1/submissions/{row.external_id}/"
    try:
        answer = client.post(f"{path}transition/", {"action": "APPROVE"}, repeats=True)
    except PlatformError as error:
        if error.status != HTTPStatus.BAD_REQUEST:
            raise
        # It can still be active there, just after its submit. The next round asks again.
        answer = client.get(path)
    tell(row.study, row.external_id, require_text(answer, "status"), at=client.answered_at or timezone.now())


def reject(*, row: ProlificSubmission, actor: Membership, category: str, message: str) -> None:
    """Reject a submission, as a person decided; the participant gets the message. Raises Refused and PlatformError.

    The ratings stay: whether they count is decided under Review.
    """
    message = message.strip()
    if category not in CATEGORIES:
        raise Refused("Choose a category.", field="category")
    if not LEAST_MESSAGE <= len(message) <= MOST_MESSAGE:
        raise Refused(f"Prolific wants a message of at least {LEAST_MESSAGE} characters.", field="message")
    if not row.can_be_rejected:
        raise Refused(f"This submission is {row.status_label} and can’t be rejected.")
    with transaction.atomic():
        lock_actor(actor)
        ProlificSubmission.objects.filter(pk=row.pk).update(approval_wanted_at=None)
    client = accounts.open_client(actor.project)
    body = {"action": "REJECT", "rejection_category": category, "message": message}
    answer = client.post(f"/api/v1/submissions/{row.external_id}/transition/", body, repeats=True)
    with transaction.atomic():
        member = row.session.participant.membership if row.session else None
        subject = member or row.study.panel
        log.record(actor.project, actor, Act.REJECT_PROLIFIC_SUBMISSION, subject, after={"category": category})
    tell(row.study, row.external_id, require_text(answer, "status"), at=client.answered_at or timezone.now())


def without_code(rows: Iterable[ProlificSubmission]) -> list[ProlificSubmission]:
    """Return those that finished here and entered no code, or another one, on the platform."""
    found = []
    for row in rows:
        session = row.session
        is_done = session is not None and session.outcome == Outcome.COMPLETED
        is_there = row.status in (Status.AWAITING_REVIEW, Status.TIMED_OUT, Status.RETURNED)
        if is_done and is_there and session is not None and row.entered_code not in ("", session.code):
            found.append(row)
    return found
