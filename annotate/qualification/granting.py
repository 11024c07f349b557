"""Managers' decisions on who is qualified: granting a qualification without the test, and revoking one."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from annotate.models import Grant, Qualification, QualificationTest
from annotate.places.locking import lock_annotator
from projects import log
from projects.errors import Refused
from projects.models import Act, Membership


@transaction.atomic
def grant(*, annotator: Membership, actor: Membership, why: str) -> None:
    """Qualify an annotator as if they had passed now. Raises Refused without a reason; locks the membership."""
    _decide(annotator, actor, Grant.Kind.GRANTED, why)


@transaction.atomic
def revoke(*, annotator: Membership, actor: Membership, why: str) -> None:
    """Revoke a qualification; only another grant restores it. HITs in progress can still be finished.

    Raises Refused without a reason; locks the membership.
    """
    _decide(annotator, actor, Grant.Kind.REVOKED, why)


def _decide(annotator: Membership, actor: Membership, kind: Grant.Kind, why: str) -> None:
    why = why.strip()
    if not why:
        raise Refused("Give a reason. It is recorded in the audit log.")
    # The lock also waits for a submit of the test, after which this decision is the later one and holds.
    lock_annotator(annotator)
    if not annotator.is_annotator:
        raise Refused("Only annotators in this project can be qualified.")
    test = QualificationTest.objects.filter(project=annotator.project_id).first()
    if test is None:
        raise Refused("This project has no qualification test yet.")
    # One time for both rows: `_qualify` compares a grant's time with the beginning of an attempt.
    now = timezone.now()
    is_granted = kind == Grant.Kind.GRANTED
    Grant.objects.create(annotator=annotator, kind=kind, why=why, given_by=actor, given_at=now)
    Qualification.objects.update_or_create(
        annotator=annotator,
        defaults={
            "is_qualified": is_granted,
            "rubric_id": test.rubric_id,
            "since": now,
            "until": now + timedelta(days=test.valid_days) if is_granted and test.valid_days else None,
        },
    )
    act = Act.GRANT_QUALIFICATION if is_granted else Act.REVOKE_QUALIFICATION
    log.record(annotator.project, actor, act, annotator, after={"kind": str(kind)}, why=why)
