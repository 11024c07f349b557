"""Authentication of the API: by token or session the same answers, refusals as problems, and a limit to how often."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from pytest_django import Settings

from projects.api import tokens
from projects.api.views import ProjectShow
from projects.models import ApiToken, Guesses, Membership
from projects.people import members
from tests.factories import make_membership, make_project
from tests.people import SignIn
from tests.projects.api.client import ROOT, Script, wrong_fields

Role, Standing = Membership.Role, Membership.Standing

pytestmark = pytest.mark.django_db


def test_a_token_and_a_session_are_answered_alike(researcher: Membership, client_of: SignIn) -> None:
    script, browser = Script(researcher), client_of(researcher)
    for path in (script.root, f"{script.root}?colour=red", f"{ROOT}nowhere/", f"{ROOT}?page=0"):
        by_token, by_session = script.get(path), browser.get(path)
        assert by_token.status_code == by_session.status_code
        assert by_token.json() == by_session.json()
        assert by_token["Cache-Control"] == by_session["Cache-Control"] == "private, no-store"


def test_a_list_of_projects_holds_none_of_others(researcher: Membership, client_of: SignIn) -> None:
    assert researcher.user
    make_membership(make_project("second"), researcher.user, role=Role.OWNER)
    make_membership(make_project("as-annotator"), researcher.user)
    make_membership(make_project("removed"), researcher.user, role=Role.OWNER, standing=Standing.REMOVED)
    make_project("foreign")
    mine = [each["project"]["slug"] for each in client_of(researcher).get(ROOT).json()["results"]]
    assert mine == ["bridges", "second"]
    by_token = Script(researcher).get(ROOT).json()
    assert (by_token["count"], by_token["results"][0]["project"]["slug"]) == (1, "bridges")


def test_a_token_opens_its_project_alone(researcher: Membership) -> None:
    assert researcher.user
    second = make_membership(make_project("second"), researcher.user, role=Role.OWNER)
    script = Script(researcher)
    assert script.get(script.root).status_code == 200
    assert script.get(f"{ROOT}{second.project.slug}/").status_code == 404


def test_where_a_token_is_sent_cookies_count_for_nothing(owner: Membership, client_of: SignIn) -> None:
    browser = client_of(owner)
    for header in ("Bearer concord_nothing", "Basic b2xnYTpwYXNz", "concord_nothing", ""):
        response = browser.get(f"{ROOT}bridges/", headers={"Authorization": header})
        assert response.status_code == 401, header
        assert response["WWW-Authenticate"].startswith("Bearer")
    assert browser.get(f"{ROOT}bridges/").status_code == 200


def test_a_token_opens_no_page(owner: Membership) -> None:
    script = Script(owner, can_write=True)
    for name in ("results:project-overview", "projects:token-list"):
        assert script.get(reverse(name, args=["bridges"])).status_code == 302


@pytest.mark.parametrize("query", ["token={}", "access_token={}", "page={}", "API_KEY=x"])
def test_a_token_in_an_address_is_refused(researcher: Membership, query: str) -> None:
    _, secret = tokens.make_token(membership=researcher, name="leaked")
    response = Client().get(f"{ROOT}?{query.format(secret)}")
    assert response.status_code == 400
    assert "logged" in response.json()["detail"]
    assert secret not in response.content.decode()


def test_what_was_lost_counts_from_the_next_request_on(manager: Membership, owner: Membership) -> None:
    script = Script(manager, can_write=True)
    assert script.read()["role"] == "manager"
    members.change_role(target=manager, role=Role.RESEARCHER, actor=owner)
    assert script.read()["role"] == "researcher"
    assert script.post(script.root).status_code == 403
    members.set_standing(target=manager, standing=Standing.REMOVED, actor=owner)
    assert script.get(script.root).status_code == 403
    members.set_standing(target=manager, standing=Standing.ACTIVE, actor=owner)
    tokens.revoke(token=script.token, actor=owner)
    assert script.get(script.root).status_code == 401


def test_an_account_that_is_closed_has_no_token(researcher: Membership) -> None:
    script = Script(researcher)
    assert researcher.user
    researcher.user.is_active = False
    researcher.user.save()
    assert script.get(script.root).status_code == 401


def test_too_many_requests_wait_out_the_minute(researcher: Membership, settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 2
    script, other = Script(researcher), Script(researcher)
    assert [script.get(ROOT).status_code for _ in range(3)] == [200, 200, 429]
    response = script.get(ROOT)
    assert 1 <= int(response["Retry-After"]) <= 60
    assert other.get(ROOT).status_code == 200
    for hours in (-1, 24):  # a day ahead is where the clock was set back
        minute_at = timezone.now() + timedelta(hours=hours)
        ApiToken.objects.filter(pk=script.token.pk).update(minute_at=minute_at, n_in_minute=3)
        assert script.get(ROOT).status_code == 200
        script.token.refresh_from_db()
        assert (script.token.n_in_minute, script.token.last_used_at is None) == (1, False)


def test_whoever_guesses_tokens_is_held_back_and_the_right_one_still_comes_in(
    researcher: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Guesses, "MOST", 2)
    wrong = {"Authorization": "Bearer concord_wrong"}
    answers = [Client().get(ROOT, headers=wrong) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [401, 401, 429]
    assert int(answers[-1]["Retry-After"]) > 60
    assert Script(researcher).get(ROOT).status_code == 200
    Guesses.objects.update(since=timezone.now() + timedelta(days=1))
    assert Client().get(ROOT, headers=wrong).status_code == 401, "They are of a clock that was set back since."
    assert Guesses.objects.get().n == 1
    Guesses.objects.update(since=timezone.now() + timedelta(days=1))
    Guesses.forget_old()
    assert not Guesses.objects.exists()
    assert Client().get(reverse("projects:join", args=["a-link"])).status_code == 404


def test_an_unknown_field_is_named(researcher: Membership) -> None:
    script = Script(researcher)
    response = script.get(ROOT, {"page": "1", "is_gold": "1"})
    assert (response.status_code, wrong_fields(response)) == (400, {"is_gold"})
    assert wrong_fields(script.get(ROOT, {"page": "x", "page_size": "1001"})) == {"page", "page_size"}
    assert wrong_fields(script.get(f"{ROOT}?%ED%A0%80=1")) != set()


def test_a_parameter_is_sent_once(researcher: Membership) -> None:
    script = Script(researcher)
    response = script.get(f"{script.root}candidates/?source=a&source=b&page=1&page=1&split=a")
    assert (response.status_code, wrong_fields(response)) == (400, {"source", "page"})
    assert "source: Sent 2 times. Send it once." in response.json()["detail"]
    response = script.get(f"{script.root}candidates/?source=a&source=b&unknown=1&unknown=2")
    assert (response.status_code, wrong_fields(response)) == (400, {"source", "unknown"})


@pytest.mark.parametrize("path", ["/api/v1/nothing/", "/api/v1/projects/%00/", "/api/v1/projects/a.b/"])
def test_an_address_without_a_route_is_a_problem_too(path: str) -> None:
    response = Client().get(path)
    assert (response.status_code, response["Content-Type"]) == (404, "application/problem+json")


def test_what_goes_wrong_here_is_a_problem_without_a_trace(
    researcher: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProjectShow, "_described", lambda self: 1 / 0)
    script = Script(researcher)
    response = script.get(script.root)
    assert (response.status_code, response["Content-Type"]) == (500, "application/problem+json")
    assert "ZeroDivision" not in response.content.decode()


def test_what_is_too_large_or_packed_is_a_problem(researcher: Membership, settings: Settings) -> None:
    script = Script(researcher)
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
    assert wrong_fields(script.send("", {"name": "x" * 20})) == set()
    assert script.send("", {"name": "x" * 20}).status_code == 413
    packed = script.post(script.root, b"", content_type="application/json", headers={"Content-Encoding": "gzip"})
    assert (packed.status_code, packed["Content-Type"]) == (415, "application/problem+json")


def test_the_page_about_the_api_names_every_operation(client: Client) -> None:
    description = client.get(reverse("api:schema")).json()
    page = client.get(reverse("api:docs")).content.decode()
    for path, methods in description["paths"].items():
        for operation in methods.values():
            assert operation["summary"], path
            assert escape(operation["summary"]) in page
        assert path in page
