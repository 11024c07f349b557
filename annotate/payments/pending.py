"""Pending pay: what is not approved yet and why, and what was earned today."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone

from annotate.models import Assignment
from annotate.payments.ledger import Sums, fetch_sums_today
from projects.models import Membership

State = Assignment.State


@dataclass(frozen=True)
class PendingPay:
    """Why the pay of a HIT is pending: until its automatic approval, or until a manager approves it."""

    waits: bool = False
    until: datetime | None = None


@dataclass(frozen=True)
class Today:
    """One annotator's pay now: all sums, the amount since midnight UTC, and the next automatic approval."""

    sums: Sums = field(default_factory=Sums)
    cents: int = 0
    next_at: datetime | None = None


def approval_due_at(submitted_at: datetime, annotator: Membership) -> datetime | None:
    """Return when a HIT is approved automatically, or None if a manager must approve it.

    That is after the project's number of days, and not while the annotator may still edit the HIT. The work of
    suspended and removed annotators is left for a manager. The annotator's project is fetched.
    """
    project = annotator.project
    if project.approve_after_days is None or not annotator.is_active:
        return None
    waits = max(timedelta(days=project.approve_after_days), timedelta(minutes=project.revision_minutes))
    # Never in the past: what is due is approved within the hour, and a page that promises yesterday confuses.
    return max(submitted_at + waits, timezone.now())


def find_pending(assignment: Assignment) -> PendingPay:
    """Return why an assignment's pay is pending; its annotator's project is fetched."""
    if assignment.state != State.SUBMITTED or assignment.submitted_at is None:
        return PendingPay()
    return PendingPay(True, approval_due_at(assignment.submitted_at, assignment.annotator))


def sum_today(annotators: Sequence[Membership]) -> dict[int, Today]:
    """Return each annotator's pay by membership id, with one query; their projects are fetched."""
    found = fetch_sums_today(annotators)
    return {
        each.pk: Today(
            found[each.pk].sums,
            found[each.pk].cents,
            (first := found[each.pk].first_at) and approval_due_at(first, each),
        )
        for each in annotators
    }
