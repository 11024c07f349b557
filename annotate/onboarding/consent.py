"""Consent to the project's text: agreed to before any work, and withdrawn."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotate.models import Assignment, Notice, SurveyResponse
from annotate.onboarding import notices
from annotate.onboarding.survey_answers import count_answered, forget_answers, has_allowed_publication
from annotate.places import leaving
from annotate.places.locking import lock_annotator
from projects import log
from projects.access import Right, explain_refusal
from projects.database import erasures
from projects.errors import Refused
from projects.models import Act, Consent, ConsentAcceptance, Membership
from projects.texts.versions import current_consent

KIND = "consent"
"""The name of these withdrawals in the list that a restored backup repeats."""


class ConsentFirst(Refused):
    """The annotator must agree to the project's text first."""


class OldVersion(Refused):
    """There is a newer version of the text than the one that was agreed to."""


@dataclass(frozen=True)
class ConsentState:
    """One annotator's consent: the newest text, the version they agreed to, and the one they withdrew from, if any."""

    newest: Consent | None = None
    agreed: ConsentAcceptance | None = None
    withdrawn: ConsentAcceptance | None = None

    @property
    def is_missing(self) -> bool:
        """Whether the project has a text whose newest version they have not agreed to."""
        return self.newest is not None and (self.agreed is None or self.agreed.consent_id < self.newest.pk)

    @property
    def has_withdrawn(self) -> bool:
        return self.agreed is None and self.withdrawn is not None

    @property
    def why_not(self) -> str:
        """The reason why an annotator who has withdrawn gets no work; empty for anyone else."""
        if not self.has_withdrawn:
            return ""
        return _("You've left this study, so there's no work for you here. You can agree again at any time.")


def consent_states(annotators: Iterable[Membership]) -> dict[int, ConsentState]:
    """Return the consent of each member by membership id, with two queries for all of them."""
    people = list(annotators)
    versions = Consent.objects.filter(project__in={each.project_id for each in people}).defer("text")
    newest = {text.project_id: text for text in versions.order_by("project_id", "-version").distinct("project_id")}
    rows: dict[int, list[ConsentAcceptance]] = {}
    if newest:
        accepted = ConsentAcceptance.objects.filter(membership__in=people).select_related("consent")
        for row in accepted.defer("consent__text").order_by("pk"):
            rows.setdefault(row.membership_id, []).append(row)
    return {each.pk: _read_state(newest.get(each.project_id), rows.get(each.pk, [])) for each in people}


def consent_state(annotator: Membership) -> ConsentState:
    return consent_states([annotator])[annotator.pk]


def require_consent(annotator: Membership) -> None:
    """Raise ConsentFirst if the annotator has not agreed to the newest version of the project's text."""
    state = consent_state(annotator)
    if state.is_missing:
        raise ConsentFirst(state.why_not or _("Please read the consent and agree first."))


def explain_withdrawal(annotator: Membership) -> str:
    """Return the sentence for an annotator who has withdrawn and not agreed again, or an empty text."""
    return consent_state(annotator).why_not


@transaction.atomic
def agree(*, annotator: Membership, version: int) -> bool:
    """Record the consent to a version of the project's text; return False if it was recorded before.

    Raises OldVersion if there is a newer version, Refused if the project asks for no consent or the annotator may not
    work. Locks the membership.
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
    """What a withdrawal of consent concerns: submitted HITs, their counted judgments, an open HIT, answered surveys."""

    n_hits: int
    n_judgments: int
    has_open_hit: bool
    n_surveys: int = 0
    may_be_published: bool = False
    """Whether answers to surveys may be in files that were created before."""


def plan_withdrawal(annotator: Membership) -> Withdrawal:
    """Return the work that the annotator can keep or remove."""
    n_hits, n_judgments = leaving.count_submitted(annotator)
    return Withdrawal(
        n_hits,
        n_judgments,
        has_open_hit=Assignment.objects.open().filter(annotator=annotator).exists(),
        n_surveys=count_answered(annotator),
        may_be_published=has_allowed_publication(Membership.objects.filter(pk=annotator.pk)),
    )


@transaction.atomic
def withdraw(*, annotator: Membership, removes_work: bool) -> Withdrawal:
    """End the consent: open work goes to others, and with `removes_work` no submitted judgment counts any more.

    Answers to surveys are deleted. Removed work stays removed, even if the annotator agrees again. Pay stays owed.
    Managers get a message on their desks. All of this is repeated when an older backup is restored. Raises Refused if
    there is no consent to withdraw. Locks the membership, then batches, assignments and HITs.
    """
    lock_annotator(annotator)
    agreed = ConsentAcceptance.objects.filter(membership=annotator, withdrawn_at=None)
    if not agreed.exists():
        raise Refused(_("You've already withdrawn your consent, or you never agreed."))
    plan = plan_withdrawal(annotator)
    chosen = leaving.find_submitted(annotator) if removes_work else Assignment.objects.none()
    at = _end(annotator, agreed, chosen, removes_work=removes_work)
    key = {"membership": annotator.pk, "joined": annotator.joined_at.isoformat(), "at": at.isoformat()}
    erasures.remember(KIND, {**key, "removes_work": removes_work})
    return plan


def repeat(key: dict[str, Any]) -> bool:
    """Withdraw again what a restored backup has brought back; return False if nothing is there.

    What the annotator has agreed to or done since they withdrew stays.
    """
    at, removes_work = datetime.fromisoformat(key["at"]), bool(key["removes_work"])
    # The number alone could be that of somebody else, who joined after the backup was restored for the first time.
    found = Membership.objects.filter(pk=key["membership"], joined_at=datetime.fromisoformat(key["joined"]))
    with transaction.atomic():
        annotator = found.select_related("project").first()
        if annotator is None:
            return False
        lock_annotator(annotator)
        if ConsentAcceptance.objects.filter(membership=annotator, withdrawn_at=at).exists():
            return False
        agreed = ConsentAcceptance.objects.filter(membership=annotator, withdrawn_at=None, accepted_at__lte=at)
        work = leaving.find_submitted(annotator) if removes_work else Assignment.objects.none()
        chosen = work.filter(submitted_at__lte=at)
        answers = SurveyResponse.objects.filter(annotator=annotator, answered_at__lte=at).exclude(answers={})
        if not (agreed.exists() or chosen.exists() or answers.exists()):
            return False
        _end(annotator, agreed, chosen, removes_work=removes_work, at=at)
    return True


erasures.register(KIND, repeat)


def _end(
    annotator: Membership,
    agreed: QuerySet[ConsentAcceptance],
    chosen: QuerySet[Assignment],
    *,
    removes_work: bool,
    at: datetime | None = None,
) -> datetime:
    """End these agreements with the annotator's open work and the chosen work; return when that was."""
    n_withdrawn, n_removed = leaving.leave_for_good(annotator, chosen)
    newest = agreed.select_related("consent").order_by("consent_id").last()
    forget_answers(annotator)
    at = at or _read_clock()
    agreed.update(withdrawn_at=at, is_taken_out=removes_work)
    after = {
        "is_taken_out": removes_work,
        "taken_out": n_removed,
        "withdrawn": n_withdrawn,
        "version": newest.consent.version if newest else None,
    }
    log.record(annotator.project, annotator, Act.WITHDRAW_CONSENT, annotator, after=after)
    _tell_managers(annotator, n_removed if removes_work else None)
    return at


def _read_clock() -> datetime:
    """Return the current time and not the start of the transaction.

    Work that was submitted while a withdrawal waited for its lock is removed too, and must not seem to come after it.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        at: datetime = cursor.fetchone()[0]
    return at


def _read_state(newest: Consent | None, rows: list[ConsentAcceptance]) -> ConsentState:
    holding = [row for row in rows if row.withdrawn_at is None]
    ended = [row for row in rows if row.withdrawn_at is not None]
    agreed = max(holding, key=lambda row: row.consent_id, default=None)
    return ConsentState(newest, agreed, ended[-1] if ended else None)


def _tell_managers(annotator: Membership, n_removed: int | None) -> None:
    """Put a message on each manager's desk, in English as all of their pages: they may have to reopen batches."""
    text = f"{annotator.pseudonym} withdrew their consent and no longer works in this project."
    if n_removed is None:
        text += " Their judgments may still be used."
    elif not n_removed:
        text += " They had submitted nothing to remove."
    else:
        text += (
            f" They removed {n_removed:,} submitted HIT{'' if n_removed == 1 else 's'}: these judgments no longer "
            "count, and other annotators will redo them, except in archived batches."
        )
    managers = annotator.project.memberships.active().people().filter(role__in=("manager", "owner"))
    ids = managers.exclude(pk=annotator.pk).values_list("pk", flat=True)
    notices.send(annotators=ids, text=text, kind=Notice.Kind.DECISION, actor=None)
