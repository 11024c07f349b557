"""The pages of webhooks: the secret is shown once, attempts are listed, and buttons do what they say."""

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from projects.models import Event, LogEntry, Membership, Webhook
from projects.webhooks import delivering, sending
from projects.webhooks.recording import record_event
from tests.page_reader import condense
from tests.people import SignIn
from tests.projects.webhooks.listener import listen

pytestmark = pytest.mark.django_db


def page(name: str, member: Membership, *more: int) -> str:
    return reverse(f"projects:webhook-{name}", args=[member.project.slug, *more])


def read(client: Client, address: str) -> str:
    return condense(client.get(address).content.decode())


def test_a_webhook_is_added_tested_renewed_and_deleted(
    manager: Membership, client_of: SignIn, settings: Settings
) -> None:
    settings.WEBHOOK_ALLOWED_HOSTS = ["127.0.0.1"]
    client = client_of(manager)
    with listen() as listener:
        sent = {"url": f"{listener.url}?<script>", "events": ["set.frozen", "hit.submitted"], "key": str(uuid4())}
        made = client.post(page("new", manager), sent)
        webhook = Webhook.objects.get()
        secret = sending.derive_secret(webhook)
        # Sent again, as by a reload, it adds nothing.
        assert secret in client.post(page("new", manager), sent).content.decode()
        assert Webhook.objects.count() == 1
        assert secret in made.content.decode()
        assert made["Cache-Control"].startswith("max-age=0")
        assert webhook.events == ["hit.submitted", "set.frozen"]
        shown = page("show", manager, webhook.pk)
        for address in (shown, page("list", manager)):
            text = client.get(address).content.decode()
            assert secret not in text
            assert "?<script>" not in text
        assert "No messages yet" in read(client, shown)
        act = page("act", manager, webhook.pk)
        client.post(act, {"act": "test"})
        assert delivering.deliver_waiting() == 1
        assert "status 204" in read(client, shown)
        listener.statuses = [503]
        record_event(manager.project, Event.SET_FROZEN, key="set:1", data={"set": 1})
        delivering.deliver_waiting()
        text = read(client, shown)
        assert "status 503" in text
        assert "failing" in text
        client.post(act, {"act": "off"})
        delivery = webhook.deliveries.get(state="failed")
        assert client.post(page("resend", manager, webhook.pk, delivery.pk)).status_code == 302
        assert delivering.deliver_waiting() == 1
        assert "No message has this status" in read(client, f"{shown}?state=waiting")
        client.post(act, {"act": "on"})
        renewed = client.post(act, {"act": "secret"}).content.decode()
        webhook.refresh_from_db()
        assert sending.derive_secret(webhook) in renewed
        assert secret not in renewed
        client.post(act, {"act": "nothing"})
        client.post(act, {"act": "delete"})
    assert not Webhook.objects.exists()
    acts = LogEntry.objects.filter(object_type="webhook").order_by("pk").values_list("act", flat=True)
    assert list(acts) == [
        "add webhook",
        "turn off webhook",
        "turn on webhook",
        "renew webhook secret",
        "delete webhook",
    ]


@pytest.mark.parametrize(
    ("over", "sentence"),
    [
        ({"url": "http://hooks.example.org/"}, "begins with https://"),
        ({"url": "https://127.0.0.1/"}, "WEBHOOK_ALLOWED_HOSTS"),
        ({"url": "https://10.0.0.1/"}, "10.0.0.1 has no public address"),
        ({"events": ["batch.deleted"]}, "Select a valid choice"),
        ({"events": []}, "Choose at least one event"),
    ],
)
def test_a_wrong_address_is_explained_and_kept_in_the_form(
    manager: Membership, client_of: SignIn, over: dict[str, object], sentence: str
) -> None:
    sent = {"url": "https://127.0.0.1/", "events": ["set.frozen"], "key": str(uuid4()), **over}
    answer = client_of(manager).post(page("new", manager), sent)
    assert sentence in condense(answer.content.decode())
    assert str(sent["url"]) in answer.content.decode()
    assert not Webhook.objects.exists()
