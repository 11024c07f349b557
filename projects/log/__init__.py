"""Writing the log; an act calls this inside its own transaction."""

from typing import Any

from django.db.models import Model

from projects.models import LogEntry, Membership, Project


def record(
    project: Project,
    actor: Membership | None,
    act: str,
    obj: Model | None = None,
    *,
    before: Any = None,
    after: Any = None,
    why: str = "",
) -> LogEntry:
    """Add one line. `actor` None is the system; `before` and `after` hold no personal data."""
    return LogEntry.objects.create(
        project=project,
        actor=actor,
        act=act,
        object_type=obj._meta.model_name or "" if obj is not None else "",
        object_id=str(obj.pk) if obj is not None else "",
        before=before,
        after=after,
        why=why,
    )
