"""Sessions of participants: their states, the only moves between them, and what each does to places and work."""

import secrets
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now
from django.utils import timezone

from annotate import places
from annotate.models import Assignment, Outcome, PanelParticipant, PanelSession
from annotate.panels.participant_work import find_work, is_complete
from annotate.payments import panel_pay
from annotate.places import leaving
from annotate.places.locking import lock_annotator, lock_assignment
from projects import log
from projects.access import lock_actor
from projects.errors import Refused
from projects.models import Act, Membership
from projects.models.people import PSEUDONYM_ALPHABET

State = PanelSession.State
Access = PanelSession.Access

LIVE = (State.ARRIVED, State.WORKING)
"""In which a participant gets HITs."""
MOVES: dict[str, tuple[State, ...]] = {
    State.ARRIVED: (
        *(State.WORKING, State.FINISHED, State.SCREENED_OUT),
        *(State.SUBMITTED, State.APPROVED, State.RETURNED, State.TIMED_OUT, State.REJECTED),
    ),
    State.WORKING: (
        *(State.FINISHED, State.SCREENED_OUT),
        *(State.SUBMITTED, State.APPROVED, State.RETURNED, State.TIMED_OUT, State.REJECTED),
    ),
    State.FINISHED: (State.SUBMITTED, State.APPROVED, State.RETURNED, State.TIMED_OUT, State.REJECTED),
    # It is open again if a manager qualifies who had failed the check, or if somebody agrees after all.
    State.SCREENED_OUT: (
        *(State.ARRIVED, State.SUBMITTED, State.APPROVED, State.RETURNED, State.TIMED_OUT, State.REJECTED),
    ),
    State.SUBMITTED: (State.APPROVED, State.RETURNED, State.REJECTED, State.SCREENED_OUT),
    # What arrives after its time can still be finished, submitted and paid.
    State.TIMED_OUT: (State.FINISHED, State.SUBMITTED, State.APPROVED, State.RETURNED, State.REJECTED),
    # Somebody may have recorded these by mistake, and a platform can pay what it had turned down.
    State.REJECTED: (State.APPROVED,),
    State.RETURNED: (State.APPROVED,),
    State.APPROVED: (),
}
BY_PLATFORM = (
    *(State.SUBMITTED, State.APPROVED, State.RETURNED, State.TIMED_OUT, State.REJECTED),
    State.SCREENED_OUT,
)
"""What the platform decides; a manager records it by hand where the platform tells nothing."""
UNFINISHED = "session not finished"
"""Why work does not count of a session that was returned or timed out, where its panel is set so."""


def find_session(annotator: Membership) -> PanelSession | None:
    """Return a participant's newest session that was let in, of the panel that they joined last; None for others."""
    if not annotator.is_participant:
        return None
    let_in = PanelSession.objects.filter(participant__membership=annotator).exclude(access=Access.HELD)
    joined = let_in.filter(participant__work_after__isnull=False)
    return joined.select_related("panel", "participant").order_by("-participant__joined_at", "-pk").first()


def may_take_hit(annotator: Membership) -> bool:
    """Return whether a participant gets another HIT; the caller has locked the membership."""
    session = find_session(annotator)
    return session is not None and session.state in LIVE and not is_complete(session)


def mark_working(annotator: Membership) -> None:
    """Note that a participant began a HIT; the caller has locked the membership."""
    sessions = PanelSession.objects.filter(participant__membership=annotator, state=State.ARRIVED)
    joined = sessions.filter(participant__work_after__isnull=False)
    joined.exclude(access=Access.HELD).update(state=State.WORKING)


def has_joined_another(participant: PanelParticipant) -> bool:
    """Return whether a participant has joined another panel since."""
    others = PanelParticipant.objects.filter(membership=participant.membership_id, work_after__isnull=False)
    return others.filter(joined_at__gt=participant.joined_at).exists()


def join(participant: PanelParticipant) -> None:
    """Let a member whom another panel sent before join this one: what they have begun there ends.

    A set that is complete is finished, and any other session counts as returned. Doing it again changes nothing.
    """
    member = participant.membership
    elsewhere = PanelSession.objects.filter(participant__membership=member, state__in=LIVE)
    elsewhere = elsewhere.exclude(participant=participant).exclude(access=Access.HELD)
    for session in elsewhere.select_related("panel", "participant__membership__project").order_by("pk"):
        _end_left(session)
    with transaction.atomic():
        lock_annotator(member)
        if not PanelParticipant.objects.filter(pk=participant.pk, work_after=None).exists():
            return
        leaving.leave_for_good(member, Assignment.objects.none())
        newest = Assignment.objects.filter(annotator=member).aggregate(pk=Max("pk"))["pk"] or 0
        PanelParticipant.objects.filter(pk=participant.pk).update(work_after=newest, joined_at=Now())


@transaction.atomic
def _end_left(session: PanelSession) -> None:
    session = _lock(session)
    if session.state in LIVE and is_complete(session):
        end(session, Outcome.COMPLETED)
    elif session.state in LIVE:
        record(session, State.RETURNED)


@transaction.atomic
def carry_on(session: PanelSession) -> PanelSession:
    """Let a session carry on what the participant's earlier ones began, and return it as it is now.

    The platform counts an earlier one that was not finished as returned. There is one set for each participant: who has
    completed it gets the same code again. Doing it again changes nothing.
    """
    session = _lock(session)
    if session.state not in LIVE or session.outcome:
        return session
    member = session.participant.membership
    earlier = PanelSession.objects.filter(participant=session.participant_id, pk__lt=session.pk)
    earlier.filter(state__in=LIVE).exclude(access=Access.HELD).update(state=State.RETURNED)
    places.keep_until(member.pk, session.due_at)
    finished = earlier.filter(outcome=Outcome.COMPLETED).order_by("-pk").first()
    if finished is not None:
        session.outcome, session.code, session.ended_at = finished.outcome, finished.code, timezone.now()
        session.save(update_fields=["outcome", "code", "ended_at"])
        _move(session, State.FINISHED)
        panel_pay.follow_session(session)
    return session


@transaction.atomic
def end(session: PanelSession, outcome: Outcome) -> PanelSession:
    """End a session with an outcome and keep the code that is shown for it; ending it again changes nothing.

    One that is over without an outcome, such as a timed-out one that was completed late, gets it now.
    """
    session = _lock(session)
    if session.outcome:
        return session
    state = State.FINISHED if outcome == Outcome.COMPLETED else State.SCREENED_OUT
    session.outcome, session.ended_at = outcome, timezone.now()
    session.code = _draw_code() if session.panel.has_own_codes and outcome == Outcome.COMPLETED else ""
    session.code = session.code or session.panel.code_for(outcome)
    session.save(update_fields=["outcome", "ended_at", "code"])
    if state in MOVES[session.state]:
        _move(session, state)
    panel_pay.follow_session(session, told_at=session.told_at)
    return session


def may_reopen(session: PanelSession) -> bool:
    """Return whether a session that ended by a failed check, or for lack of a consent, could go on.

    It can in its time, and while the platform has said nothing of it.
    """
    outcomes = (Outcome.FAILED_CHECK, Outcome.NO_CONSENT)
    is_ended = session.state == State.SCREENED_OUT and session.outcome in outcomes
    return is_ended and session.told_at is None and session.due_at > timezone.now() and not has_newer(session)


@transaction.atomic
def reopen(session: PanelSession) -> PanelSession:
    """Take the end of a session back, whose participant may work after all, and return the session as it is now.

    Their places were opened to others, so that there may be none left for them. Doing it again changes nothing.
    """
    session = _lock(session)
    if not may_reopen(session):
        return session
    before = session.state
    _move(session, State.ARRIVED)
    session.outcome, session.code, session.ended_at = "", "", None
    session.save(update_fields=["outcome", "code", "ended_at"])
    member = session.participant.membership
    log.record(member.project, None, Act.MOVE_SESSION, member, before={"state": before}, after={"state": session.state})
    return session


@transaction.atomic
def record(session: PanelSession, state: str, *, actor: Membership | None = None, at: datetime | None = None) -> bool:
    """Move a session to the state that the platform says; return False where that changes nothing.

    `at` is the platform's time: an event older than the newest one that was reported changes nothing, and neither does
    one reported twice. Raises Refused for a move that does not exist. Locks the membership, the session, then its work.
    """
    if actor is not None:
        lock_actor(actor)
    session = _lock(session)
    if at is not None and session.told_at is not None and at < session.told_at:
        return False
    if at is not None:
        session.told_at = at
        session.save(update_fields=["told_at"])
    told_at = at or (timezone.now() if actor is not None else None)
    if session.state == state:
        # Our own state may have come first, and the platform has now said the same.
        panel_pay.follow_session(session, told_at=told_at)
        return False
    if state not in MOVES[session.state]:
        raise Refused(f"A session that is {session.get_state_display()} can’t become {State(state).label}.")
    before = session.state
    if state == State.SCREENED_OUT and not session.outcome:
        session.outcome, session.ended_at = Outcome.SCREENED_OUT, timezone.now()
        session.save(update_fields=["outcome", "ended_at"])
    _move(session, State(state))
    panel_pay.follow_session(session, told_at=told_at)
    member = session.participant.membership
    log.record(member.project, actor, Act.MOVE_SESSION, member, before={"state": before}, after={"state": state})
    return True


@transaction.atomic
def let_in(session: PanelSession, *, actor: Membership) -> None:
    """Let in whoever opens the link of a session from now on. Raises Refused where nobody was turned away."""
    lock_actor(actor)
    session = _lock(session)
    if session.refused_at is None:
        raise Refused("No browser was turned away from this session.")
    PanelSession.objects.filter(pk=session.pk).update(access=Access.TRUSTED, refused_at=None)
    member = session.participant.membership
    log.record(member.project, actor, Act.LET_IN, member)


def end_overdue(*, now: datetime | None = None) -> int:
    """Time out the sessions whose time is over, or finish those whose set is complete; return how many."""
    now = now or timezone.now()
    overdue = PanelSession.objects.filter(state__in=LIVE, due_at__lt=now - places.GRACE)
    n = 0
    for session in overdue.select_related("panel", "participant__membership__project").order_by("pk")[:500]:
        n += _end_overdue(session)
    return n


@transaction.atomic
def _end_overdue(session: PanelSession) -> bool:
    session = _lock(session)
    # It may have been finished, or have ended on the platform, since the list was read.
    if session.state not in LIVE:
        return False
    if session.access != Access.HELD and is_complete(session):
        end(session, Outcome.COMPLETED)
        return True
    return record(session, State.TIMED_OUT)


def _lock(session: PanelSession) -> PanelSession:
    """Lock the participant's membership, then the session, and return it as it is now."""
    related = PanelSession.objects.select_related("panel", "participant__membership__project")
    lock_annotator(session.participant.membership)
    return related.select_for_update(no_key=True, of=("self",)).get(pk=session.pk)


def _move(session: PanelSession, state: State) -> None:
    PanelSession.objects.filter(pk=session.pk).update(state=state)
    session.state = state
    member = session.participant.membership
    # A newer session of theirs carries the work on, and one that was held never had any.
    if session.access == Access.HELD or has_newer(session):
        return
    # The set is taken after all, be it with a later session than the one that was returned or timed out. Work of
    # somebody removed comes back with them alone, whatever the platform says of it.
    is_taken_after_all = (
        state in (State.FINISHED, State.SUBMITTED, State.APPROVED) and member.standing != Membership.Standing.REMOVED
    )
    excluded = _find_unfinished(session.participant) if is_taken_after_all else []
    if state not in LIVE:
        _stop_work(member, session, state, lock_too=excluded)
    if excluded:
        _count_again(member, excluded)


def has_newer(session: PanelSession) -> bool:
    newer = PanelSession.objects.filter(participant=session.participant_id, pk__gt=session.pk)
    return newer.exclude(access=Access.HELD).exists()


def _stop_work(member: Membership, session: PanelSession, state: State, *, lock_too: Sequence[int]) -> None:
    """Open the places of a session that is over, end its open HIT, and exclude what is submitted if that is set.

    The open HIT expires, so that it can be submitted late, unless it was returned. Assignments that change next are
    locked with the rest: assignments come before HITs, as everywhere.
    """
    is_unfinished = state in (State.RETURNED, State.TIMED_OUT) and not session.panel.counts_unfinished
    marks = (Assignment.Mark.COUNTED, Assignment.Mark.LATE)
    counted = Assignment.objects.filter(pk__in=find_work(session.participant), mark__in=marks)
    chosen = counted.not_rejected()
    chosen = chosen if is_unfinished else chosen.none()
    held = leaving.lock_work(member, chosen, *lock_too)
    # Places and the open HIT are of the panel that they joined last.
    is_left = session.participant.work_after is None or has_joined_another(session.participant)
    if not is_left:
        places.release(member.pk)
        places.withdraw_reserved([member.pk])
    if held.open_assignment is not None and not is_left:
        # It may have been submitted between the first read and the lock.
        locked = lock_assignment(member, held.open_assignment.uuid)
        if locked.state == Assignment.State.OPEN and state == State.RETURNED:
            places.return_assignment(locked, reason="")
        elif locked.state == Assignment.State.OPEN:
            places.expire(locked)
    redone, final = leaving.split_by_reopening(held, chosen)
    excluded = places.exclude(redone, reason=UNFINISHED, reopens=True)
    excluded += places.exclude(final, reason=UNFINISHED, reopens=False)
    if excluded:
        log.record(member.project, None, Act.EXCLUDE_SESSION, member, after={"excluded": len(excluded)})


def _find_unfinished(participant: PanelParticipant) -> list[int]:
    """Return the assignments that were excluded when their session ended unfinished."""
    excluded = find_work(participant).filter(mark=Assignment.Mark.EXCLUDED, mark_reason=UNFINISHED)
    return list(excluded.values_list("pk", flat=True))


def _count_again(member: Membership, ids: Sequence[int]) -> None:
    """Count excluded work again, as far as its places are still free."""
    restored = places.restore(ids)
    after = {"counted": restored.n_counted, "surplus": restored.n_surplus}
    log.record(member.project, None, Act.COUNT_SESSION_AGAIN, member, after=after)


def _draw_code() -> str:
    return "".join(secrets.choice(PSEUDONYM_ALPHABET) for _ in range(12)).upper()
