"""Items shown one at a time, as a browser without scripts uses them."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import Assignment, Batch, Draft, Judgment
from annotate.work import serving
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch
from tests.people import SignIn

pytestmark = pytest.mark.django_db


@pytest.fixture
def assignment(project: Project, annotator: Membership) -> Assignment:
    open_batch(project, n_hits=1, n_items=3, presentation=Batch.Presentation.ONE)
    return Assignment.objects.get(uuid=str(serving.claim(annotator)))


@pytest.fixture
def url(project: Project, assignment: Assignment) -> str:
    return reverse("annotate:work-show", args=[project.slug, assignment.uuid])


def shown(client: Client, url: str) -> list[str]:
    """The places on the page."""
    return re.findall(r'data-place="(\d+)"', client.get(url).content.decode())


def test_each_page_shows_the_next_item_alone(client_of: SignIn, annotator: Membership, url: str) -> None:
    client = client_of(annotator)
    for place in range(3):
        assert shown(client, url) == shown(client, url) == [str(place)]
        page = client.get(url).content.decode()
        assert f"Rate answer {place + 1} of 3" in page
        assert ("You can't go back" in page) == (place < 2)
        response = client.post(url, {"place": place, f"a{place}-correctness": "4"})
        assert response.status_code == 303
        assert (response["Location"] == url) == (place < 2)
    assert Judgment.objects.count() == 3


def test_a_second_tab_cannot_change_what_the_first_has_answered(
    client_of: SignIn, annotator: Membership, url: str
) -> None:
    client = client_of(annotator)
    client.post(url, {"place": 0, "a0-correctness": "2"})
    response = client.post(url, {"place": 0, "a0-correctness": "5"}, follow=True)
    assert "Your first rating of number 1 stays" in response.content.decode()
    again = client.post(url, {"place": 0, "a0-correctness": "2"}, follow=True)
    assert "stays" not in again.content.decode()
    assert shown(client, url) == ["1"]
    draft = Draft.objects.get().answers
    assert (draft["answers"]["0"]["correctness"][0], draft["passed"]) == (2, 1)


def test_an_item_without_an_answer_comes_back_with_what_was_written(
    client_of: SignIn, annotator: Membership, url: str
) -> None:
    client = client_of(annotator)
    client.post(url, {"place": 0, "a0-correctness": "2"})
    response = client.post(url, {"place": 1, "comment1": "a thought"})
    assert response.status_code == 422
    page = response.content.decode()
    assert re.findall(r'data-place="(\d+)"', page) == ["1"]
    assert "a thought" in page
    assert "Not rated yet." in page
    assert "a thought" in client.get(url).text


@pytest.mark.parametrize("form", [{"place": 2, "a2-correctness": "4"}, {"a0-correctness": "4", "a1-correctness": "4"}])
def test_what_comes_out_of_turn_leads_back_to_the_item(
    client_of: SignIn, annotator: Membership, url: str, form: dict[str, str]
) -> None:
    client = client_of(annotator)
    response = client.post(url, form)
    assert (response.status_code, response["Location"]) == (303, url)
    assert shown(client, url) == ["0"]
    assert not Draft.objects.exists()


def test_the_page_keeps_a_draft_of_the_item_it_shows(client_of: SignIn, annotator: Membership, url: str) -> None:
    client = client_of(annotator)
    client.post(url, {"place": 0, "a0-correctness": "2"})
    sent = {"answers": {"0": {"correctness": [5, 1]}, "1": {"correctness": [3, 1]}}}
    answer = client.post(f"{url}draft/", sent, content_type="application/json").json()
    assert answer["answers"]["0"]["correctness"][0] == 2
    assert 'value="3" checked' in client.get(url).content.decode()
