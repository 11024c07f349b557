"""Waiting: what of somebody's pay is not approved yet, and why; what they earned today."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone

from annotate.models import Assignment
from annotate.payments.ledger import Sums, sums_today_of
from projects.models import Membership, Project

State = Assignment.State


@dataclass(frozen=True)
class PendingPay:
    """Why the pay of a submitted HIT waits: until when it is approved by itself at the latest, or for a manager."""

    waits: bool = False
    until: datetime | None = None


@dataclass(frozen=True)
class Today:
    """One annotator's pay now: all sums, earned since midnight UTC, and when the next that waits approves itself."""

    sums: Sums = field(default_factory=Sums)
    cents: int = 0
    next_at: datetime | None = None


def approval_due_at(submitted_at: datetime, project: Project) -> datetime | None:
    """When a HIT is approved by itself: after the project's days, and never while its annotator may change it."""
    if project.approve_after_days is None:
        return None
    waits = max(timedelta(days=project.approve_after_days), timedelta(minutes=project.revision_minutes))
    return max(submitted_at + waits, timezone.now())


def find_pending(assignment: Assignment) -> PendingPay:
    """Why an assignment waits; its annotator's project is fetched."""
    if assignment.state != State.SUBMITTED or assignment.submitted_at is None:
        return PendingPay()
    return PendingPay(True, approval_due_at(assignment.submitted_at, assignment.annotator.project))


def sum_today(annotators: Sequence[Membership]) -> dict[int, Today]:
    """What each annotator's pay stands at, by the id of the membership: one query. Their projects are fetched."""
    projects = {annotator.pk: annotator.project for annotator in annotators}
    found = sums_today_of(annotators)
    return {
        pk: Today(found[pk].sums, found[pk].cents, (first := found[pk].first_at) and approval_due_at(first, project))
        for pk, project in projects.items()
    }
