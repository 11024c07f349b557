"""Arriving: a participant whom a panel sends becomes a member with a session, and a place is kept for them at once."""

from dataclasses import dataclass
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.models import Panel, PanelParticipant, PanelSession
from annotate.models.panel import GLOBAL_IDS
from annotate.onboarding import former_participants
from annotate.onboarding.arrival_ids import ForgedLink, Ids
from annotate.panels import participant_work, sessions
from annotate.places.locking import lock_annotator
from annotate.work import serving
from projects import log
from projects.database.locks import AdvisoryLock, lock_in_project
from projects.errors import Refused
from projects.models import Act, Membership, User
from projects.models.people import random_pseudonym

Access = PanelSession.Access

LEAST_SECRET = 16
"""Characters from which the id of a session is too long to be guessed, so that knowing it is a proof."""
_UNPROVEN = (Access.HELD, Access.OWN)
"""Of sessions whose ids somebody may have made up."""


class PanelEnded(Refused):
    """The panel lets nobody new in."""


class TookPartElsewhere(PanelEnded):
    """The panel does not let them in, because of what they did by another of the project."""

    def __init__(self) -> None:
        super().__init__(_("You took part in another study of this project, so you can't take part in this one."))


class TookPart(Refused):
    """The participant took part before, and has deleted their account since."""


@dataclass(frozen=True)
class Arrival:
    """Who arrived, and whether the browser may be theirs; a session that is held is not signed in."""

    session: PanelSession
    is_let_in: bool
    is_proof: bool = False
    """Whether the link alone would have let them in, so that it shows who they are as a password does."""


def arrive(*, panel: Panel, ids: Ids, user: User | None) -> Arrival:
    """Find or make the participant and the session that a link names; `user` is who is signed in already, if anybody.

    The same participant with a new session goes on with the same set. Anybody can type an id, so that what a
    participant has done is opened only to a browser that is theirs: it is signed in, its link is signed, or it knows a
    session of theirs by an id that cannot be guessed. Any other is turned away, which managers see.

    Who took part by another panel of the project, where an id names the same person, is the same member here, and has
    to show it alike.

    Raises ForgedLink for a session of somebody else, TookPart for who took part and deleted their account, PanelEnded
    for somebody new after the panel's end, TookPartElsewhere where another payer pays them or they have joined another
    panel since.
    """
    participant = _find_participant(panel, ids)
    session, is_new = _find_session(participant, ids, user)
    if session.participant_id != participant.pk:
        raise ForgedLink(_("This link belongs to another participant."))
    is_proof = _is_proof(session, ids, is_new=is_new)
    if not is_proof and not _is_signed_in(participant.membership, user):
        PanelSession.objects.filter(pk=session.pk).update(refused_at=timezone.now())
        return Arrival(session, is_let_in=False)
    if session.access in _UNPROVEN:
        # Being signed in opens it to no other browser: its id may be anybody's invention.
        before, session.access = session.access, Access.OPEN if is_proof else Access.OWN
        PanelSession.objects.filter(pk=session.pk, access=before).update(access=session.access)
    if participant.work_after is None:
        sessions.join(participant)
        session.participant.refresh_from_db()
    elif sessions.has_joined_another(participant):
        return Arrival(session, is_let_in=True, is_proof=is_proof)
    session = sessions.carry_on(session)
    if session.state in sessions.LIVE and not participant_work.is_complete(session):
        reserve_set(session)
    return Arrival(session, is_let_in=True, is_proof=is_proof)


def _find_participant(panel: Panel, ids: Ids) -> PanelParticipant:
    known = PanelParticipant.objects.select_related("membership__user", "membership__project", "panel")
    found = known.filter(panel=panel, external_id=ids.participant).first()
    if found is None:
        if former_participants.took_part(panel, ids.participant):
            raise TookPart(
                _("You took part and deleted your account. Nobody can take part twice. Please message the researchers.")
            )
        if panel.ended_at is not None:
            raise PanelEnded(_("This study has ended. Thank you for your interest!"))
        # Of two arrivals at once, one row is stored, and both find it; by links of two panels, one after the other.
        try:
            with transaction.atomic():
                _create_participant(panel, ids)
        except IntegrityError:
            pass
        found = known.get(panel=panel, external_id=ids.participant)
    return found


def _find_elsewhere(panel: Panel, external_id: str) -> Membership | None:
    """Return the member whom another panel of the project sent with the same id, if it names the same person there."""
    others = Panel.objects.sharing_ids_with(panel).exclude(pk=panel.pk)
    found = PanelParticipant.objects.filter(panel__in=others, external_id=external_id).select_related("membership")
    return next((each.membership for each in found.order_by("-joined_at")), None)


def _create_participant(panel: Panel, ids: Ids) -> None:
    """Store who comes for the first time: a new member, or one whom another panel sent, who has yet to join."""
    if panel.platform in GLOBAL_IDS:
        lock_in_project(AdvisoryLock.ARRIVALS, panel.project_id)
    if (member := _find_elsewhere(panel, ids.participant)) is not None:
        # What the ledger owes a member holds for all that they do here.
        if member.is_paid_elsewhere != (panel.paid_by == Panel.Payer.PLATFORM):
            raise TookPartElsewhere
        PanelParticipant.objects.create(panel=panel, membership=member, external_id=ids.participant, work_after=None)
        return
    user = User(username=f"participant{random_pseudonym()[1:]}")
    user.set_unusable_password()
    user.save()
    member = Membership.objects.create(
        project=panel.project,
        user=user,
        role=Membership.Role.ANNOTATOR,
        is_annotator=True,
        is_participant=True,
        is_paid_elsewhere=panel.paid_by == Panel.Payer.PLATFORM,
    )
    PanelParticipant.objects.create(panel=panel, membership=member, external_id=ids.participant)
    after = {"role": member.role, "is_annotator": True, "panel": panel.number}
    log.record(panel.project, member, Act.JOIN, member, after=after)


def _find_session(participant: PanelParticipant, ids: Ids, user: User | None) -> tuple[PanelSession, bool]:
    """Return the session with this id, be it somebody else's, or a new one. Without ids there is one for each."""
    panel = participant.panel
    same = PanelSession.objects.filter(panel=panel, external_id=ids.session)
    same = same if ids.session else same.filter(participant=participant)
    if (found := same.select_related("panel", "participant__membership__user").first()) is not None:
        return found, False
    if participant.work_after is not None and sessions.has_joined_another(participant):
        raise TookPartElsewhere
    try:
        with transaction.atomic():
            # Of two first sessions at once, one is the first. Whoever opens the link meanwhile finds it as it stays.
            lock_annotator(participant.membership)
            session = PanelSession.objects.create(
                panel=panel,
                participant=participant,
                external_id=ids.session,
                study_id=ids.study,
                access=_first_access(participant, ids, user),
                due_at=timezone.now() + timedelta(minutes=panel.minutes_allowed),
            )
        return session, True
    except IntegrityError:
        return same.select_related("panel", "participant__membership__user").get(), False


def _first_access(participant: PanelParticipant, ids: Ids, user: User | None) -> Access:
    """Return whether a new session is let in: a signed one, or where they have never come before, to whoever comes."""
    member = participant.membership
    if ids.is_signed or not PanelSession.objects.filter(participant__membership=member).exists():
        return Access.OPEN
    return Access.OWN if _is_signed_in(member, user) else Access.HELD


def _is_signed_in(member: Membership, user: User | None) -> bool:
    return user is not None and user.pk == member.user_id


def _is_proof(session: PanelSession, ids: Ids, *, is_new: bool) -> bool:
    """Return whether the link alone shows that the browser is the participant's, or they have never come before."""
    if ids.is_signed or session.access == Access.TRUSTED:
        return True
    return session.access == Access.OPEN and (is_new or len(session.external_id) >= LEAST_SECRET)


def may_be_guessed(*, panel: Panel, ids: Ids, user: User | None) -> bool:
    """Return whether a link brings ids of somebody known that anybody could have tried, and no proof."""
    sessions_of = PanelSession.objects.filter(panel=panel)
    known = PanelParticipant.objects.select_related("membership")
    participant = known.filter(panel=panel, external_id=ids.participant).first()
    if participant is None:
        elsewhere = _find_elsewhere(panel, ids.participant)
        if elsewhere is not None and not ids.is_signed and not _is_signed_in(elsewhere, user):
            return True
        return bool(ids.session) and sessions_of.filter(external_id=ids.session).exists()
    if ids.is_signed or _is_signed_in(participant.membership, user):
        return False
    if len(ids.session) < LEAST_SECRET:
        return True
    opened = sessions_of.filter(participant=participant, external_id=ids.session).exclude(access__in=_UNPROVEN)
    return not opened.exists()


def reserve_set(session: PanelSession) -> bool:
    """Reserve what is missing of a participant's set; return False if they have no HIT to do.

    Where fewer places are left than a session has HITs, or the project takes some away, the set is that much smaller:
    the last places of a batch are filled too, and nobody waits for a HIT that was never theirs. One that they returned
    stays due until another replaces it.
    """
    participant, panel = session.participant, session.panel
    member = participant.membership
    n_done = participant_work.count_done(participant)
    most = participant.n_hits_due or panel.hits_per_session if panel.hits_per_session else n_done + 1
    # Their sets of other panels come on top.
    n_elsewhere = participant_work.count_submitted(member) - n_done if participant.work_after else 0
    while serving.reserve_place(member, most=n_elsewhere + most, until=session.due_at):
        pass
    with transaction.atomic():
        lock_annotator(member)
        if panel.hits_per_session:
            participant.n_hits_due = min(participant_work.count_asked(participant), most)
            PanelParticipant.objects.filter(pk=participant.pk).update(n_hits_due=participant.n_hits_due)
        return participant_work.count_hits(member) > participant_work.count_submitted(member)
