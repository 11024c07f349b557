"""The steps of a participant's session: consent, survey, test, HITs, survey, and the end with its code."""

from dataclasses import dataclass
from enum import Enum

from django.db import transaction
from django.db.models import Q

from annotate import places
from annotate.attempts.admission import Admission, find_admission
from annotate.desk.arriving import reserve_set
from annotate.models import Assignment, Batch, Hit, Outcome, PanelSession, Reservation
from annotate.onboarding.consent import consent_state
from annotate.onboarding.surveys import survey_state
from annotate.panels import participant_work, sessions
from annotate.places.locking import lock_annotator
from projects.access import Right, explain_refusal
from projects.models import Membership

State = PanelSession.State


class Kind(Enum):
    """What a participant does next."""

    CONSENT = "consent"
    SURVEY_BEFORE = "survey before"
    SURVEY_AFTER = "survey after"
    TEST = "test"
    HIT = "hit"
    WAIT = "wait"
    END = "end"


@dataclass(frozen=True)
class Step:
    """A participant's next step, and how far they are."""

    kind: Kind
    session: PanelSession
    n_done: int
    n_due: int
    open_assignment: Assignment | None = None
    expired: Assignment | None = None
    """The newest HIT whose time ran out and that they may submit late."""
    can_begin: bool = True
    """Whether there is another HIT to begin, besides that one."""
    is_qualified_since: bool = False
    """Whether a manager qualified them after this session had ended by a failed check."""
    has_agreed_since: bool = False
    """Whether they agreed after this session had ended because they had not."""


def find_step(annotator: Membership, session: PanelSession) -> Step:
    """Return the next step of a session, and end it where there is none: complete, failed, or nothing left.

    What it stores is true before it is stored, so that asking again, also at the same time, changes nothing.
    """
    is_qualified_since = _is_qualified_since(annotator, session)
    has_agreed_since = _has_agreed_since(annotator, session)
    if (is_qualified_since or has_agreed_since) and sessions.may_reopen(session):
        session = sessions.reopen(session)
    ended = _end_if_over(annotator, session)
    open_assignment = Assignment.objects.open().filter(annotator=annotator).first()
    n_done, n_due = participant_work.count_done(session.participant), session.participant.n_hits_due
    expired = _find_expired(annotator)
    if ended is not None:
        may_be_late = ended.state == State.TIMED_OUT and not ended.outcome
        late = expired if may_be_late else None
        return Step(
            Kind.END,
            ended,
            n_done,
            n_due,
            expired=late,
            is_qualified_since=is_qualified_since,
            has_agreed_since=has_agreed_since,
        )
    if open_assignment is not None or explain_refusal(annotator, Right.WORK):
        return Step(Kind.HIT, session, n_done, n_due, open_assignment, expired)
    if consent_state(annotator).is_missing:
        return Step(Kind.CONSENT, session, n_done, n_due)
    has_place = Reservation.objects.filter(annotator=annotator).exists()
    if expired is not None and not has_place and not participant_work.is_complete(session):
        return Step(Kind.HIT, session, n_done, n_due, expired=expired, can_begin=False)
    if not has_place and _lacks_replacement(session, n_done):
        return Step(Kind.WAIT, session, n_done, n_due)
    survey = survey_state(annotator)
    # Complete, or with HITs and no place for another: only the survey is left before the code.
    if survey.lacks_after and n_done and not has_place:
        return Step(Kind.SURVEY_AFTER, session, n_done, n_due)
    if survey.lacks_before:
        return Step(Kind.SURVEY_BEFORE, session, n_done, n_due)
    if _lacks_test(annotator) is not None:
        return Step(Kind.TEST, session, n_done, n_due)
    return Step(Kind.HIT, session, n_done, n_due, expired=expired)


def _end_if_over(annotator: Membership, session: PanelSession) -> PanelSession | None:
    """Return the session if it is over, ended by this act where it was not; None while there is something to do."""
    if session.outcome or (session.state not in sessions.LIVE and session.state != State.TIMED_OUT):
        return session
    if participant_work.is_complete(session):
        return None if _asks_survey(annotator, session) else sessions.end(session, Outcome.COMPLETED)
    if session.state == State.TIMED_OUT:
        return session
    # Whoever is on hold may come back, and an open HIT can be submitted.
    if explain_refusal(annotator, Right.WORK) or Assignment.objects.open().filter(annotator=annotator).exists():
        return None
    if consent_state(annotator).has_withdrawn:
        return sessions.end(session, Outcome.NO_CONSENT)
    if survey_state(annotator).is_screened_out:
        return sessions.end(session, Outcome.SCREENED_OUT)
    admission = _lacks_test(annotator)
    if admission is not None and _has_failed(admission, session):
        return sessions.end(session, Outcome.FAILED_CHECK)
    if _has_place(annotator) or reserve_set(session) or _find_expired(annotator) is not None:
        return None
    n_done = participant_work.count_done(session.participant)
    if _lacks_replacement(session, n_done):
        return None
    if not n_done:
        return sessions.end(session, Outcome.NOTHING_LEFT)
    # Whoever has rated what there was is done, and is paid like it.
    return None if _asks_survey(annotator, session) else sessions.end(session, Outcome.COMPLETED)


def _asks_survey(annotator: Membership, session: PanelSession) -> bool:
    """Return whether the survey after the work comes before the code: not once their time is over."""
    if session.state not in sessions.LIVE or explain_refusal(annotator, Right.WORK):
        return False
    return survey_state(annotator).lacks_after and not consent_state(annotator).is_missing


def _has_place(annotator: Membership) -> bool:
    """Return whether a reserved place can be begun; those of batches that no longer serve are given up."""
    reserved = Reservation.objects.filter(annotator=annotator)
    if reserved.exclude(hit__batch__state=Batch.State.OPEN).exists():
        with transaction.atomic():
            lock_annotator(annotator)
            places.release(annotator.pk)
    return reserved.exists()


def _find_expired(annotator: Membership) -> Assignment | None:
    """Return the newest HIT whose time ran out and that a participant may submit late; None if there is none."""
    if explain_refusal(annotator, Right.WORK) or consent_state(annotator).has_withdrawn:
        return None
    expired = Assignment.objects.expired().noting_ratings()
    return expired.filter(annotator=annotator).order_by("-opened_at").first()


def _lacks_replacement(session: PanelSession, n_done: int) -> bool:
    """Return whether HITs that a participant returned are still due; they have no place and no HIT left to submit."""
    return bool(session.panel.hits_per_session) and session.participant.n_hits_due > n_done


def _lacks_test(annotator: Membership) -> Admission | None:
    """Return the admission of a participant who has yet to pass the test that their HITs require."""
    late = Q(assignments__annotator=annotator, assignments__state=Assignment.State.EXPIRED)
    theirs = Hit.objects.filter(Q(reservations__annotator=annotator) | late)
    if theirs.exists() and not theirs.filter(batch__requires_qualification=True).exists():
        return None
    admission = find_admission(annotator)
    return admission if admission is not None and admission.is_asked and not admission.is_qualified else None


def _is_qualified_since(annotator: Membership, session: PanelSession) -> bool:
    """Return whether a participant who had failed the check may work now, as only a manager can have decided."""
    if session.outcome != Outcome.FAILED_CHECK or explain_refusal(annotator, Right.WORK):
        return False
    admission = find_admission(annotator)
    return admission is not None and admission.is_qualified


def _has_agreed_since(annotator: Membership, session: PanelSession) -> bool:
    """Return whether a participant who had not agreed, or had left the study, has agreed to the newest text now."""
    if session.outcome != Outcome.NO_CONSENT or explain_refusal(annotator, Right.WORK):
        return False
    state = consent_state(annotator)
    return state.agreed is not None and not state.is_missing


def _has_failed(admission: Admission, session: PanelSession) -> bool:
    """Return whether a participant can't pass within this session: no attempt is left, or none in time."""
    if admission.open_attempt is not None:
        return False
    if admission.revoked is not None or not admission.n_left:
        return True
    return admission.again_at is not None and admission.again_at > session.due_at
