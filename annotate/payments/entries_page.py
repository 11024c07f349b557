"""The list of one annotator's ledger entries, for the annotator and for managers."""

from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import render

from annotate.models import LedgerEntry
from annotate.payments import ledger
from annotate.payments.pending import approval_due_at, sum_today
from projects.access import ProjectRequest
from projects.models import Membership, Project
from projects.web.lists import paginate, read_word

Stage = LedgerEntry.Stage
BY_STAGE = {
    Stage.OWED: Q(approved_at=None),
    Stage.APPROVED: Q(approved_at__isnull=False, payment=None),
    Stage.PAID: Q(payment__isnull=False),
}
"""The filter for the entries of each stage."""


def render_entries(
    request: ProjectRequest, member: Membership, template: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Render a member's ledger entries with their sums; annotators and managers get different templates."""
    state = read_word(request, "state", Stage.values)
    entries: QuerySet[LedgerEntry] = member.ledger.select_related(
        "payment", "made_by", "batch", "assignment__hit"
    ).order_by("-pk")
    if state:
        entries = entries.filter(BY_STAGE[Stage(state)])
    sums = ledger.sum_by_annotator([member])[member.pk]
    page = paginate(request, entries)
    # Set on the entries of this page alone: the template can't compute it, and the list may have thousands.
    for entry in page:
        entry.waits_until = _find_approval_time(entry, member)
    context = {
        **context,
        "sums": sums,
        "today": sum_today([member])[member.pk],
        "is_under_floor": sums.hourly.is_under(member.project.hourly_floor_cents),
        "page": page,
        "state": state,
        "states": Stage.choices,
    }
    return render(request, template, context, status=status)


def _find_approval_time(entry: LedgerEntry, member: Membership) -> datetime | None:
    """Return when the pay of a HIT is approved automatically, or None if a manager must approve it."""
    submitted_at = entry.assignment.submitted_at if entry.assignment else None
    return None if submitted_at is None or entry.approved_at else approval_due_at(submitted_at, member)


def require_paying(project: Project) -> None:
    """Raise Http404 in a project that pays nothing."""
    if not ledger.pays_anything(project):
        raise Http404("There is no such page in this project.")
