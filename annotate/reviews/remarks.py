"""Comments and flags: resolving and reopening what annotators wrote about items."""

from django.db import transaction
from django.db.models.functions import Now

from annotate.models import Remark
from projects import log
from projects.models import Act, Membership, Project


@transaction.atomic
def resolve(*, project: Project, actor: Membership | None, remark: Remark) -> bool:
    """Mark a comment as resolved; return False if it already was."""
    # One UPDATE with the old state in its filter: of two managers who press at once, only the first is logged.
    changed = Remark.objects.filter(pk=remark.pk, resolved_at=None).update(resolved_at=Now())
    if changed:
        log.record(project, actor, Act.RESOLVE_REMARK, remark)
    return bool(changed)


@transaction.atomic
def reopen_remark(*, project: Project, actor: Membership | None, remark: Remark) -> bool:
    """Reopen a resolved comment; return False if it was open."""
    changed = Remark.objects.filter(pk=remark.pk, resolved_at__isnull=False).update(resolved_at=None)
    if changed:
        log.record(project, actor, Act.TAKE_UP_REMARK_AGAIN, remark)
    return bool(changed)
