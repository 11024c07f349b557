"""The pages of 403, 404 and 405, which are kept rendered: each visitor gets their own language, theme and reason."""

import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client, RequestFactory
from django.utils import translation

from projects.models import Membership, Project, User
from projects.web.error_pages import permission_denied
from projects.web.request_ids import HEADER
from tests.people import SignIn

pytestmark = pytest.mark.django_db


def test_each_has_the_language_and_theme_of_its_visitor(client: Client) -> None:
    client.cookies["theme"] = '"dark"><script>'
    german = client.get("/nowhere/", headers={"Accept-Language": "de"})
    del client.cookies["theme"]
    english = client.get("/nowhere/", headers={"Accept-Language": "en"})
    assert {german.status_code, english.status_code} == {404}
    assert 'lang="de"' in german.content.decode()
    assert 'data-theme="&quot;dark&quot;&gt;&lt;script&gt;"' in german.content.decode()
    assert "Page not found" in english.content.decode()
    assert "data-theme" not in english.content.decode()


def test_each_says_its_own_request_id(annotator: Membership, client_of: SignIn) -> None:
    client = client_of(annotator)
    for path in ("/p/bridges/batches/", "/p/none/") * 2:
        answer = client.get(path)
        assert answer[HEADER] in answer.content.decode()


def test_a_reason_is_text_and_the_page_has_one_without_it() -> None:
    request = RequestFactory().get("/")
    with translation.override("en"):
        given, without = (permission_denied(request, PermissionDenied(reason)) for reason in ("<b>Not yours</b>", ""))
    assert {given.status_code, without.status_code} == {403}
    assert "&lt;b&gt;Not yours&lt;/b&gt;" in given.content.decode()
    assert "A project manager can change your role." in without.content.decode()


def test_an_address_that_takes_forms_alone_answers_a_browser_with_a_page(
    project: Project, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    """With one way back, in the reader's language; the API answers its clients as before."""
    path = f"/p/{project.slug}/work/"
    for language, heading in (("en", "This page can't be opened directly"), ("de", "Diese Seite lässt sich nicht")):
        User.objects.filter(memberships=annotator).update(language=language)
        answer = client_of(annotator).get(path)
        assert (answer.status_code, answer["Allow"]) == (405, "POST")
        assert f"<h1>{heading}" in answer.text
        assert answer.text.count('class="button"') == 1
        assert answer["Content-Type"].startswith("text/html")
        assert answer["X-Frame-Options"] == "DENY"
    assert client_of(annotator).head(path).status_code == 405
    # The sentence is one for whoever opens an address; what a program sends there gets the status alone.
    assert client_of(annotator).post(f"/p/{project.slug}/history/").content == b""
    answer = client_of(manager).put(f"/api/v1/projects/{project.slug}/batches/")
    assert (answer.status_code, answer["Content-Type"]) == (405, "application/problem+json")
