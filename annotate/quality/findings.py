"""Resolving findings, which pages call alerts: dismissed, or acted on."""

from collections.abc import Collection

from django.db import transaction
from django.utils import timezone

from annotate.models import Finding
from projects import log
from projects.errors import Refused
from projects.models import Act, Membership, Project

State = Finding.State


@transaction.atomic
def resolve_finding(
    *, project: Project, findings: Collection[int], actor: Membership, state: str = State.DISMISSED, note: str = ""
) -> int:
    """Resolve the open ones among these findings of the project and return how many; repeating it changes nothing.

    Raises Refused for any other state. Locks the findings in order of id.
    """
    if state not in (State.DISMISSED, State.ACTED):
        raise Refused("Choose how the alert was resolved: dismissed or acted on.")
    rows = Finding.objects.select_for_update(of=("self",), no_key=True).select_related("annotator")
    now = timezone.now()
    n_resolved = 0
    # Rows are locked in order of id, so that two managers who resolve overlapping lists wait instead of deadlocking;
    # the second finds what the first resolved no longer open.
    for finding in rows.filter(pk__in=findings, annotator__project=project, state=State.OPEN).order_by("pk"):
        finding.state, finding.settled_by, finding.settled_at, finding.note = state, actor, now, note
        finding.updated_at = now
        finding.save(update_fields=["state", "settled_by", "settled_at", "note", "updated_at"])
        log.record(
            project,
            actor,
            Act.DISMISS_FINDING if state == State.DISMISSED else Act.ACT_ON_FINDING,
            finding.annotator,
            before={"kind": finding.kind, "state": State.OPEN},
            after={"kind": finding.kind, "state": state},
            why=note,
        )
        n_resolved += 1
    return n_resolved
