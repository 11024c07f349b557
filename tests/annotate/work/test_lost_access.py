"""A right that goes while the rating page is open: the answers are kept, and the page says why."""

import json
import uuid

import pytest
from django.test import Client
from django.utils import timezone

from annotate.models import Assignment, Draft, Judgment
from annotate.work import serving, submitting
from projects.models import Membership, Project, User
from tests.annotate.open_batches import assert_equation, fetch, open_batch
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db
REASONS = {"suspended": "on hold", "removed": "has ended", "closed": "is closed", "demoted": "annotators can rate HITs"}
FORM = {"a0-correctness": "4", "a1-correctness": "2", "comment1": "half right", "flag2": "on", "cannot2": "unreadable"}


@pytest.fixture
def assignment(project: Project, annotator: Membership) -> Assignment:
    open_batch(project, n_hits=2)
    found = serving.claim(annotator)
    assert isinstance(found, uuid.UUID)
    return fetch(found)


@pytest.fixture
def url(assignment: Assignment) -> str:
    return f"/p/bridges/work/{assignment.uuid}/"


def take_away(membership: Membership, how: str) -> None:
    if how == "closed":
        Project.objects.filter(pk=membership.project_id).update(deleted_at=timezone.now())
    elif how == "demoted":
        Membership.objects.filter(pk=membership.pk).update(role=Membership.Role.RESEARCHER, is_annotator=False)
    else:
        Membership.objects.filter(pk=membership.pk).update(standing=how)


def list_values(draft: Draft) -> dict[str, object]:
    """The draft without its stamps, and without what was cleared."""
    answers = {
        place: {key: value for key, (value, _) in kept.items()} for place, kept in draft.answers["answers"].items()
    }
    rest = {part: {place: value for place, (value, _) in draft.answers[part].items() if value} for part in REST}
    return {"answers": answers, **rest}


REST = ("cannot", "comments", "flags")
KEPT = {
    "answers": {"0": {"correctness": 4}, "1": {"correctness": 2}},
    "cannot": {"2": "unreadable"},
    "comments": {"1": "half right"},
    "flags": {"2": True},
}


@pytest.mark.parametrize("how", REASONS)
def test_the_answers_are_kept_and_shown_with_the_reason(
    assignment: Assignment, url: str, client_of: SignIn, how: str
) -> None:
    client = client_of(assignment.annotator)
    take_away(assignment.annotator, how)
    page = client.post(url, FORM)
    text = page.content.decode()
    assert page.status_code == 403
    assert REASONS[how] in text
    assert "as a draft" in text
    assert "<b>4</b>" in text
    assert "half right" in text
    assert "unreadable" in text
    assert list_values(Draft.objects.get()) == KEPT
    assert not Judgment.objects.exists()
    assert_equation()


@pytest.mark.parametrize("how", REASONS)
def test_a_draft_of_the_holder_is_still_kept(assignment: Assignment, url: str, client_of: SignIn, how: str) -> None:
    client = client_of(assignment.annotator)
    take_away(assignment.annotator, how)
    sent = {"answers": {"0": {"correctness": [5, 1]}}}
    answer = client.post(url + "draft/", json.dumps(sent), content_type="application/json")
    assert answer.status_code == 200
    assert REASONS[how] in answer.json()["ended"], "the open page says so at once"
    assert Draft.objects.get().answers["answers"] == {"0": {"correctness": [5, 1]}}


def test_the_draft_of_somebody_who_works_on_says_nothing_of_an_end(
    assignment: Assignment, url: str, client_of: SignIn
) -> None:
    sent = {"answers": {"0": {"correctness": [5, 1]}}}
    answer = client_of(assignment.annotator).post(url + "draft/", json.dumps(sent), content_type="application/json")
    assert "ended" not in answer.json()


@pytest.mark.parametrize("how", REASONS)
def test_nothing_else_opens(
    assignment: Assignment, url: str, client_of: SignIn, other_annotator: Membership, stranger: User, how: str
) -> None:
    """The page itself, other acts and other people's hits stay closed, and nobody else writes a draft."""
    closed = 404 if how == "closed" else 403
    for membership in (assignment.annotator, other_annotator):
        take_away(membership, how)
    holder = client_of(assignment.annotator)
    assert holder.get(url).status_code == closed
    for act in ("return/", "reopen/", "extend/"):
        assert holder.post(url + act).status_code == closed
    for address in (url, url + "draft/"):
        assert client_of(other_annotator).post(address, FORM).status_code == closed
        assert client_of(stranger).post(address, FORM).status_code == 404
    assert not Draft.objects.exists()


def test_a_newer_answer_beats_the_draft_and_what_is_left_empty_stays(
    assignment: Assignment, url: str, client_of: SignIn
) -> None:
    client = client_of(assignment.annotator)
    stamp = timezone.now().timestamp() * 1000 - 1000
    sent = {"answers": {"0": {"correctness": [1, stamp]}}, "comments": {"0": ["keep me", stamp]}}
    client.post(url + "draft/", json.dumps(sent), content_type="application/json")
    take_away(assignment.annotator, "suspended")
    client.post(url, FORM)
    kept = Draft.objects.get().answers
    assert kept["answers"]["0"]["correctness"][0] == 4
    assert stamp < kept["answers"]["0"]["correctness"][1] <= timezone.now().timestamp() * 1000
    assert kept["comments"]["0"] == ["keep me", stamp]


def test_the_kept_answers_are_there_when_the_right_comes_back(
    assignment: Assignment, url: str, client_of: SignIn
) -> None:
    client = client_of(assignment.annotator)
    take_away(assignment.annotator, "suspended")
    client.post(url, FORM)
    take_away(assignment.annotator, "active")
    text = condense(client.get(url).content.decode())
    assert 'name="a1-correctness" value="2" checked' in text
    assert "half right</textarea>" in text


def test_values_that_cannot_be_kept_are_shown_all_the_same(assignment: Assignment, url: str, client_of: SignIn) -> None:
    client = client_of(assignment.annotator)
    take_away(assignment.annotator, "suspended")
    page = client.post(url, {"a0-correctness": "<b>x", "a1-correctness": "2", "a77-correctness": "3", "a1-other": "1"})
    assert page.status_code == 403
    assert "&lt;b&gt;x" in page.content.decode()
    assert Draft.objects.get().answers["answers"].get("0", {}) == {}
    assert Draft.objects.get().answers["answers"]["1"]["correctness"][0] == 2


@pytest.mark.parametrize("how", REASONS)
def test_a_repeat_of_what_is_stored_hears_that_it_was_saved(
    assignment: Assignment, url: str, client_of: SignIn, how: str
) -> None:
    client = client_of(assignment.annotator)
    form = {f"a{place}-correctness": "4" for place in range(3)}
    client.post(url, form)
    take_away(assignment.annotator, how)
    again = client.post(url, form)
    other = client.post(url, {f"a{place}-correctness": "1" for place in range(3)})
    assert "already saved" in again.content.decode()
    assert "saved. It's shown below" in other.content.decode()
    assert set(Judgment.objects.values_list("value", flat=True)) == {4}
    assert not Draft.objects.exists()


def test_a_right_lost_between_check_and_lock_keeps_the_answers_too(
    assignment: Assignment, url: str, client_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Suspended between the access check and the lock: the submit is refused, and the answers are kept."""
    client = client_of(assignment.annotator)
    submit = submitting.submit

    def suspend_first(**arguments: object) -> object:
        take_away(assignment.annotator, "suspended")
        return submit(**arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(submitting, "submit", suspend_first)
    page = client.post(url, FORM)
    assert page.status_code == 409
    assert "on hold" in page.content.decode()
    assert list_values(Draft.objects.get()) == KEPT


def with_stale_token(membership: Membership, **headers: str) -> Client:
    """A browser whose token has changed since the form was opened."""
    assert membership.user is not None
    client = Client(enforce_csrf_checks=True, headers=headers)
    client.force_login(membership.user, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.mark.parametrize("how", REASONS)
def test_a_stale_token_and_a_lost_right_together_lose_nothing(assignment: Assignment, url: str, how: str) -> None:
    client = with_stale_token(assignment.annotator, origin="http://testserver")
    take_away(assignment.annotator, how)
    page = client.post(url, FORM | {"csrfmiddlewaretoken": "stale"})
    text = page.content.decode()
    assert page.status_code == 403
    assert REASONS[how] in text
    assert "as a draft" in text
    assert "<b>4</b>" in text
    assert "half right" in text
    assert list_values(Draft.objects.get()) == KEPT


@pytest.mark.parametrize("headers", [{}, {"origin": "https://elsewhere.example"}, {"origin": "null"}])
def test_a_form_from_elsewhere_is_shown_and_changes_nothing(
    assignment: Assignment, url: str, headers: dict[str, str]
) -> None:
    client = with_stale_token(assignment.annotator, **headers)
    take_away(assignment.annotator, "suspended")
    page = client.post(url, FORM | {"csrfmiddlewaretoken": "stale"})
    text = page.content.decode()
    assert page.status_code == 403
    assert "half right" in text
    assert "saved. It's shown below" in text
    assert not Draft.objects.exists()


def test_a_stale_token_opens_nothing_to_others(
    assignment: Assignment, url: str, other_annotator: Membership, stranger: User
) -> None:
    take_away(other_annotator, "suspended")
    form = FORM | {"csrfmiddlewaretoken": "stale"}
    page = with_stale_token(other_annotator, origin="http://testserver").post(url, form)
    assert page.status_code == 403
    assert assignment.hit.passage.text not in page.content.decode()
    client = Client(enforce_csrf_checks=True)
    client.force_login(stranger, backend="django.contrib.auth.backends.ModelBackend")
    assert client.post(url, form, headers={"origin": "http://testserver"}).status_code == 404
    assert not Draft.objects.exists()
