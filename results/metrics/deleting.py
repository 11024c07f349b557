"""Deleting the scores of a metric: of one run and of the older ones that it stands for."""

from django.db import transaction
from django.utils.translation import gettext as _

from projects import log
from projects.errors import Refused
from projects.models import Membership
from results.metrics.storing import delete_runs
from results.models import MetricRun


def delete_run(*, run: MetricRun, actor: Membership) -> None:
    """Take a run away with its scores; studies keep what they computed of it. Raises Refused while it is at work.

    Who asked for it may, and managers.
    """
    if not may_delete(run, actor):
        raise Refused(_("Only who asked for these scores, or a manager, deletes them."))
    with transaction.atomic():
        rows = MetricRun.objects.filter(pk=run.pk).exclude(state__in=MetricRun.LIVE)
        if not rows.select_for_update().exists():
            raise Refused(_("It is at work. Cancel it first."))
        delete_runs(rows)
        after = {"metric": run.metric, "origin": run.origin, "settings": run.settings, "n_scored": run.n_scored}
        log.record(run.project, actor, "delete metric run", run, before=after)


def may_delete(run: MetricRun, actor: Membership) -> bool:
    return actor.can_manage or run.requested_by_id == actor.pk
