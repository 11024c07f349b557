"""Addresses: added with a secret that is shown once, turned off and on, given a new secret, deleted."""

import uuid
from collections.abc import Sequence

from django.db import transaction

from projects import log
from projects.access import lock_actor
from projects.errors import Refused
from projects.models import Act, Delivery, Event, Membership, Webhook
from projects.webhooks.addresses import NotAllowed, read_target, resolve
from projects.webhooks.sending import TIMEOUT_SECONDS, derive_secret

MOST = 10
"""Addresses of a project."""


def add_webhook(
    *, actor: Membership, url: str, events: Sequence[str], key: uuid.UUID | None = None
) -> tuple[Webhook, str]:
    """Add an address, and return it with its secret, which is shown this once. The same key again is the same address.

    Raises Refused for an address that messages may not go to, without an event, and beyond MOST addresses.
    """
    url = url.strip()
    target = read_target(url)
    # Asked now, so that a wrong address is noticed at once; each message asks again. Before the transaction: the answer
    # may take seconds.
    try:
        resolve(target, seconds=TIMEOUT_SECONDS)
    except NotAllowed as refusal:
        raise Refused(
            f"{target.host} has no public address. Check its spelling. Only the site administrator can allow an "
            "internal host, by the setting WEBHOOK_ALLOWED_HOSTS.",
            field="url",
        ) from refusal
    chosen = [event for event in Event.values if event in events]
    if not chosen:
        raise Refused("Choose at least one event.", field="events")
    with transaction.atomic():
        lock_actor(actor)
        if key and (added := Webhook.objects.filter(project=actor.project, created_by=actor, key=key).first()):
            return added, derive_secret(added)
        if Webhook.objects.filter(project=actor.project).count() >= MOST:
            raise Refused(f"A project has at most {MOST} webhooks. Delete one first.")
        webhook = Webhook.objects.create(
            project=actor.project, url=url, events=chosen, created_by=actor, key=key or uuid.uuid4()
        )
        log.record(actor.project, actor, Act.ADD_WEBHOOK, webhook, after={"host": target.host, "events": chosen})
    return webhook, derive_secret(webhook)


@transaction.atomic
def set_active(*, webhook: Webhook, actor: Membership, is_active: bool) -> None:
    """Turn an address on or off; repeating it changes nothing. What happens while it is off is not sent later."""
    lock_actor(actor)
    values = {"is_active": is_active, "turned_off_at": None, "n_failures": 0, "failing_since": None, "retry_at": None}
    if not Webhook.objects.filter(pk=webhook.pk, is_active=not is_active).update(**values):
        return
    if not is_active:
        webhook.deliveries.filter(state=Delivery.State.WAITING).update(state=Delivery.State.FAILED)
    act = Act.TURN_ON_WEBHOOK if is_active else Act.TURN_OFF_WEBHOOK
    log.record(webhook.project, actor, act, webhook)


@transaction.atomic
def renew_secret(*, webhook: Webhook, actor: Membership) -> str:
    """Give an address a new secret, and return it; the old one signs nothing from now on."""
    lock_actor(actor)
    webhook.key = uuid.uuid4()
    webhook.save(update_fields=["key"])
    log.record(webhook.project, actor, Act.RENEW_WEBHOOK_SECRET, webhook)
    return derive_secret(webhook)


@transaction.atomic
def delete_webhook(*, webhook: Webhook, actor: Membership) -> None:
    """Delete an address with its messages."""
    lock_actor(actor)
    log.record(webhook.project, actor, Act.DELETE_WEBHOOK, webhook, before={"events": webhook.events})
    webhook.delete()
