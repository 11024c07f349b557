"""Purging: the data of a project that was deleted long enough ago are deleted for good."""

import logging
from collections import deque
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from django.apps import apps
from django.db import connection, models, transaction
from django.utils import timezone

from projects.database import erasures
from projects.errors import Refused
from projects.models import LogEntry, Project, Pulse

Model = type[models.Model]
ForeignKey: TypeAlias = "models.ForeignKey[Any, Any]"
logger = logging.getLogger(__name__)
KIND = "project"
"""The name of purges in the list that a restored backup repeats."""
LONGEST_STEP = timedelta(days=2)
"""How far the time of purges goes on from one to the next, which is made every night."""


def purge_due() -> list[str]:
    """Purge the deleted projects whose time is over, and return their addresses.

    A clock that is wrong by weeks must not delete them at once: nothing brings them back, not even a backup.
    """
    clock, until = timezone.now(), _find_time()
    deleted = Project.objects.filter(deleted_at__isnull=False)
    if n_early := deleted.filter(purged_after__gt=until, purged_after__lte=clock).count():
        logger.warning(
            "Deleted projects that are due: %d. They are not purged yet, because the clock (%s) is far ahead of the "
            "night before, or the site was off. Each night they come nearer by %d days. Check the clock.",
            *(n_early, clock.isoformat(timespec="minutes"), LONGEST_STEP.days),
        )
    due = deleted.filter(purged_after__lte=until).values_list("slug", flat=True).order_by("pk")
    return [slug for slug in due if _purge_if_due(slug, until)]


def _find_time() -> datetime:
    """Return the time up to which projects are purged: what the clock says, but little more than at the purge before.

    Before the first one the audit log knows a time: it has the deletion of each project.
    """
    now = timezone.now()
    known = Pulse.objects.filter(process=Pulse.PURGE).values_list("seen_at", flat=True).first()
    before = known or LogEntry.objects.values_list("at", flat=True).order_by("-pk").first() or now
    until = min(now, before + LONGEST_STEP)
    Pulse.objects.update_or_create(process=Pulse.PURGE, defaults={"seen_at": until})
    return until


@transaction.atomic
def purge(*, slug: str) -> int:
    """Delete every row of a deleted project; return how many that were. Raises Refused unless it is deleted.

    Stored files whose rows are gone are deleted by the tasks that tidy up. Accounts stay: they belong to no project.
    The purge is repeated when an older backup is restored.
    """
    project = Project.objects.select_for_update().filter(slug=slug).first()
    if project is None:
        raise Refused(f"Project “{slug}” does not exist.")
    if project.deleted_at is None:
        raise Refused(f"The project “{slug}” is not deleted. Delete it on its settings page first.")
    return _purge(project)


@transaction.atomic
def _purge_if_due(slug: str, until: datetime) -> bool:
    project = Project.objects.select_for_update().filter(slug=slug).first()
    # It may have been restored since the list was read.
    if project is None or project.purged_after is None or project.purged_after > until:
        return False
    n_rows = _purge(project)
    logger.info("The deleted project %s was purged: %d rows.", slug, n_rows)
    return True


def repeat(key: dict[str, Any]) -> bool:
    """Purge a project that a restored backup has brought back; return False if it is not there."""
    # The number alone could be that of another project, created after the backup was restored for the first time.
    found = Project.objects.filter(pk=key["project"], created_at=datetime.fromisoformat(key["created"]))
    with transaction.atomic():
        project = found.select_for_update().first()
        if project is not None:
            _delete_rows(project)
    return project is not None


erasures.register(KIND, repeat)


def _purge(project: Project) -> int:
    n_rows = _delete_rows(project)
    erasures.remember(KIND, {"project": project.pk, "created": project.created_at.isoformat()})
    return n_rows


def _delete_rows(project: Project) -> int:
    """Delete the rows of every table that leads to the project, the furthest first."""
    n_rows = 0
    with connection.cursor() as cursor:
        # Two triggers, of the audit log and of frozen sets, let rows be deleted only in such a transaction.
        cursor.execute("SET LOCAL concord.purging = 'on'")
        for model, condition in reversed(_find_paths()):
            cursor.execute(f"DELETE FROM {model._meta.db_table} WHERE {condition}", {"project": project.pk})
            n_rows += cursor.rowcount
        # Foreign keys are checked when a transaction ends, or now: a row that was overlooked stops the purge here.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
        cursor.execute("SET LOCAL concord.purging = 'off'")
    return n_rows


def _find_paths() -> list[tuple[Model, str]]:
    """Return each model whose rows belong to a project, with the condition for those of one, nearest first.

    A model may lead to a project in several ways; the shortest without NULLs is taken.
    """
    children: dict[Model, list[tuple[Model, ForeignKey]]] = {}
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.concrete_fields:
            if isinstance(field, models.ForeignKey) and isinstance(field.related_model, type):
                children.setdefault(field.related_model, []).append((model, field))
    found: dict[Model, str] = {Project: "id = %(project)s"}
    # Keys that may be NULL come after all others: rows without a value would be left.
    ways, later = deque[Model]([Project]), deque[tuple[Model, Model, ForeignKey]]()
    while ways or later:
        if ways:
            parent = ways.popleft()
            for model, field in children.get(parent, []):
                if model not in found:
                    if field.null:
                        later.append((parent, model, field))
                    else:
                        found[model] = _condition(field, parent, found[parent])
                        ways.append(model)
        else:
            parent, model, field = later.popleft()
            if model not in found:
                found[model] = _condition(field, parent, found[parent])
                ways.append(model)
    return list(found.items())


def _condition(field: ForeignKey, parent: Model, condition: str) -> str:
    if parent is Project:
        return f"{field.column} = %(project)s"
    return f"{field.column} IN (SELECT {field.target_field.column} FROM {parent._meta.db_table} WHERE {condition})"
