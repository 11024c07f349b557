"""Tending to published studies: lists, approvals, places and groups, by one worker at a time for each."""

import logging
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from annotate.models import PanelSession, ProlificStudy
from annotate.prolific import accounts, drafting, following, participant_groups, receiving, submissions
from annotate.prolific.calling import Client
from projects.errors import Refused
from projects.models import Project

POLL_EVERY = timedelta(minutes=10)
"""Messages of the platform come sooner; the lists find what they missed."""
POLL_ARRIVALS_AFTER = timedelta(minutes=1)
"""So soon after the last list another is asked for, if somebody has arrived whom the platform has not told of."""
LEASE = drafting.LONGEST_LEASE / 2
"""A study whose worker died is tended again after this."""
logger = logging.getLogger(__name__)


def tend_all(*, now: datetime | None = None) -> int:
    """Do what is due for every published study of a live project; return for how many. One failing stops no other."""
    published = ProlificStudy.objects.filter(published_at__isnull=False, panel__project__deleted_at=None)
    n = 0
    for pk in list(published.order_by(F("polled_at").asc(nulls_first=True)).values_list("pk", flat=True)):
        n += tend(pk, now=now)
    return n


def read_messages() -> int:
    """Do what the platform's messages say, and let places follow at once: others are on their way; return how many."""
    touched = receiving.handle_waiting()
    for pk in sorted({pk for pk in touched if pk is not None}):
        tend(pk, polls=False)
    return len(touched)


def tend(pk: int, *, now: datetime | None = None, is_prompt: bool = False, polls: bool = True) -> bool:
    """Do what is due for one study; return False if another worker does. `is_prompt` asks for the list at once.

    A failure is kept as a sentence for its page, and tried again after a while.
    """
    now = now or timezone.now()
    if not _lease(pk, now, is_prompt=is_prompt):
        return False
    study = ProlificStudy.objects.select_related("panel__project").get(pk=pk)
    error, retry_at = "", None
    try:
        error = _tend(study, now, is_prompt=is_prompt, polls=polls)
    except Refused as refusal:
        error, retry_at = refusal.message, now + POLL_EVERY
        logger.warning("Tending to the Prolific study %d failed: %s", pk, error)
    except Exception:  # one study must not stop the others
        error = f"An unexpected error occurred. The site’s log has it under “Prolific study {pk}”."
        retry_at = now + POLL_EVERY
        logger.exception("Tending to the Prolific study %d failed.", pk)
    finally:
        ProlificStudy.objects.filter(pk=pk).update(leased_until=None, error=error, retry_at=retry_at)
    return True


def list_failing(project: Project) -> QuerySet[ProlificStudy]:
    """Return the published studies of panels that go on, of which the newest try to follow the platform failed."""
    studies = ProlificStudy.objects.filter(panel__project=project, panel__ended_at=None, published_at__isnull=False)
    return studies.exclude(error="").select_related("panel").order_by("pk")


def _tend(study: ProlificStudy, now: datetime, *, is_prompt: bool, polls: bool) -> str:
    """Do what is due, and return what the participant groups lack, for which nothing else waits.

    Codes, approvals and places don't stop one another: the first error is raised when all were tried.
    """
    client = accounts.open_client(study.panel.project, in_job=not is_prompt)
    has_list = polls and (is_prompt or _is_list_due(study, now))
    if has_list:
        drafting.store_status(study, client.get(f"/api/v1/studies/{study.external_id}/"))
        submissions.read_all(study, client)
        ProlificStudy.objects.filter(pk=study.pk).update(polled_at=now)
    submissions.link_sessions(study)
    failures = []
    for act in (submissions.read_codes, partial(submissions.approve_wanted, now=now), following.follow_places):
        try:
            act(study, client)
        except Refused as failure:
            failures.append(failure)
    # Groups are filled with each list. What was wrong with them then still is.
    error = _fill_groups(study, client) if has_list else study.error
    if failures:
        raise failures[0]
    return error


def _fill_groups(study: ProlificStudy, client: Client) -> str:
    try:
        participant_groups.fill_groups(study, client)
    except Refused as refusal:
        logger.warning("Filling the groups of the Prolific study %d failed: %s", study.pk, refusal.message)
        return refusal.message
    return ""


def _is_list_due(study: ProlificStudy, now: datetime) -> bool:
    # One from a later time than another host's clock is ahead by is of a clock that was set back since.
    if study.polled_at is None or not now - POLL_EVERY < study.polled_at <= now + POLL_EVERY:
        return True
    unknown = PanelSession.objects.filter(panel=study.panel_id, submission=None, arrived_at__gt=study.polled_at)
    return study.polled_at <= now - POLL_ARRIVALS_AFTER and unknown.exists()


@transaction.atomic
def _lease(pk: int, now: datetime, *, is_prompt: bool) -> bool:
    # Further ahead than these times ever are is one from before the clock was set back; but another worker, whose clock
    # is ahead or who read it later, may have been faster.
    is_free = Q(leased_until=None) | Q(leased_until__lt=now) | Q(leased_until__gt=now + drafting.LONGEST_LEASE)
    is_due = Q(retry_at=None) | Q(retry_at__lte=now) | Q(retry_at__gt=now + 2 * POLL_EVERY)
    free = ProlificStudy.objects.filter(is_free, pk=pk)
    due = free if is_prompt else free.filter(is_due)
    return bool(due.update(leased_until=now + LEASE))
