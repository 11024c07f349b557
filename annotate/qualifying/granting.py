"""A manager's word that somebody is qualified, or is not any more."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.models import Grant, Qualification, QualificationTest
from annotate.places.locking import lock_annotator
from projects import log
from projects.errors import Refused
from projects.models import Membership


@transaction.atomic
def grant(*, annotator: Membership, actor: Membership, why: str) -> None:
    """Let somebody in as if they had passed now. Raises Refused without a reason; locks the membership."""
    _say(annotator, actor, Grant.Kind.GRANTED, why)


@transaction.atomic
def revoke(*, annotator: Membership, actor: Membership, why: str) -> None:
    """End somebody's qualification; only another grant gives it back. What they have open they may finish.

    Raises Refused without a reason; locks the membership.
    """
    _say(annotator, actor, Grant.Kind.REVOKED, why)


def _say(annotator: Membership, actor: Membership, kind: Grant.Kind, why: str) -> None:
    why = why.strip()
    if not why:
        raise Refused(_("Say why; the reason is kept in the log."))
    lock_annotator(annotator)
    if not annotator.is_annotator:
        raise Refused(_("Only somebody who rates in this project can be qualified for it."))
    test = QualificationTest.objects.filter(project=annotator.project_id).first()
    if test is None:
        raise Refused(_("This project has no qualification test yet."))
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
    act = "grant qualification" if is_granted else "revoke qualification"
    log.record(annotator.project, actor, act, annotator, after={"kind": str(kind)}, why=why)
