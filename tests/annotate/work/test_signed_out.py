"""A form that arrives after the session has ended, from a browser without JavaScript: it waits, and goes in again."""

import re
import uuid
from html import unescape

import pytest
from django.test import Client

from annotate.models import Judgment
from annotate.work import serving
from projects.models import Criterion, Membership, Project
from tests.annotate.open_batches import open_batch

pytestmark = pytest.mark.django_db
COMMENT = '"half" & <b>right</b>'
FORM = {"a0-correctness": "4", "a1-correctness": "2", "comment1": COMMENT, "a2-correctness": "5"}


@pytest.fixture
def url(project: Project, annotator: Membership) -> str:
    open_batch(project, n_hits=1)
    found = serving.claim(annotator)
    assert isinstance(found, uuid.UUID)
    return f"/p/bridges/work/{found}/"


def held_in(page: str) -> dict[str, str]:
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page)
    return {name: unescape(value) for name, value in found}


@pytest.mark.parametrize("is_stale", [False, True])
def test_the_answers_wait_until_one_is_signed_in_again(url: str, annotator: Membership, is_stale: bool) -> None:
    client = Client(enforce_csrf_checks=True, headers={"origin": "http://testserver"})
    client.get("/sign-in/")
    token = "stale" if is_stale else client.cookies["csrf"].value
    response = client.post(url, FORM | {"csrfmiddlewaretoken": token})
    page = response.content.decode()
    assert response.status_code == 401
    held = held_in(page)
    assert {name: held[name] for name in FORM} == FORM
    assert "<b>right" not in page
    assert not Judgment.objects.exists()

    assert annotator.user is not None
    client.force_login(annotator.user, backend="django.contrib.auth.backends.ModelBackend")
    again = client.post(url, held | {"csrfmiddlewaretoken": token})
    filled = again.content.decode()
    if again.status_code == 403:  # signing in renewed the token: the page comes back filled in
        assert unescape(filled).count(COMMENT) == 1
        fresh = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', filled)
        assert fresh
        again = client.post(url, FORM | {"csrfmiddlewaretoken": fresh[1]})
    assert again.status_code == 303
    assert Judgment.objects.count() == 3


@pytest.mark.parametrize("is_stale", [False, True])
def test_ratings_wait_whatever_their_criterion_is_called(url: str, is_stale: bool) -> None:
    Criterion.objects.filter(key="correctness").update(key="token_overlap")
    client = Client(enforce_csrf_checks=True, headers={"origin": "http://testserver"})
    client.get("/sign-in/")
    token = "stale" if is_stale else client.cookies["csrf"].value
    sent = {"a0-token_overlap": "4", "comment0": COMMENT}
    response = client.post(url, sent | {"csrfmiddlewaretoken": token})
    assert response.status_code == 401
    assert sent.items() <= held_in(response.content.decode()).items()


def test_another_site_lays_out_no_answers_for_somebody_to_send(url: str) -> None:
    """Browsers send it no session, so that the annotator looks signed out; the address was in a message or a log."""
    client = Client(enforce_csrf_checks=True, headers={"origin": "https://other.example"})
    response = client.post(url, FORM)
    assert response.status_code == 403
    assert COMMENT not in unescape(response.content.decode())
    assert not FORM.keys() & held_in(response.content.decode()).keys()


def test_a_page_that_is_only_read_leads_to_the_sign_in(url: str, client: Client) -> None:
    for answer in (client.get(url), client.post(url)):
        assert answer.status_code == 302
        assert answer["Location"].startswith("/sign-in/")


@pytest.mark.parametrize("name", ["new_password1", "prolific_token", "secret", "code"])
def test_no_form_with_a_secret_is_shown_again(project: Project, client: Client, name: str) -> None:
    answer = client.post("/p/bridges/settings/", {"name": "Bridges", name: "planted"})
    assert answer.status_code == 302
    assert "planted" not in answer["Location"]
