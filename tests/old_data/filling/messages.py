"""Messages to another service: some are delivered, some failed, the others wait."""

from projects.models import Delivery, DeliveryAttempt, Event, Webhook
from tests.old_data.filling.bay import Bay


def add_webhook(bay: Bay) -> None:
    """Without a look-up of the host, which belongs to nobody."""
    Webhook.objects.create(
        project=bay.project, url="https://hooks.example.org/bay", events=Event.values, created_by=bay["owner"]
    )


def answer_some() -> None:
    delivered, failed = Delivery.objects.order_by("pk")[:2]
    for delivery, state, status, error in (
        (delivered, Delivery.State.DELIVERED, 204, ""),
        (failed, Delivery.State.FAILED, None, "The host did not answer within 5 seconds."),
    ):
        DeliveryAttempt.objects.create(delivery=delivery, status=status, ms=120, error=error)
        Delivery.objects.filter(pk=delivery.pk).update(state=state)
