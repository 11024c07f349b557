"""A form that is sent after the session has ended: kept until it is sent again, or led back to its page."""

from http import HTTPStatus
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from projects.models import Consent, Membership
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db

EDIT = "/p/bridges/consent/edit/"
TYPED = {"text": "Some <b>words</b>.", "based_on": "0", "more": ["1", "2"]}


def read_fields(answer: Any) -> list[str]:
    return [part.split('"', 1)[0] for part in condense(answer.content.decode()).split('type="hidden" name="')[1:]]


def test_what_was_typed_is_kept_until_it_is_sent_again(manager: Membership, client_of: SignIn) -> None:
    answer = Client().post(f"{EDIT}?from=settings", TYPED)
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    page = answer.content.decode()
    assert f'action="{EDIT}?from=settings"' in page
    assert "Some &lt;b&gt;words&lt;/b&gt;." in page
    assert [name for name in read_fields(answer) if name in TYPED] == ["text", "based_on", "more", "more"]
    assert not Consent.objects.exists()
    client_of(manager).post(EDIT, TYPED)
    assert Consent.objects.get().text == TYPED["text"]


@pytest.mark.parametrize(
    ("referer", "leads_back"),
    [
        ("http://testserver/p/bridges/batches/1/?page=2", True),
        ("http://elsewhere.example/p/bridges/batches/1/", False),
        ("http://testserver//elsewhere.example/", False),
        ("https://[", False),
        ("", False),
    ],
)
def test_a_button_leads_back_to_its_page_and_not_to_an_address_without_one(
    manager: Membership, referer: str, *, leads_back: bool
) -> None:
    headers = {"Referer": referer} if referer else {}
    for sent in ({}, {"file": SimpleUploadedFile("a.csv", b"a,b")}, {"old_password": "secret"}):
        answer = Client(headers=headers).post("/p/bridges/batches/1/state/", sent)
        target = "?next=/p/bridges/batches/1/%3Fpage%3D2" if leads_back else ""
        assert answer["Location"] == reverse("projects:sign-in") + target
        assert "secret" not in answer.content.decode()


def test_a_form_whose_token_is_of_the_session_before_is_sent_again_with_a_new_one(
    manager: Membership, client_of: SignIn
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.cookies = client_of(manager).cookies
    stale = {**TYPED, "csrfmiddlewaretoken": "x" * 64}
    answer = client.post(EDIT, stale, headers={"Origin": "http://testserver"})
    assert answer.status_code == HTTPStatus.FORBIDDEN
    assert "what you entered is kept" in answer.content.decode()
    assert read_fields(answer)[1:] == ["text", "based_on", "more", "more"]
    # A form that another site has laid out is not: somebody would send what they have not seen.
    for headers in ({"Origin": "http://elsewhere.example"}, {}):
        answer = client.post(EDIT, stale, headers=headers)
        assert answer.status_code == HTTPStatus.FORBIDDEN
        assert "Some &lt;b&gt;" not in answer.content.decode()
