"""Delivering messages: oldest first for each address, with growing pauses after failures, and off after a day."""

import random
import time
import uuid
from collections import deque
from datetime import timedelta

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from projects import log
from projects.database.locks import AdvisoryLock, lock_in_project
from projects.database.replica import find_bound
from projects.errors import Refused
from projects.models import Act, Delivery, DeliveryAttempt, Webhook
from projects.webhooks import sending
from projects.webhooks.sending import SendingResult

LEASE = timedelta(seconds=60)
"""A message whose worker died is sent again after this. Sending one takes a few seconds at most."""
FIRST_PAUSE_SECONDS = 10.0
LONGEST_PAUSE_SECONDS = 6 * 3600.0
"""After a failure; each pause is twice the last, up to the longest."""
SPREAD = 0.25
"""The share by which pauses are spread."""
GIVE_UP_AFTER = timedelta(days=1)
KEPT = timedelta(days=30)
"""How long messages can be looked at."""
ROUND_SECONDS = 20.0
"""How long one round of deliveries goes on; the next one begins soon after."""
TEST = "test"

State = Delivery.State

# The first message of each address whose turn it is, and what a person sends at once. An address that fails is paused
# as a whole, so that a dead one costs one attempt per pause and holds up nobody else. Projects take turns, so that one
# whose receivers answer slowly, or not at all, holds up no other, whatever its people send by hand. SKIP LOCKED and the
# lease keep two workers from sending the same message; a worker that dies leaves a lease that ends. Whoever is told of
# an event may ask for more at once, so a message waits until a replica has the event. A time that is more than twice as
# far ahead as such times are set is from before the clock was set back, and holds up nothing. Twice, because another
# transaction may have begun later and been faster, and the clocks of hosts differ.
_CLAIM = """
UPDATE projects_webhookdelivery d SET leased_until = now() + %(lease)s::interval
WHERE d.id = (
    SELECT d.id FROM projects_webhookdelivery d
    JOIN projects_webhook w ON w.id = d.webhook_id JOIN projects_project p ON p.id = w.project_id
    LEFT JOIN unnest(%(served)s::bigint[]) WITH ORDINALITY served(project_id, turn) ON served.project_id = p.id
    WHERE d.state = 'waiting' AND p.deleted_at IS NULL
      AND (d.leased_until IS NULL OR d.leased_until NOT BETWEEN now() AND now() + 2 * %(lease)s::interval)
      AND (d.is_prompt OR NOT statement_timestamp() BETWEEN d.created_at AND d.created_at + %(bound)s::interval
           AND w.is_active AND (w.retry_at IS NULL OR w.retry_at <= now()
                              OR w.retry_at > now() + 2 * %(pause)s::interval))
      AND NOT EXISTS (SELECT 1 FROM projects_webhookdelivery other
                      WHERE other.webhook_id = w.id AND other.state = 'waiting'
                        AND other.leased_until BETWEEN now() AND now() + 2 * %(lease)s::interval)
    ORDER BY served.turn NULLS FIRST, d.is_prompt DESC, w.retry_at NULLS FIRST, d.id
    LIMIT 1 FOR NO KEY UPDATE OF d SKIP LOCKED)
RETURNING d.id, (SELECT w.project_id FROM projects_webhook w WHERE w.id = d.webhook_id)
"""

_served: deque[int] = deque(maxlen=200)
"""The projects whose messages this process sent last, the latest one at the end; changed under the lock of a claim."""


def deliver_waiting() -> int:
    """Send what is due, one message after another, and return how many were sent; nothing is locked meanwhile."""
    until, n = time.monotonic() + ROUND_SECONDS, 0
    while time.monotonic() < until and (pk := _claim()) is not None:
        delivery = Delivery.objects.select_related("webhook__project").filter(pk=pk).first()
        if delivery is not None:  # its address may have been deleted
            _store(delivery, sending.send(delivery))
            n += 1
    return n


@transaction.atomic
def send_test(*, webhook: Webhook) -> Delivery:
    """Queue a message that says only that it is a test; it is sent once, also to an address that is off.

    Raises Refused while another one waits.
    """
    Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)  # two clicks come one after the other
    if webhook.deliveries.filter(event=TEST, state=State.WAITING).exists():
        raise Refused("A test is waiting to be sent. Reload this page in a few seconds to see the answer.")
    made = uuid.uuid4()
    return Delivery.objects.create(
        webhook=webhook, uuid=made, event=TEST, key=f"test:{made}", data={"is_test": True}, is_prompt=True
    )


def send_again(*, delivery: Delivery) -> None:
    """Queue a message once more, with the same id. Raises Refused while it waits anyway."""
    ended = Delivery.objects.filter(pk=delivery.pk).exclude(state=State.WAITING)
    if not ended.update(state=State.WAITING, is_prompt=True, leased_until=None):
        raise Refused("This message is waiting to be sent anyway.")


def forget_old() -> int:
    """Delete messages with their attempts after 30 days; return how many."""
    n, _by_model = Delivery.objects.filter(created_at__lt=timezone.now() - KEPT).delete()
    return n


@transaction.atomic
def _claim() -> int | None:
    # Until the lease is committed: a worker that does not see it yet would send the next message at the same time.
    lock_in_project(AdvisoryLock.MESSAGES, 0)
    seconds = {
        "lease": LEASE.total_seconds(),
        "bound": find_bound(),
        "pause": LONGEST_PAUSE_SECONDS,
    }
    spans = {name: f"{n} seconds" for name, n in seconds.items()}
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, {**spans, "served": [*_served]})
        row = cursor.fetchone()
    if row is None:
        return None
    pk, project_id = row
    if project_id in _served:
        _served.remove(project_id)
    _served.append(project_id)
    return int(pk)


@transaction.atomic
def _store(delivery: Delivery, outcome: SendingResult) -> None:
    # Locked: the address may have been deleted meanwhile, with its messages.
    if not Delivery.objects.select_for_update(no_key=True).filter(pk=delivery.pk).exists():
        return
    DeliveryAttempt.objects.create(delivery=delivery, status=outcome.status, ms=outcome.ms, error=outcome.error[:200])
    row = Delivery.objects.filter(pk=delivery.pk)
    if outcome.has_worked:
        row.update(state=State.DELIVERED, leased_until=None, is_prompt=False)
        Webhook.objects.filter(pk=delivery.webhook_id).update(n_failures=0, failing_since=None, retry_at=None)
    elif delivery.is_prompt:
        row.update(state=State.FAILED, leased_until=None, is_prompt=False)
    else:
        row.update(leased_until=None)
        _pause(delivery.webhook)


def _pause(webhook: Webhook) -> None:
    """Pause an address after a failure: twice as long each time, spread at random, and off after a day."""
    locked = Webhook.objects.select_for_update(no_key=True, of=("self",)).select_related("project").get(pk=webhook.pk)
    now = timezone.now()
    since = locked.failing_since or now
    if now - since >= GIVE_UP_AFTER:
        turn_off_failing(locked)
        return
    pause = min(FIRST_PAUSE_SECONDS * 2 ** min(locked.n_failures, 20), LONGEST_PAUSE_SECONDS)
    # At random, so that the addresses of one receiver do not all come back in the same second.
    pause *= random.uniform(1 - SPREAD, 1 + SPREAD)  # noqa: S311 - no secret
    Webhook.objects.filter(pk=locked.pk).update(
        n_failures=F("n_failures") + 1, failing_since=since, retry_at=now + timedelta(seconds=pause)
    )


def turn_off_failing(webhook: Webhook) -> None:
    """Turn an address off that has failed for a day, with a notice on its page and in the audit log."""
    Webhook.objects.filter(pk=webhook.pk).update(is_active=False, turned_off_at=Now(), retry_at=None)
    webhook.deliveries.filter(state=State.WAITING).update(state=State.FAILED)
    log.record(webhook.project, None, Act.TURN_OFF_WEBHOOK, webhook, why="It failed for a day.")
