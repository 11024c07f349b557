"""Background tasks of judging: imports, expired assignments, annotators' figures, and the nightly check of rules."""

import logging

from celery import shared_task
from django.db import transaction

from annotate import places
from annotate.batches import completion
from annotate.controls import control_jobs
from annotate.imports import uploading
from annotate.integrity import daily_counts, verifying
from annotate.mailing import digests
from annotate.models import ControlJob, Import
from annotate.moderation import decisions
from annotate.panels import sessions
from annotate.prolific import receiving, tending
from annotate.quality import monitoring
from annotate.reviews import spot_checks
from projects.database.outages import is_unavailable
from projects.jobs import running

logger = logging.getLogger(__name__)

PORTION = 500
"""Assignments ended in one transaction."""


@shared_task(name="annotate.sweep", ignore_result=True)
def sweep() -> None:
    """End what is over, in portions with one transaction each, so that locks are held for a short time.

    That is expired assignments, sessions of panels with their reserved places, and files that no row names.
    """
    # A full portion means that there may be more.
    n_freed = PORTION
    while n_freed == PORTION:
        with transaction.atomic():
            n_freed = places.sweep(limit=PORTION)
    sessions.end_overdue()
    with transaction.atomic():
        places.release_overdue(limit=PORTION)
    uploading.FILES.delete_orphans()


@shared_task(name="annotate.check", ignore_result=True)
def check() -> None:
    """Update figures, findings and spot checks of projects with new work, each in separate transactions."""
    for project in monitoring.find_stale_projects():
        try:
            monitoring.refresh_figures(project=project)
            spot_checks.draw_spot_checks(project=project)
        except Exception as error:  # one project must not stop the others
            if is_unavailable(error):
                raise
            logger.exception("Updating the figures of project %d failed.", project.pk)


@shared_task(name="annotate.announce_complete", ignore_result=True)
def announce_complete() -> None:
    completion.announce_complete()


@shared_task(name="annotate.send_digests", ignore_result=True)
def send_digests() -> None:
    digests.send_digests()


@shared_task(name="annotate.tend_prolific", ignore_result=True)
def tend_prolific() -> None:
    """Follow what happens on Prolific: submissions, approvals, places."""
    tending.tend_all()
    receiving.forget_old()


@shared_task(name="annotate.read_prolific_messages", ignore_result=True)
def read_prolific_messages() -> None:
    tending.read_messages()


@shared_task(name="annotate.approve_due", ignore_result=True)
def approve_due() -> None:
    decisions.approve_all_due()


@shared_task(name="annotate.verify", ignore_result=True)
def verify() -> None:
    for breach in verifying.verify():
        logger.error("%s: %s Broken by %d: %s %s", breach.rule, breach.sentence, breach.n, breach.of, breach.ids)
    daily_counts.count_day()


@shared_task(name=ControlJob.task, ignore_result=True)
def make_controls(pk: int) -> None:
    control_jobs.run(pk)


@shared_task(name=Import.task, ignore_result=True)
def run_import(pk: int) -> None:
    if running.run(Import, pk, uploading.run_step) is not None:
        uploading.FILES.delete(pk)
