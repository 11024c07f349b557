"""One message to a person for all that is new, in their language; none to whoever wants none, or has no address."""

from datetime import timedelta
from smtplib import SMTPRecipientsRefused
from typing import Any
from unittest import mock

import pytest
from django.core import mail
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from annotate.mailing import digests
from annotate.models import Assignment, Hit
from annotate.work import submitting
from projects.models import Membership, Project, User
from tests import sized_projects
from tests.annotate.open_batches import answered
from tests.factories import make_batch, make_corpus
from tests.people import SignIn

pytestmark = pytest.mark.django_db

FOOTER = "You get this message because email notices are on in your account. You can turn them off there:"


@pytest.fixture(autouse=True)
def _site_sends(settings: Settings) -> None:
    settings.SENDS_EMAIL = True
    settings.SITE_URL = "https://rate.example.org"
    settings.DEFAULT_FROM_EMAIL = "concord@example.org"


def want(member: Membership, **over: Any) -> None:
    name = member.pseudonym
    User.objects.filter(memberships=member).update(**{"wants_email": True, "email": f"{name}@example.org", **over})


@pytest.fixture
def rated(project: Project, annotator: Membership) -> Project:
    """A complete batch of three HITs, all submitted."""
    make_corpus(project, n_passages=3, n_candidates=1)
    make_batch(project)
    for _ in range(3):
        assignment = sized_projects.claim(annotator)
        submitting.submit(annotator=annotator, assignment_uuid=assignment, sent=answered(1))
    return project


def test_a_manager_gets_one_message_however_much_there_is(rated: Project, manager: Membership) -> None:
    want(manager)
    now = timezone.now()
    assert [digests.send_digests(now=now + timedelta(hours=n)) for n in (0, 1, 11)] == [1, 0, 0]
    (sent,) = mail.outbox
    assert (sent.to, sent.from_email) == ([f"{manager.pseudonym}@example.org"], "concord@example.org")
    root = f"https://rate.example.org/p/{rated.slug}"
    assert str(sent.body).splitlines() == [
        rated.name,
        f"- Batch 1 is complete: {root}/batches/1/",
        f"- 3 submissions await a decision: {root}/submitted/",
        "",
        f"{FOOTER} https://rate.example.org/account/",
    ]
    assert digests.send_digests(now=now + timedelta(hours=13)) == 0, "Nothing is new."
    Assignment.objects.update(submitted_at=now + timedelta(hours=13))
    assert digests.send_digests(now=now + timedelta(hours=14)) == 1


def test_a_queue_that_is_counted_no_further_is_more_than_999(rated: Project, manager: Membership) -> None:
    want(manager)
    others = Membership.objects.bulk_create(
        Membership(project=rated, kind="simulated", is_annotator=True, imported_name=f"{n}") for n in range(996)
    )
    more = [
        Assignment(hit=Hit.objects.earliest("pk"), annotator=other, layout=[], state="submitted", holds_place=False)
        for other in [*others, manager]
    ]
    for each in more:
        each.mark, each.submitted_at = "surplus", timezone.now()
    Assignment.objects.bulk_create(more[:-1])
    assert digests.send_digests() == 1
    assert "- 999 submissions await a decision:" in mail.outbox[-1].body
    more[-1].save()
    User.objects.update(emailed_until=None)
    assert digests.send_digests() == 1
    assert "- More than 999 submissions await a decision:" in mail.outbox[-1].body


def test_an_annotator_is_told_of_a_rejection_in_their_language(rated: Project, annotator: Membership) -> None:
    want(annotator, language="de")
    assert digests.send_digests() == 0, "Complete batches are no news for annotators."
    Assignment.objects.update(
        state="rejected", holds_place=False, decided_at=timezone.now(), decision_reason="Anna was careless"
    )
    assert digests.send_digests() == 1
    (sent,) = mail.outbox
    assert "3 HITs wurden abgelehnt" in sent.body
    assert f"/p/{rated.slug}/history/" in sent.body
    assert "careless" not in sent.body
    assert sent.subject == "Neues aus Ihren Projekten"


@pytest.mark.parametrize("standing", ["suspended", "removed"])
def test_whoever_is_suspended_or_removed_is_told_of_rejections_and_nothing_else(
    rated: Project, annotator: Membership, manager: Membership, standing: str
) -> None:
    for member in (annotator, manager):
        want(member)
        Membership.objects.filter(pk=member.pk).update(standing=standing)
    assert digests.send_digests() == 0
    Assignment.objects.update(state="rejected", holds_place=False, decided_at=timezone.now(), decision_reason="Why.")
    assert digests.send_digests() == 1
    (sent,) = mail.outbox
    assert sent.to == [f"{annotator.pseudonym}@example.org"]
    assert (
        f"3 HITs were rejected. You can read why, and reply once to each: https://rate.example.org/p/{rated.slug}/history/"
        in (sent.body)
    )


@pytest.mark.parametrize("over", [{"wants_email": False}, {"email": ""}, {"is_active": False}])
def test_whoever_wants_none_or_has_no_address_gets_none(
    rated: Project, manager: Membership, over: dict[str, Any]
) -> None:
    want(manager, **over)
    assert digests.send_digests() == 0


def test_a_site_without_email_sends_none_and_says_so(
    rated: Project, manager: Membership, settings: Settings, client_of: SignIn
) -> None:
    want(manager)
    settings.SENDS_EMAIL = False
    assert digests.send_digests() == 0
    client, page = client_of(manager), reverse("projects:account")
    assert "This site doesn&#x27;t send email." in client.get(page).content.decode()
    # The choice stays as it was, whatever is sent.
    client.post(page, {"email": "a@example.org"})
    user = User.objects.get(memberships=manager)
    assert (user.wants_email, user.email) == (True, "a@example.org")


def test_notices_are_turned_on_and_off_in_the_account(manager: Membership, client_of: SignIn) -> None:
    client, page = client_of(manager), reverse("projects:account")
    assert "Enter your email, or turn off" in client.post(page, {"wants_email": "on"}).content.decode()
    for sent, is_on in (({"wants_email": "on"}, True), ({}, False)):
        assert client.post(page, {"email": "a@example.org", **sent}).status_code == 302
        assert User.objects.get(memberships=manager).wants_email is is_on


def test_a_message_that_could_not_be_sent_is_tried_again(
    rated: Project, manager: Membership, caplog: pytest.LogCaptureFixture
) -> None:
    want(manager)
    with mock.patch.object(EmailMessage, "send", side_effect=SMTPRecipientsRefused({"secret@example.org": (550, b"")})):
        assert digests.send_digests() == 0
    assert "SMTPRecipientsRefused" in caplog.text
    assert "secret@example.org" not in caplog.text
    assert digests.send_digests() == 1


def test_a_clock_that_was_set_back_stops_no_message(rated: Project, manager: Membership) -> None:
    want(manager, emailed_until=timezone.now() + timedelta(days=31))
    assert [digests.send_digests(), digests.send_digests()] == [1, 0]


def test_an_address_that_no_message_can_have_keeps_nobody_elses_back(
    rated: Project, owner: Membership, manager: Membership
) -> None:
    want(owner, email=f"a@{'ü' * 60}.example")  # valid as a form has it, too long as the message would
    want(manager)
    assert owner.user_id < manager.user_id  # type: ignore[operator]
    assert digests.send_digests() == 1
