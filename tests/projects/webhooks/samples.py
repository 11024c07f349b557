"""A webhook with messages, for the paths and pages of webhooks."""

import uuid

from projects.models import Delivery, DeliveryAttempt, Event, Membership, Webhook

URL = "https://hooks.example.org/" + "a-long-path-of-an-endpoint/" * 8


def webhook_samples(manager: Membership) -> dict[str, int]:
    """The ids of a webhook and of a message to it, which two attempts could not deliver."""
    webhook = Webhook.objects.create(project=manager.project, url=URL, events=Event.values, created_by=manager)
    delivery = Delivery.objects.create(
        webhook=webhook,
        uuid=uuid.uuid4(),
        event=Event.SET_FROZEN,
        key="set:1",
        data={"set": 1},
        state=Delivery.State.FAILED,
    )
    for status, error in ((None, "No answer within 5 seconds."), (503, "The answer was no success.")):
        DeliveryAttempt.objects.create(delivery=delivery, status=status, ms=4999, error=error)
    return {"webhook_id": webhook.pk, "delivery_id": delivery.pk}
