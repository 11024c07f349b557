"""Consent: how an annotator stands to the project's text, agreed to before any work, and withdrawn."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction
from django.db.models import DateTimeField, Exists, Func, OuterRef, QuerySet
from django.utils.translation import gettext as _

from annotate import places
from annotate.models import Assignment, Judgment, Notice
from annotate.onboarding import notices
from annotate.places import leaving
from annotate.places.locking import lock_annotator
from projects import log
from projects.access import Right, explain_refusal
from projects.errors import Refused
from projects.models import Act, Consent, ConsentAcceptance, Membership
from projects.texts.versions import current_consent

State = Assignment.State


class ConsentFirst(Refused):
    """The text has to be agreed to before this."""


class OldVersion(Refused):
    """Another version of the text has taken the place of the one that was answered."""


@dataclass(frozen=True)
class ConsentState:
    """How one annotator stands to the consent: the newest text, what they agreed to, and whether they withdrew."""

    newest: Consent | None = None
    agreed: ConsentAcceptance | None = None
    withdrawn: ConsentAcceptance | None = None

    @property
    def is_missing(self) -> bool:
        """Whether there is a text that they have not agreed to as it stands now."""
        return self.newest is not None and (self.agreed is None or self.agreed.consent_id < self.newest.pk)

    @property
    def has_withdrawn(self) -> bool:
        return self.agreed is None and self.withdrawn is not None

    @property
    def why_not(self) -> str:
        """Why there is no work for somebody who has withdrawn; empty for anybody else."""
        if not self.has_withdrawn:
            return ""
        return _("You've left this study, so there's no work for you here. You can agree again at any time.")


def consent_states(annotators: Iterable[Membership]) -> dict[int, ConsentState]:
    """How members stand to the consent, by the id of the membership: two queries however many there are."""
    people = list(annotators)
    versions = Consent.objects.filter(project__in={each.project_id for each in people}).defer("text")
    newest = {text.project_id: text for text in versions.order_by("project_id", "-version").distinct("project_id")}
    rows: dict[int, list[ConsentAcceptance]] = {}
    if newest:
        accepted = ConsentAcceptance.objects.filter(membership__in=people).select_related("consent")
        for row in accepted.defer("consent__text").order_by("pk"):
            rows.setdefault(row.membership_id, []).append(row)
    return {each.pk: _standing(newest.get(each.project_id), rows.get(each.pk, [])) for each in people}


def consent_state(annotator: Membership) -> ConsentState:
    return consent_states([annotator])[annotator.pk]


def require_consent(annotator: Membership) -> None:
    """Raise ConsentFirst for somebody who has not agreed to the project's text as it stands now."""
    standing = consent_state(annotator)
    if standing.is_missing:
        raise ConsentFirst(standing.why_not or _("Please read the consent and agree first."))


def explain_withdrawal(annotator: Membership) -> str:
    """The sentence for somebody who has withdrawn and not agreed again; empty for anybody else."""
    return consent_state(annotator).why_not


@transaction.atomic
def agree(*, annotator: Membership, version: int) -> bool:
    """Agree to the project's text; False where they had. Raises OldVersion where it has a newer one, and Refused.

    Locks the membership.
    """
    lock_annotator(annotator)
    if refusal := explain_refusal(annotator, Right.WORK):
        raise Refused(refusal)
    newest = current_consent(annotator.project)
    if newest is None:
        raise Refused(_("This project doesn't ask for consent."))
    if newest.version != version:
        raise OldVersion(_("The text changed while you were reading. This is the new version."))
    _row, is_new = ConsentAcceptance.objects.get_or_create(membership=annotator, consent=newest, withdrawn_at=None)
    if is_new:
        log.record(annotator.project, annotator, Act.AGREE_TO_CONSENT, newest)
    return is_new


@dataclass(frozen=True)
class Withdrawal:
    """The effect of withdrawing: HITs submitted and their judgments that count; taken out or kept."""

    n_hits: int
    n_judgments: int
    has_open_one: bool


def plan_withdrawal(annotator: Membership) -> Withdrawal:
    """What there is to keep or to take out."""
    work = _given(annotator)
    return Withdrawal(
        n_hits=work.count(),
        n_judgments=Judgment.objects.filter(assignment__in=work, is_counted=True, candidate__isnull=False).count(),
        has_open_one=Assignment.objects.open().filter(annotator=annotator).exists(),
    )


@transaction.atomic
def withdraw(*, annotator: Membership, takes_out: bool) -> Withdrawal:
    """End the consent: open work goes to others, and with `takes_out` nothing that was given counts any more.

    What is taken out stays out, also after agreeing again. Pay stays owed. The managers find a message on their
    desks. Raises Refused where nothing is agreed to. Locks as a removal does.
    """
    lock_annotator(annotator)
    agreed = ConsentAcceptance.objects.filter(membership=annotator, withdrawn_at=None)
    if not agreed.exists():
        raise Refused(_("You've already withdrawn your consent, or you never agreed."))
    chosen = _given(annotator) if takes_out else Assignment.objects.none()
    # what is open now may have expired before it is locked
    unsent = Assignment.objects.filter(annotator=annotator, state__in=(State.OPEN, State.EXPIRED))
    unsent_ids = list(unsent.values_list("pk", flat=True))
    held = leaving.lock_work(annotator, chosen, *unsent_ids)
    plan = plan_withdrawal(annotator)
    again, kept = leaving.split_by_reopening(held, chosen)
    n_withdrawn = leaving.release_open_work(held)
    places.withdraw_expired(unsent_ids)
    places.exclude_for_good(again, reopens=True)
    places.exclude_for_good(kept, reopens=False)
    newest = agreed.latest("consent_id").consent
    agreed.update(withdrawn_at=_CLOCK, is_taken_out=takes_out)
    n_out = len(again) + len(kept)
    after = {"is_taken_out": takes_out, "taken_out": n_out, "withdrawn": n_withdrawn, "version": newest.version}
    log.record(annotator.project, annotator, Act.WITHDRAW_CONSENT, annotator, after=after)
    _tell_managers(annotator, n_out if takes_out else None)
    return plan


_CLOCK = Func(function="clock_timestamp", output_field=DateTimeField())
"""Not the transaction's start: what was submitted while the lock was waited for is taken out too."""


def _given(annotator: Membership) -> QuerySet[Assignment]:
    """What they have submitted and not taken out before."""
    taken_out = Judgment.objects.filter(assignment=OuterRef("pk"), not_counted_reason=places.TAKEN_OUT)
    return Assignment.objects.submitted().filter(annotator=annotator).exclude(Exists(taken_out))


def _standing(newest: Consent | None, rows: list[ConsentAcceptance]) -> ConsentState:
    holding = [row for row in rows if row.withdrawn_at is None]
    ended = [row for row in rows if row.withdrawn_at is not None]
    agreed = max(holding, key=lambda row: row.consent_id, default=None)
    return ConsentState(newest, agreed, ended[-1] if ended else None)


def _tell_managers(annotator: Membership, n_out: int | None) -> None:
    """On the desk of each manager, in the site's own language: they look at it, and restart what has to be."""
    text = f"{annotator.pseudonym} withdrew their consent and no longer works in this project."
    if n_out is None:
        text += " Their judgments may still be used."
    elif not n_out:
        text += " They had submitted nothing to remove."
    else:
        text += (
            f" They removed {n_out:,} submitted HIT{'' if n_out == 1 else 's'}: these judgments no longer count, "
            "and other annotators will redo them, except in archived batches."
        )
    managers = annotator.project.memberships.active().people().filter(role__in=("manager", "owner"))
    ids = managers.exclude(pk=annotator.pk).values_list("pk", flat=True)
    notices.send(annotators=ids, text=text, kind=Notice.Kind.DECISION, actor=None)
