import json
import uuid
from typing import Any

import pytest
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.safestring import SafeString

from annotate.models import Assignment, Judgment
from annotate.templatetags import rating as rating_tags
from annotate.work import drafts, serving, submitting
from projects.models import Candidate, Membership, Passage, Project, Question, Reference, User
from projects.templatetags import ui_strings as ui_strings_tags
from projects.web.cached_templates import include_cached
from tests.annotate.open_batches import answered, assert_equation, fetch, open_batch
from tests.annotate.submitted_work import expire
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db


def form(n_items: int = 3, value: str = "4") -> dict[str, str]:
    return {f"a{place}-correctness": value for place in range(n_items)}


@pytest.fixture
def assignment(project: Project, annotator: Membership) -> Assignment:
    open_batch(project, n_hits=2)
    found = serving.claim(annotator)
    assert isinstance(found, uuid.UUID)
    return fetch(found)


@pytest.fixture
def url(assignment: Assignment) -> str:
    return f"/p/bridges/work/{assignment.uuid}/"


def test_the_page_shows_the_hit(assignment: Assignment, url: str, client_of: SignIn) -> None:
    page = client_of(assignment.annotator).get(url)
    text = page.content.decode()
    assert page.status_code == 200
    assert assignment.hit.passage.text in text
    for candidate in Candidate.objects.filter(items__hit=assignment.hit):
        assert candidate.text in text
    assert "no-store" in page["Cache-Control"]


def test_the_page_tells_nothing_of_where_an_answer_comes_from(
    assignment: Assignment, url: str, client_of: SignIn
) -> None:
    """Sources, ids, splits and metadata are planted, and none is found in the page or its headers."""
    Candidate.objects.update(source="planted-source", metadata={"planted-key": "planted"}, opinion="planted-opinion")
    for n, candidate in enumerate(Candidate.objects.all()):
        Candidate.objects.filter(pk=candidate.pk).update(external_id=f"planted-{n}")
    Passage.objects.update(split="planted-split")
    page = client_of(assignment.annotator).get(url)
    assert "planted" not in page.content.decode() + str(page.headers)


def test_dialogs_and_languages_are_those_of_the_reader(assignment: Assignment, url: str, client_of: SignIn) -> None:
    """They are kept between pages, for each language and each choice of keys."""
    client, seen = client_of(assignment.annotator), []
    for language, keys in (("en", {}), ("en", {"undo": "w"}), ("de", {"undo": "w"}), ("en", {})):
        User.objects.update(language=language, rating_keys=keys)
        page = client.get(url).content.decode()
        dialog = page.split("data-keys-dialog")[1]
        seen.append(
            (
                "<kbd>w</kbd>" in dialog,
                "rückgängig" in dialog and "<kbd>Strg</kbd>" in dialog,
                'value="de" lang="de" aria-current' in page,
            )
        )
    assert seen == [(False, False, False), (True, False, False), (True, True, True), (False, False, False)]


def test_a_script_that_submits_gets_the_address_of_the_next_page(
    assignment: Assignment, url: str, client_of: SignIn
) -> None:
    client = client_of(assignment.annotator)
    answer = client.post(url, form(), headers={"Accept": "application/json"})
    assert answer.status_code == 200
    assert fetch(uuid.UUID(answer.json()["next"].split("/")[-2])).hit != assignment.hit
    again = client.post(url, form(), headers={"Accept": "application/json"})
    assert again.json()["next"] == answer.json()["next"]
    assert Judgment.objects.count() == 3
    # The instructions that the script of another tab fetches meanwhile are not seen, so the message waits.
    client.get("/p/bridges/instructions/", headers={"X-Requested-With": "fetch"})
    page = client.get(answer.json()["next"])
    assert "Those ratings were already saved." in page.content.decode()


def test_a_script_gets_a_page_where_the_server_has_something_to_explain(
    assignment: Assignment, url: str, client_of: SignIn
) -> None:
    answer = client_of(assignment.annotator).post(url, form(n_items=2), headers={"Accept": "application/json"})
    assert answer.status_code == 422
    assert answer["Content-Type"].startswith("text/html")


def test_submitting_leads_to_the_next_hit(assignment: Assignment, url: str, client_of: SignIn) -> None:
    answer = client_of(assignment.annotator).post(url, form())
    assert answer.status_code == 303
    next_one = Assignment.objects.open().get()
    assert answer["Location"] == f"/p/bridges/work/{next_one.uuid}/"
    assert next_one.hit != assignment.hit
    assert_equation()


def test_the_last_submit_leads_to_the_desk(assignment: Assignment, url: str, client_of: SignIn) -> None:
    client = client_of(assignment.annotator)
    second = client.post(url, form())["Location"]
    assert client.post(second, form())["Location"] == "/p/bridges/desk/"
    desk = client.get("/p/bridges/desk/").content.decode()
    assert "rated everything" in desk
    assert "Others finished this HIT first" not in desk


def test_surplus_ratings_are_said_not_to_count(
    assignment: Assignment, url: str, other_annotator: Membership, client_of: SignIn
) -> None:
    expire(assignment)
    assert isinstance(serving.claim(other_annotator), uuid.UUID)
    client = client_of(assignment.annotator)
    assert "Others finished this HIT first" in client.get(client.post(url, form())["Location"]).content.decode()


def test_the_second_of_two_clicks_hears_that_it_was_saved(assignment: Assignment, url: str, client_of: SignIn) -> None:
    client = client_of(assignment.annotator)
    client.post(url, form())
    again = client.post(url, form(), follow=True)
    assert again.status_code == 200
    assert "already saved" in again.content.decode()
    assert Judgment.objects.count() == 3


def test_an_incomplete_form_comes_back_filled_in(assignment: Assignment, url: str, client_of: SignIn) -> None:
    client = client_of(assignment.annotator)
    page = client.post(url, form(2) | {"comment0": "so far so good"})
    text = page.content.decode()
    assert page.status_code == 422
    assert "Not rated yet." in text
    assert "so far so good" in text
    assert text.count(" checked") == 2
    assert not Judgment.objects.exists()
    # As the page says, and also without its script.
    assert "Your ratings are saved." in text
    again = client.get(url).text
    assert "so far so good" in again
    assert again.count(" checked") == 2
    # Sent again without a rating, with another answer at “can't be judged” and then rated after all.
    client.post(url, form(1) | {"cannot1": "cut off"})
    assert "cut off" in client.get(url).text
    client.post(url, form(2))
    again = client.get(url).text
    assert "cut off" not in again
    assert again.count(" checked") == 2


def test_a_form_without_a_rating_is_not_said_to_be_saved(assignment: Assignment, url: str, client_of: SignIn) -> None:
    client = client_of(assignment.annotator)
    text = condense(client.post(url, form(0) | {"a0-correctness": "77"}).content.decode())
    assert "3 answers still need a rating." in text
    assert "data-missing-saved hidden" in text
    assert "data-missing-saved hidden" not in condense(client.post(url, form(1)).content.decode())


@pytest.mark.parametrize("value", ["6", "0", "4.5", "four", "1e3", "NaN", "4,5", "1.000,0", "<script>"])
def test_a_value_off_the_scale_comes_back_with_the_reason(
    assignment: Assignment, url: str, client_of: SignIn, value: str
) -> None:
    page = client_of(assignment.annotator).post(url, form() | {"a1-correctness": value})
    assert page.status_code == 422
    assert "<script>" not in page.content.decode().split("<main", 1)[1]
    assert not Judgment.objects.exists()


def test_other_answers_to_a_submitted_hit_are_shown_beside_the_stored_ones(
    assignment: Assignment, url: str, client_of: SignIn
) -> None:
    client = client_of(assignment.annotator)
    client.post(url, form())
    page = client.post(url, form(value="1"))
    assert page.status_code == 409
    assert set(Judgment.objects.values_list("value", flat=True)) == {4}


def test_a_stale_token_brings_the_form_back_with_its_answers(assignment: Assignment, url: str) -> None:
    client = Client(enforce_csrf_checks=True)
    assert assignment.annotator.user is not None
    client.force_login(assignment.annotator.user, backend="django.contrib.auth.backends.ModelBackend")
    page = client.post(url, form() | {"csrfmiddlewaretoken": "stale"})
    assert page.status_code == 403
    assert page.content.decode().count(" checked") == 3
    assert 'name="csrfmiddlewaretoken"' in page.content.decode()


def test_the_draft_is_on_the_page(assignment: Assignment, url: str, client_of: SignIn) -> None:
    sent = {"answers": {"1": {"correctness": [2, 1]}}, "comments": {"0": ["hm", 1]}, "flags": {"2": [True, 1]}}
    drafts.save(annotator=assignment.annotator, assignment_uuid=assignment.uuid, sent=sent)
    text = condense(client_of(assignment.annotator).get(url).content.decode())
    assert 'name="a1-correctness" value="2" checked' in text
    assert "hm</textarea>" in text
    assert 'name="flag2" checked' in text


def test_somebody_elses_hit_is_not_found(url: str, other_annotator: Membership, client_of: SignIn) -> None:
    client = client_of(other_annotator)
    assert client.get(url).status_code == 404
    assert client.post(url, form()).status_code == 404
    assert client.post(url + "return/").status_code == 404
    assert client.post(url + "reopen/").status_code == 404
    assert client.post(url + "extend/").status_code == 404


def test_returning_frees_the_place(assignment: Assignment, url: str, client_of: SignIn) -> None:
    answer = client_of(assignment.annotator).post(url + "return/", {"reason": "I know the author"})
    assert answer.status_code == 303
    assert fetch(assignment.uuid).return_reason == "I know the author"
    assert_equation()


def test_a_submitted_hits_page_leads_back_to_the_desk(assignment: Assignment, url: str, client_of: SignIn) -> None:
    submitting.submit(annotator=assignment.annotator, assignment_uuid=assignment.uuid, sent=answered())
    assert client_of(assignment.annotator).get(url)["Location"] == "/p/bridges/desk/"


def test_opening_a_page_takes_no_place(project: Project, annotator: Membership, client_of: SignIn) -> None:
    open_batch(project)
    client = client_of(annotator)
    for page in ("/p/bridges/desk/", "/desk/", "/p/bridges/instructions/", "/p/bridges/history/"):
        assert client.get(page).status_code == 200
    assert client.get("/p/bridges/work/").status_code == 405
    assert not Assignment.objects.exists()


def test_the_session_tells_who_is_signed_in_and_gives_a_token(annotator: Membership, client_of: SignIn) -> None:
    answer = client_of(annotator).get("/session/").json()
    assert answer["user"] == "anna"
    assert len(answer["csrf"]) == 64
    assert Client().get("/session/").status_code == 401


def test_a_whole_cycle_takes_at_most_twenty_queries(project: Project, annotator: Membership, client_of: SignIn) -> None:
    "Submit ten ratings, claim the next HIT, show it: whatever the size of the batch."
    client = client_of(annotator)
    counts = []
    for n_hits in (3, 60):
        open_batch(project, n_hits=n_hits, n_items=10, priority=n_hits)
        page = client.post("/p/bridges/work/")["Location"]
        client.get(page)
        with CaptureQueriesContext(connection) as queries:
            page = client.post(page, form(10) | {"seconds": json.dumps([1.5] * 10)})["Location"]
            assert client.get(page).status_code == 200
        client.post(page + "return/")
        counts.append(len([query for query in queries if "SAVEPOINT" not in query["sql"]]))
    assert counts[0] == counts[1] <= 20


def test_parts_that_are_kept_say_what_fresh_ones_do(
    assignment: Assignment, url: str, client_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part of pages with all sorts of texts is rendered once more, without what was kept."""
    used: list[tuple[str, dict[str, Any], str]] = []

    def note(name: str, **values: Any) -> SafeString:
        part = include_cached(name, **values)
        used.append((name, values, part))
        return part

    for module in (rating_tags, ui_strings_tags):
        monkeypatch.setattr(module, "include_cached", note)
    client = client_of(assignment.annotator)
    Project.objects.update(shows_question_type=True, shows_entities=True, shows_reference_opinion=True)
    for text, opinion in (("A lamp.", ""), ("<b>&amp;'\"", "yes"), ("\u3164 \n", "<i>")):
        Candidate.objects.update(text=text, opinion=opinion)
        Question.objects.update(text=text, span=text.strip(), type="entity", entities=[text, "x"])
        Reference.objects.update(text=text, opinion=opinion)
        Passage.objects.update(title=text, text=f"{text}\n\n\n\n{text}", documents=[{"text": text}, {"title": text}])
        client.get(url)
        client.post(url, form(n_items=2))
    assert {name for name, *_ in used} >= {
        "_header.html",
        *(f"annotate/rating/_{part}.html" for part in ("item", "question", "passage", "due", "rate_tools")),
    }
    for name, values, part in used:
        assert part == render_to_string(name, values), name
