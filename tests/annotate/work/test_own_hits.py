"""One's own HITs, over HTTP: what the annotator reads and changes there, and what the manager sees of it."""

import json
import re
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotate.batches.control_plan import ControlPlan
from annotate.models import Assignment, Batch, Draft, Item, Judgment, JudgmentRevision
from annotate.moderation import decisions
from annotate.moderation.work_filter import WorkFilter
from annotate.work import submitting
from projects.models import Membership, Project
from tests.annotate.open_batches import answered, fetch, open_batch
from tests.annotate.work.test_revising import changed, make_control, newest, values
from tests.page_reader import condense
from tests.people import SignIn
from tests.sized_projects import claim

pytestmark = pytest.mark.django_db
MOST_QUERIES = 16


@pytest.fixture
def project(project: Project) -> Project:
    project.revision_minutes = 30
    project.save()
    return project


@pytest.fixture
def batch(project: Project) -> Batch:
    return open_batch(project, n_hits=4, cents_per_hit=50)


@pytest.fixture
def client(annotator: Membership, client_of: SignIn) -> Client:
    return client_of(annotator)


def submit_assignment(annotator: Membership, **over: object) -> UUID:
    found = claim(annotator)
    submitting.submit(annotator=annotator, assignment_uuid=found, sent=answered(**over))  # type: ignore[arg-type]
    return found


@pytest.fixture
def done(batch: Batch, annotator: Membership) -> UUID:
    return submit_assignment(
        annotator, comments={0: "A <b>bold</b> comment."}, flags=frozenset({1}), cannot={2: "No sense"}
    )


def own(uuid: UUID, rest: str = "") -> str:
    return f"/p/bridges/history/{uuid}/{rest}"


def read(client: Client, uuid: UUID) -> str:
    response = client.get(own(uuid))
    assert response.status_code == 200
    return condense(response.content.decode())


def form(*over: float, of: str = "", **more: str) -> dict[str, str]:
    return {**{f"a{place}-correctness": str(value) for place, value in enumerate(over)}, "of": of, **more}


def read_page(client: Client, uuid: UUID) -> str:
    """The version that the page which changes a HIT was filled with."""
    page = client.get(own(uuid, "revision/")).content.decode()
    return page.split('name="of" value="')[1].split('"')[0]


def test_a_hit_is_shown_with_its_ratings_and_its_state(client: Client, done: UUID) -> None:
    page = read(client, done)
    item = Item.objects.select_related("candidate", "question__passage").get(pk=fetch(done).layout[0])
    assert item.candidate is not None
    for text in (item.candidate.text, item.question.text, item.question.passage.text):
        assert text in page
    for text in ("A &lt;b&gt;bold&lt;/b&gt; comment.", "flagged", "No sense", "<b>4</b>", "$0.50", "submitted"):
        assert text in page
    assert "A manager reviews it first." in page or "approved automatically" in page
    assert "<input" not in page.split('class="items"')[1], "it is there to be read"


def test_the_page_explains_why_it_waits_or_was_rejected(
    client: Client, project: Project, manager: Membership, done: UUID
) -> None:
    Project.objects.update(approve_after_days=None)
    assert "A manager reviews it first." in read(client, done)
    Project.objects.update(approve_after_days=3)
    submitted_at = fetch(done).submitted_at
    assert submitted_at is not None
    assert f"{submitted_at + timedelta(days=3):%-d %b %Y, %H:%M} UTC" in read(client, done)
    decisions.reject(project=project, actor=manager, chosen=WorkFilter(), reason="Too quick.")
    page = read(client, done)
    assert "Too quick." in page
    assert f'action="{own(done, "reply/")}"' in page
    assert "Edit it" not in page


def test_an_open_hit_leads_to_its_page_and_a_returned_one_has_no_answers(
    client: Client, annotator: Membership, batch: Batch
) -> None:
    found = claim(annotator)
    assert client.get(own(found))["Location"] == f"/p/bridges/work/{found}/"
    submitting.return_hit(annotator=annotator, assignment_uuid=found, reason="Not my subject.")
    page = read(client, found)
    assert "Not my subject." in page
    assert "there are no ratings" in page


def test_nobody_elses_hit_is_found(
    done: UUID, other_annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    for who in (other_annotator, manager):
        assert client_of(who).get(own(done)).status_code == 404
    for path in ("revision/", "revision/draft/"):
        assert (
            client_of(other_annotator).post(own(done, path), "{}", content_type="application/json").status_code == 404
        )


def test_where_answers_may_be_asked_for_again_they_are_not_shown_before_the_batch_is_closed(
    client: Client, done: UUID
) -> None:
    Batch.objects.update(control_plan=ControlPlan(repeats=2, repeats_every=3).as_json())
    page = read(client, done)
    assert "once work on these HITs has ended" in page
    assert "<b>4</b>" not in page
    assert "bold" not in page
    assert "repeat" not in page.lower()
    assert "Edit it" not in page
    Batch.objects.update(state=Batch.State.CLOSED)
    assert "<b>4</b>" in read(client, done)


def test_a_change_over_http(client: Client, done: UUID) -> None:
    assert f'href="{own(done, "revision/")}"' in read(client, done)
    page = client.get(own(done, "revision/")).content.decode()
    assert page.count('value="4" checked') == 2
    assert 'value="No sense"' in page
    response = client.post(own(done, "revision/"), form(5, 1, 2, of=read_page(client, done)), follow=True)
    assert response.redirect_chain == [(own(done), 302)]
    assert "Changes saved." in response.content.decode()
    assert values(done) == [5, 1, 2]
    again = client.post(own(done, "revision/"), form(5, 1, 2, of=read_page(client, done)), follow=True)
    assert "Nothing changed" in again.content.decode()


def test_a_form_that_lacks_an_answer_comes_back_filled_in_and_of_the_same_version(client: Client, done: UUID) -> None:
    of = read_page(client, done)
    response = client.post(own(done, "revision/"), form(5, of=of))
    assert response.status_code == 422
    page = response.content.decode()
    assert page.count('value="5" checked') == 1
    assert f'name="of" value="{of}"' in page
    # As the page says, and also without its script.
    assert "Your ratings are saved." in page
    assert client.get(own(done, "revision/")).text.count('value="5" checked') == 1


def test_the_second_of_two_pages_sees_both_and_may_change_what_is_stored(client: Client, done: UUID) -> None:
    of = read_page(client, done)
    client.post(own(done, "revision/"), form(5, 5, 5, of=of))
    response = client.post(own(done, "revision/"), form(1, 5, 5, of=of))
    assert response.status_code == 409
    page = response.content.decode()
    assert "in another tab" in page
    assert "One of 3 differs." in page
    assert f'href="{own(done, "revision/")}"' in page
    assert values(done) == [5, 5, 5]


def test_after_the_end_nothing_typed_is_lost(client: Client, done: UUID) -> None:
    of = read_page(client, done)
    Assignment.objects.update(submitted_at=timezone.now() - timedelta(hours=1))
    response = client.post(own(done, "revision/"), form(1, 1, 1, of=of, comment0="Typed too late."))
    assert response.status_code == 409
    assert "Typed too late." in response.content.decode()
    page = client.get(own(done, "revision/"), follow=True)
    assert page.redirect_chain == [(own(done), 302)]
    assert "The time to edit this HIT is over." in page.content.decode()


def test_whoever_is_suspended_meanwhile_sees_what_they_sent(client: Client, annotator: Membership, done: UUID) -> None:
    of = read_page(client, done)
    Membership.objects.filter(pk=annotator.pk).update(standing=Membership.Standing.SUSPENDED)
    response = client.post(own(done, "revision/"), form(1, 1, 1, of=of, comment0="Typed all the same."))
    assert response.status_code == 403
    assert "Typed all the same." in response.content.decode()
    assert "Edit it" not in read(client, done)
    assert not JudgmentRevision.objects.exists()


def test_a_stale_token_gives_the_form_back(annotator: Membership, client: Client, done: UUID) -> None:
    of = read_page(client, done)
    strict = Client(enforce_csrf_checks=True)
    assert annotator.user
    strict.force_login(annotator.user, backend="django.contrib.auth.backends.ModelBackend")
    response = strict.post(own(done, "revision/"), form(1, 1, 1, of=of))
    assert response.status_code == 403
    page = response.content.decode()
    assert page.count('value="1" checked') == 3
    assert f'name="of" value="{of}"' in page
    assert Client().post(own(done, "revision/"), form(1, 1, 1, of=of)).status_code == 401


def draft(client: Client, uuid: UUID, of: str, value: int = 1) -> int:
    sent = json.dumps({"answers": {"0": {"correctness": [value, 1]}}})
    path = own(uuid, f"revision/draft/?of={of}")
    return client.post(path, sent, content_type="application/json").status_code


def test_unsent_changes_are_found_again_and_can_be_dropped(client: Client, done: UUID) -> None:
    of = read_page(client, done)
    assert draft(client, done, of) == 200
    assert 'value="1" checked' in client.get(own(done, "revision/")).content.decode()
    assert "<b>1</b>" not in read(client, done), "unsent changes are not what is stored"
    assert client.post(own(done, "revision/"), {"act": "drop"})["Location"] == own(done)
    assert not Draft.objects.exists()
    assert draft(client, done, "somethingelse") == 409
    assert client.post(f"/p/bridges/work/{done}/draft/", "{}", content_type="application/json").status_code == 409


def test_the_pages_cannot_tell_a_control(client: Client, annotator: Membership, batch: Batch) -> None:
    """Of two equal items, one a control, both changed: the pages show the newest of both in the same words."""
    found = claim(annotator)
    layout = fetch(found).layout
    Item.objects.filter(pk__in=layout).update(shown_text="The same text.")
    make_control(found, 1)
    submitting.submit(annotator=annotator, assignment_uuid=found, sent=changed(2, 2, 2))
    client.post(own(found, "revision/"), form(5, 5, 5, of=read_page(client, found), flag0="on", flag1="on", flag2="on"))
    assert values(found) == [5, 2, 5]
    for page in (
        read(client, found),
        client.get(own(found, "revision/")).content.decode(),
        client.post(f"/p/bridges/work/{found}/", form(1, 1, 1)).content.decode(),
    ):
        items = [part.split("</fieldset>")[0].split("</article>")[0] for part in page.split('id="item')[1:4]]
        first, control, third = (re.sub("[0-4]", "#", item) for item in items)
        assert first == control == third
        assert "5" in first
    listed = condense(client.get("/p/bridges/history/").content.decode())
    assert '<td class="num">3</td><td class="num">3</td>' in listed


def test_the_manager_sees_every_version_with_its_time(
    client: Client, manager: Membership, done: UUID, client_of: SignIn
) -> None:
    shown = f"/p/bridges/submitted/{done}/"
    assert "versions" not in client_of(manager).get(shown).content.decode()
    client.post(own(done, "revision/"), form(5, 4, 2, of=read_page(client, done), flag1="on"))
    page = condense(client_of(manager).get(shown).content.decode())
    assert page.count("2 versions") == 2
    revised_at = JudgmentRevision.objects.filter(n=1).earliest("pk").revised_at
    assert f"{revised_at:%-d %b %Y, %H:%M}" in page
    assert "cannot be judged: <bdi>No sense</bdi>" in page
    assert "revised" in page


@pytest.mark.parametrize("n_items", [3, 30])
def test_the_queries_are_as_many_for_thirty_items(
    project: Project, annotator: Membership, client: Client, n_items: int
) -> None:
    open_batch(project, n_hits=1, n_items=n_items)
    found = claim(annotator)
    submitting.submit(annotator=annotator, assignment_uuid=found, sent=answered(n_items))
    of = read_page(client, found)
    for path in ("", "revision/"):
        client.get(own(found, path))
        with CaptureQueriesContext(connection) as queries:
            assert client.get(own(found, path)).status_code == 200
        assert len(queries) <= MOST_QUERIES
    values_sent = form(*[5.0] * n_items, of=of)
    with CaptureQueriesContext(connection) as queries:
        client.post(own(found, "revision/"), values_sent)
    assert len(queries) <= 35
    assert set(Judgment.objects.values_list("value", flat=True)) == {5}
    assert newest(found) == changed(*[5.0] * n_items)


def test_the_page_of_the_next_hit_offers_to_change_the_one_before(
    project: Project, annotator: Membership, client: Client, batch: Batch
) -> None:
    first = claim(annotator)
    response = client.post(f"/p/bridges/work/{first}/", form(4, 4, 4))
    assert response["Location"].endswith(f"?after={first}")
    assert f'href="{own(first, "revision/")}"' in client.get(response["Location"]).content.decode()
    assert "revision/" not in client.get(response["Location"].replace(str(first), "nonsense")).content.decode()
    Project.objects.update(revision_minutes=0)
    assert "revision/" not in client.get(response["Location"]).content.decode()
    second = claim(annotator)
    assert "after" not in client.post(f"/p/bridges/work/{second}/", form(4, 4, 4))["Location"]


def test_what_was_earned_says_why_it_waits_and_leads_to_the_hit(
    project: Project, manager: Membership, client: Client, done: UUID
) -> None:
    Project.objects.update(approve_after_days=3)
    page = condense(client.get("/p/bridges/earned/").content.decode())
    submitted_at = fetch(done).submitted_at
    assert submitted_at is not None
    due_at = submitted_at + timedelta(days=3)
    assert page.count(f"{due_at:%-d %b %Y, %H:%M} UTC") == 1
    assert page.count(f"until {due_at:%-d %b %Y}") == 1
    assert f'href="{own(done)}"' in page
    decisions.reject(project=project, actor=manager, chosen=WorkFilter(), reason="Too quick.")
    assert "rejected: <bdi>Too quick.</bdi>" in condense(client.get("/p/bridges/earned/").content.decode())
