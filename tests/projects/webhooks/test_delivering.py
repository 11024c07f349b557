"""Messages are written with their event, signed, delivered, retried, and given up; a listener here receives them."""

import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from annotate.batches import completion
from annotate.models import Assignment, Hit
from annotate.quality import monitoring
from annotate.work import submitting
from measures.quality.findings import Found
from projects.errors import Refused
from projects.models import Delivery, DeliveryAttempt, Event, LogEntry, Membership, Project, Webhook
from projects.webhooks import delivering, endpoints, sending
from projects.webhooks.recording import record_event
from tests import sized_projects
from tests.annotate.open_batches import answered, open_batch
from tests.annotate.submitted_work import make_reserved, send
from tests.factories import make_batch, make_corpus, make_membership, make_project
from tests.projects.webhooks.listener import Listener, listen

pytestmark = pytest.mark.django_db

State = Delivery.State


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listen() as found:
        yield found


@pytest.fixture(autouse=True)
def _allow_this_machine(settings: Settings) -> None:
    settings.WEBHOOK_ALLOWED_HOSTS = ["127.0.0.1"]
    settings.SITE_URL = "https://rate.example.org"


@pytest.fixture
def webhook(owner: Membership, listener: Listener) -> Webhook:
    return endpoints.add_webhook(actor=owner, url=listener.url, events=Event.values)[0]


def tell(webhook: Webhook, n: int = 1) -> None:
    record_event(webhook.project, Event.SET_FROZEN, key=f"set:{n}", data={"set": n})


def test_a_message_is_signed_over_time_and_body(webhook: Webhook, listener: Listener) -> None:
    tell(webhook)
    assert delivering.deliver_waiting() == 1
    ((headers, body),) = listener.got
    secret = sending.derive_secret(webhook)
    # As the guide for receivers has it.
    signed = headers["Concord-Timestamp"].encode() + b"." + body
    expected = "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(headers["Concord-Signature"], expected)
    assert abs(time.time() - int(headers["Concord-Timestamp"])) < 30
    delivery = webhook.deliveries.get()
    message = json.loads(body)
    assert message == {
        "id": headers["Concord-Delivery"],
        "event": "set.frozen",
        "project": webhook.project.slug,
        "created_at": delivery.created_at.isoformat(),
        "data": {"set": 1},
        "link": f"https://rate.example.org/p/{webhook.project.slug}/sets/1/",
    }
    attempt = delivery.attempts.get()
    assert (delivery.state, attempt.status, attempt.error) == (State.DELIVERED, 204, "")
    assert secret not in str(Webhook.objects.values()) + str(DeliveryAttempt.objects.values())
    assert delivering.deliver_waiting() == 0, "It is not sent twice."


def test_a_message_waits_until_a_replica_has_its_event(webhook: Webhook, settings: Settings) -> None:
    settings.HAS_REPLICA, settings.REPLICA_MAX_LAG = True, 5
    for n, (seconds, n_sent) in enumerate([(0, 0), (8, 1), (-3600, 1)]):
        tell(webhook, n)
        webhook.deliveries.filter(key=f"set:{n}").update(created_at=Now() - timedelta(seconds=seconds))
        assert delivering.deliver_waiting() == n_sent
        webhook.deliveries.update(state=State.DELIVERED)


def test_submitting_writes_a_message_in_its_own_statement_where_one_is_wanted(
    project: Project, annotator: Membership, other_annotator: Membership, webhook: Webhook
) -> None:
    make_corpus(project, n_passages=1, n_candidates=1)
    batch = make_batch(project, judgments=3)
    n_queries = []
    # The first submit of a process asks more than the later ones.
    for rater, is_wanted in ((make_membership(project), False), (annotator, True), (other_annotator, False)):
        Webhook.objects.update(is_active=is_wanted)
        assignment = sized_projects.claim(rater)
        with CaptureQueriesContext(connection) as queries:
            submitting.submit(annotator=rater, assignment_uuid=assignment, sent=answered(1))
        n_queries.append(len(queries))
        submitting.submit(annotator=rater, assignment_uuid=assignment, sent=answered(1))  # the same once more
    assert n_queries[1] == n_queries[2]
    delivery = Delivery.objects.get()
    assert delivery.event == "hit.submitted"
    assert set(delivery.data) == {"batch", "hit", "assignment", "annotator", "n_items", "mark"}
    assert (delivery.data["annotator"], delivery.data["mark"]) == (annotator.pseudonym, "counted")
    assert annotator.user is not None
    assert annotator.user.username not in sending.write_body(delivery).decode()
    # Complete now; told once, and once more after the batch was enlarged and completed again.
    Webhook.objects.update(is_active=True, created_at=timezone.now() - timedelta(hours=1))
    assert [completion.announce_complete() for _ in range(2)] == [1, 0]
    told = Delivery.objects.get(event="batch.complete")
    assert told.data == {"batch": batch.number, "kind": "full", "n_hits": 1, "n_assignments": 3}
    Hit.objects.filter(batch=batch).update(places_wanted=4, places_open=1)
    assert completion.announce_complete() == 0
    Hit.objects.filter(batch=batch).update(places_done=4, places_open=0)
    assert completion.announce_complete() == 1


def test_a_hit_of_controls_alone_has_no_number_to_tell(
    project: Project, annotator: Membership, webhook: Webhook
) -> None:
    work = make_reserved(open_batch(project), annotator)
    assert isinstance(work, Assignment)
    send(work)
    assert Delivery.objects.get().data["hit"] is None


def test_an_event_that_is_undone_is_not_told(webhook: Webhook) -> None:
    with transaction.atomic():
        tell(webhook)
        transaction.set_rollback(True)
    assert not Delivery.objects.exists()


def test_an_alert_is_told_without_its_words(webhook: Webhook, annotator: Membership) -> None:
    found = Found(kind="fast", message="Anna rates fast", n=12, p=None, is_serious=True, evidence={})
    monitoring._open(annotator.project, annotator, found, timezone.now())
    data = Delivery.objects.get().data
    assert data == {"annotator": annotator.pseudonym, "kind": "fast", "n": 12, "is_serious": True}


def test_failures_pause_an_address_longer_each_time_and_hold_up_nobody_else(
    webhook: Webhook, listener: Listener, owner: Membership
) -> None:
    listener.statuses = [500, 302, 500, 200]
    with listen() as other:
        second, _ = endpoints.add_webhook(actor=owner, url=other.url, events=["set.frozen"])
        for n in (1, 2):
            tell(webhook, n)
        assert delivering.deliver_waiting() == 3, "One attempt at the failing address, both messages to the other."
        assert len(other.got) == 2
    pauses = []
    for _ in range(3):
        webhook.refresh_from_db()
        assert webhook.retry_at
        pauses.append((webhook.retry_at - timezone.now()).total_seconds())
        Webhook.objects.filter(pk=webhook.pk).update(retry_at=timezone.now() - timedelta(hours=1))
        delivering.deliver_waiting()
    assert 7 < pauses[0] < 13 < pauses[1] < 26 < pauses[2] < 51
    webhook.refresh_from_db()
    assert (webhook.n_failures, webhook.failing_since, webhook.retry_at) == (0, None, None)
    assert set(second.deliveries.values_list("state", flat=True)) == {State.DELIVERED}
    # Each attempt had the same id, and redirects were not followed.
    first = webhook.deliveries.earliest("pk")
    assert [headers["Concord-Delivery"] for headers, _ in listener.got[:4]] == [str(first.uuid)] * 4
    assert list(first.attempts.order_by("pk").values_list("status", "error")) == [
        (500, "The answer was no success."),
        (302, "A redirect is not followed."),
        (500, "The answer was no success."),
        (200, ""),
    ]


def test_an_address_that_fails_for_a_day_is_turned_off_and_can_be_tried_by_hand(
    webhook: Webhook, listener: Listener
) -> None:
    listener.statuses = [500, 200]
    tell(webhook)
    Webhook.objects.update(failing_since=timezone.now() - timedelta(days=1), n_failures=9)
    assert delivering.deliver_waiting() == 1
    webhook.refresh_from_db()
    delivery = webhook.deliveries.get()
    assert (webhook.is_active, delivery.state) == (False, State.FAILED)
    assert webhook.turned_off_at is not None
    assert LogEntry.objects.get(act="turn off webhook").actor is None
    tell(webhook, 2)
    assert webhook.deliveries.count() == 1, "Off, it is told nothing."
    delivering.send_again(delivery=delivery)
    with pytest.raises(Refused, match="is waiting"):
        delivering.send_again(delivery=delivery)
    test = delivering.send_test(webhook=webhook)
    assert delivering.deliver_waiting() == 2
    test.refresh_from_db()
    delivery.refresh_from_db()
    assert (test.state, delivery.state) == (State.DELIVERED, State.DELIVERED)


def test_a_second_test_waits_for_the_first(webhook: Webhook, listener: Listener) -> None:
    delivering.send_test(webhook=webhook)
    with pytest.raises(Refused, match="A test is waiting"):
        delivering.send_test(webhook=webhook)
    assert delivering.deliver_waiting() == 1
    delivering.send_test(webhook=webhook)
    assert delivering.deliver_waiting() == 1


def test_projects_take_turns_also_with_what_is_sent_by_hand(webhook: Webhook) -> None:
    """A receiver that never answers would otherwise hold up all others, by messages that its manager sends again."""
    others = []
    for slug in ("delta", "dunes"):
        there = make_membership(make_project(slug), role=Membership.Role.OWNER)
        others.append(endpoints.add_webhook(actor=there, url=webhook.url, events=["set.frozen"])[0])
    for each in (webhook, *others):
        for n in (1, 2):
            tell(each, n)
    webhook.deliveries.update(is_prompt=True)
    projects = dict(Delivery.objects.values_list("pk", "webhook__project__slug"))
    waiting = Delivery.objects.filter(leased_until__isnull=False)
    for _ in range(2):
        taken = [delivering._claim() for _ in range(4)]
        assert taken.pop() is None, "Those to one address go one after another."
        assert [projects[pk or 0] for pk in taken] == ["bridges", "delta", "dunes"]
        waiting.update(state=State.DELIVERED, leased_until=None)
    assert not Delivery.objects.filter(state=State.WAITING).exists()
    # Of one project alone all are taken.
    delivering.send_test(webhook=webhook)
    assert delivering._claim() is not None


def test_a_worker_that_dies_leaves_its_message_to_the_next_one(webhook: Webhook, listener: Listener) -> None:
    tell(webhook)
    tell(webhook, 2)
    assert delivering._claim() is not None
    assert delivering._claim() is None, "Nobody else sends it, nor a later one before it."
    # Not even a worker whose transaction began before that of the lease, and waited for it.
    Delivery.objects.filter(leased_until__isnull=False).update(leased_until=F("leased_until") + timedelta(seconds=2))
    assert delivering._claim() is None
    Delivery.objects.filter(leased_until__isnull=False).update(leased_until=timezone.now() - timedelta(seconds=1))
    assert delivering.deliver_waiting() == 2
    assert [json.loads(body)["data"]["set"] for _, body in listener.got] == [1, 2]


def test_times_from_before_the_clock_was_set_back_hold_up_no_message(webhook: Webhook, listener: Listener) -> None:
    tell(webhook)
    tell(webhook, 2)
    assert delivering._claim() is not None
    ahead = timezone.now() + timedelta(days=31)
    Delivery.objects.filter(leased_until__isnull=False).update(leased_until=ahead)
    Webhook.objects.update(retry_at=ahead)
    assert delivering.deliver_waiting() == 2


def test_an_answer_that_drips_is_cut_off(webhook: Webhook, listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", 0.3)
    listener.drip_seconds = 0.05
    tell(webhook)
    outcome = sending.send(webhook.deliveries.get())
    assert outcome.status is None
    assert outcome.error == "No answer within 0.3 seconds."
    assert outcome.ms < 5_000


def test_messages_are_forgotten_after_thirty_days(webhook: Webhook) -> None:
    for n in (1, 2):
        tell(webhook, n)
    Delivery.objects.filter(key="set:1").update(created_at=timezone.now() - timedelta(days=31))
    delivering.forget_old()
    assert Delivery.objects.get().key == "set:2"


def test_a_deleted_project_and_another_one_are_told_nothing(webhook: Webhook, listener: Listener) -> None:
    record_event(make_project("elsewhere"), Event.SET_FROZEN, key="set:1", data={"set": 1})
    tell(webhook)
    Project.objects.filter(pk=webhook.project_id).update(deleted_at=timezone.now())
    assert delivering.deliver_waiting() == 0
    assert listener.got == []


def test_the_example_for_receivers_accepts_a_message_once(webhook: Webhook, listener: Listener) -> None:
    guide = (settings.BASE_DIR / "docs" / "managers.md").read_text()
    example = guide.partition("### Webhooks")[2].partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {}
    exec(example, names)
    tell(webhook)
    delivering.deliver_waiting()
    ((headers, body),) = listener.got
    secret, seen = sending.derive_secret(webhook), set[str]()
    read_message = names["read_message"]
    assert read_message(headers, body, secret, seen)["data"] == {"set": 1}
    assert read_message(headers, body, secret, seen) is None
    for wrong in ({"Concord-Timestamp": "1"}, {"Concord-Signature": "sha256=0"}):
        with pytest.raises(ValueError, match="wrong signature"):
            read_message({**headers, **wrong}, body, secret, set())
    with pytest.raises(ValueError, match="wrong signature"):
        read_message(headers, body + b" ", secret, set())
