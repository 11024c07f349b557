"""Panel pay in the ledger: what a platform owes participants for their sessions, and what it says it has paid.

Two sides, each with its own functions. **Ours**: `follow_session` owes the reward of a session as its state demands,
`owe` owes anything else, such as a bonus, and `approve` notes that the platform is asked to pay. **Theirs**:
`record_panel_payment` stores the platform's word, whether or not we owe the amount. A move of a session
(`annotate.panels.sessions.record`) brings the state of its reward with it; what the platform paid and charged for it is
told by `record_panel_payment` with `make_reward_key`.

All can be repeated: the key says what an amount is for. A client of a platform that pays a bonus calls `owe` and
`approve`, lets that be committed, asks the platform, and then calls `record_panel_payment` with the same key and what
it answered.

Amounts are in the smallest unit of the panel's currency.
"""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotate.models import Outcome, Panel, PanelPayment, PanelSession
from projects.errors import Refused
from projects.models import Membership, Project

Kind = PanelPayment.Kind
Told = PanelPayment.Told
State = PanelSession.State


def make_reward_key(session: PanelSession) -> str:
    """Return the key of a session's reward, which is owed once."""
    return f"reward:{session.pk}"


@transaction.atomic
def owe(
    *, panel: Panel, key: str, kind: str, cents: int, annotator: Membership | None, session: PanelSession | None = None
) -> PanelPayment:
    """Owe an amount and return its entry; again with the same key changes nothing.

    An entry that the platform's word has made, or that was cancelled, is owed from now on. Raises Refused for another
    amount under a key that is owed already.
    """
    session_id = None if session is None else session.pk
    entry, is_new = PanelPayment.objects.select_for_update(no_key=True).get_or_create(
        panel=panel, key=key, defaults={"kind": kind, "cents": cents, "annotator": annotator, "session_id": session_id}
    )
    if is_new:
        return entry
    if entry.cents is not None and entry.cancelled_at is None and entry.cents != cents:
        raise Refused("This amount is owed already, with another sum. The first one is kept.")
    if entry.cents is None or entry.cancelled_at is not None:
        entry.cents, entry.owed_at, entry.cancelled_at = cents, timezone.now(), None
        entry.save(update_fields=["cents", "owed_at", "cancelled_at"])
    return entry


def approve(entries: QuerySet[PanelPayment]) -> int:
    """Approve what is owed of these entries and return how many: the platform may be asked to pay them from now on."""
    owed = entries.filter(cents__isnull=False, cancelled_at=None, approved_at=None)
    return owed.update(approved_at=timezone.now())


def cancel(entries: QuerySet[PanelPayment]) -> int:
    """Owe these entries no more, as where a session was returned; what the platform says of them stays."""
    return entries.filter(cancelled_at=None).update(cancelled_at=timezone.now())


@transaction.atomic
def record_panel_payment(
    *,
    panel: Panel,
    key: str,
    kind: str,
    told: str,
    cents: int | None = None,
    fee_cents: int | None = None,
    external_id: str = "",
    annotator: Membership | None = None,
    session: PanelSession | None = None,
    at: datetime | None = None,
) -> PanelPayment:
    """Store what the platform says of an amount, and return its entry; of an older word nothing is stored.

    `told` is one of `PanelPayment.Told`, `cents` and `fee_cents` what it says it paid and charged, None where it
    doesn't say. An amount that we don't owe becomes an entry without a sum of ours, which the page of differences
    names. `at` is the platform's time; without it, now.
    """
    at = at or timezone.now()
    entry, _is_new = PanelPayment.objects.select_for_update(no_key=True).get_or_create(
        panel=panel,
        key=key,
        defaults={"kind": kind, "annotator": annotator, "session_id": None if session is None else session.pk},
    )
    if entry.told_at is not None and at < entry.told_at:
        return entry
    entry.told, entry.told_at = told, at
    # What the platform leaves out in a later word is as it said before.
    entry.told_cents = entry.told_cents if cents is None else cents
    entry.told_fee_cents = entry.told_fee_cents if fee_cents is None else fee_cents
    entry.external_id = external_id or entry.external_id
    entry.save(update_fields=["told", "told_at", "told_cents", "told_fee_cents", "external_id"])
    return entry


_SAID = {
    State.SUBMITTED: Told.WAITING,
    State.APPROVED: Told.PAID,
    State.SCREENED_OUT: Told.PAID,
    State.RETURNED: Told.REFUSED,
    State.TIMED_OUT: Told.REFUSED,
    State.REJECTED: Told.REFUSED,
}
"""What a platform says of a reward by the state that it gives to a session."""


def follow_session(session: PanelSession, *, told_at: datetime | None = None) -> None:
    """Owe, approve or cancel the reward of a session by its state, as platforms do; its row is locked by the caller.

    Finished and screened-out sessions are owed their reward, and approved ones are approved. Returned, timed-out and
    rejected ones are owed nothing, until the platform approves them after all; another submission for the same set,
    which waits for the platform, is owed then. `told_at` is the time of the platform's word, None for a state that it
    has not spoken of.
    """
    key = make_reward_key(session)
    stored = PanelPayment.objects.filter(panel=session.panel_id, key=key)
    if session.state in (State.RETURNED, State.TIMED_OUT, State.REJECTED):
        is_cancelled = cancel(stored) > 0
        if is_cancelled and (waiting := _find_waiting(session)) is not None:
            follow_session(waiting, told_at=waiting.told_at)
    elif cents := find_reward(session):
        # Of several submissions for one set, the one that the platform approves is owed, and no longer another.
        cancel(_find_other_rewards(session))
        annotator = session.participant.membership
        # The panel's terms may have changed since: who has finished is owed what was announced to them.
        cents = _find_announced(session) or cents
        owe(panel=session.panel, key=key, kind=Kind.REWARD, cents=cents, annotator=annotator, session=session)
    if session.state == State.APPROVED:
        approve(stored)
    if told_at is not None and session.state in _SAID and stored.exists():
        record_panel_payment(
            panel=session.panel, key=key, kind=Kind.REWARD, told=_SAID[State(session.state)], at=told_at
        )


def find_reward(session: PanelSession) -> int:
    """Return what a session is owed by its outcome and the panel's terms, 0 for nothing.

    One without an outcome is owed the reward once the platform has approved it: somebody decided so there. A set is
    owed once, also where its participant came back with another session and got the code again. One that the platform
    has approved is owed before one that it has not paid.
    """
    panel = session.panel
    if panel.paid_by != Panel.Payer.PLATFORM:
        return 0
    is_earned = session.outcome == Outcome.COMPLETED or (not session.outcome and session.state == State.APPROVED)
    if session.outcome == Outcome.SCREENED_OUT:
        cents = panel.screened_out_cents
    else:
        cents = panel.reward_cents if is_earned else None
    others = _find_other_rewards(session)
    if session.state == State.APPROVED:
        others = others.filter(told=Told.PAID)
    return cents if cents and not others.exists() else 0


def _find_other_rewards(session: PanelSession) -> QuerySet[PanelPayment]:
    """Return the rewards that are owed to a session's participant for the same by other sessions in the same panel."""
    return _find_alike(session).filter(cancelled_at=None).exclude(key=make_reward_key(session))


def _find_alike(session: PanelSession) -> QuerySet[PanelPayment]:
    """Return the rewards of a session's participant for the same: for their set, or for being screened out of it."""
    rewards = PanelPayment.objects.filter(panel=session.panel_id, annotator=session.participant.membership_id)
    is_screened_out = Q(session__outcome=Outcome.SCREENED_OUT)
    alike = rewards.filter(is_screened_out if session.outcome == Outcome.SCREENED_OUT else ~is_screened_out)
    return alike.filter(kind=Kind.REWARD, cents__isnull=False)


def _find_waiting(session: PanelSession) -> PanelSession | None:
    """Return the participant's newest other session that has the set's code and waits for the platform."""
    same = PanelSession.objects.filter(participant=session.participant_id, outcome=Outcome.COMPLETED)
    waiting = same.filter(state__in=(State.FINISHED, State.SUBMITTED)).exclude(pk=session.pk)
    return waiting.select_related("panel", "participant__membership").order_by("-pk").first()


def _find_announced(session: PanelSession) -> int | None:
    """Return the reward that was owed for the same before, also if it was cancelled since; None if none was."""
    own = PanelPayment.objects.filter(panel=session.panel_id, key=make_reward_key(session), cents__isnull=False)
    found = own.first() or _find_alike(session).order_by("pk").first()
    return found.cents if found else None


def pays_by_panels(project: Project) -> bool:
    """Return whether a platform pays money for a panel of the project, or has."""
    if project.panels.filter(reward_cents__gt=0).exists():
        return True
    return PanelPayment.objects.filter(panel__project=project).exists()


def forget_ids(annotators: Iterable[Membership]) -> None:
    """Delete the platform's ids from the entries of annotators whose accounts are deleted; the amounts stay."""
    PanelPayment.objects.filter(annotator__in=list(annotators)).update(external_id="")
