"""Writing the audit log; an act calls this inside its own transaction."""

from typing import Any

from django.contrib.postgres.functions import TransactionNow
from django.db.models import Model

from projects.log import freshness
from projects.models import Act, FigureChange, LogEntry, Membership, Project


def record(
    project: Project,
    actor: Membership | None,
    act: Act,
    obj: Model | None = None,
    *,
    before: Any = None,
    after: Any = None,
    why: str = "",
    is_of_transaction: bool = False,
) -> LogEntry:
    """Add one line to the audit log, and mark the figures that the act makes stale.

    Call it inside the transaction of the act, so that neither exists without the other. `actor` None means the system.
    `before` and `after` must hold no personal data: a line can never be changed or removed. With `is_of_transaction`
    the line has the time at which the transaction began, as rows have that SQL's `now()` dates.
    """
    mark_stale(project, act, obj)
    times = {"at": TransactionNow()} if is_of_transaction else {}
    return LogEntry.objects.create(
        project=project,
        actor=actor,
        act=act,
        object_type=obj._meta.model_name or "" if obj is not None else "",
        object_id=str(obj.pk) if obj is not None else "",
        before=before,
        after=after,
        why=why,
        **times,
    )


def mark_stale(project: Project, act: Act, obj: Model | None = None) -> None:
    """Mark the figures that the act makes stale, once more if it goes on after its line in the audit log."""
    if act in freshness.NOTHING:
        return
    reach, assignment_id = FigureChange.Reach.RESULTS, None
    if act in freshness.ANNOTATORS:
        reach = FigureChange.Reach.ANNOTATORS
    elif act == Act.REVISE_WORK and obj is not None:
        reach, assignment_id = FigureChange.Reach.WORK, obj.pk
    FigureChange.objects.create(project=project, reach=reach, assignment_id=assignment_id)
