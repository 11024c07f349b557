import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import escape

from annotate.batches import lifecycle
from annotate.batches.creating import create_batch
from annotate.batches.forms import NewBatchForm
from annotate.batches.progress import fetch_progress
from annotate.batches.terms import Terms
from annotate.data.withdrawing import withdraw_passage
from annotate.models import Assignment, Batch, Draft, Hit, Remark
from annotate.rating.sent import SentAnswers
from annotate.work import serving, submitting
from projects.identical_answers import mark_identical
from projects.models import Candidate, LogEntry, Membership, Project, User
from tests.annotate.submitted_work import rate
from tests.factories import (
    make_batch,
    make_candidates,
    make_corpus,
    make_dataset,
    make_identical_answers,
    make_membership,
    make_passage,
    make_project,
    make_question,
)
from tests.page_reader import condense, read
from tests.people import SignIn
from tests.previews import confirm, find_seal

pytestmark = pytest.mark.django_db

CHOICE = {
    "kind": "full",
    "seed": "0",
    "judgments": "3",
    "hit_size": "10",
    "cents_per_hit": "40",
    "cents_per_item": "0",
    "fee_percent": "20",
    "time_limit_minutes": "60",
    "order": "breadth",
    "priority": "0",
}


@pytest.fixture
def batch(project: Project, manager: Membership) -> Batch:
    make_corpus(project, n_passages=3, n_candidates=3)
    batch = create_batch(project=project, actor=manager, terms=Terms(judgments=2, name="Pilot <b>"))
    lifecycle.open_batch(batch=batch, actor=manager)
    return batch


@pytest.fixture
def remark(batch: Batch, annotator: Membership) -> Remark:
    uuid = serving.claim(annotator)
    assert not isinstance(uuid, serving.NoWork)
    sent = SentAnswers(
        values={0: {"correctness": 4}, 1: {"correctness": 2}},
        cannot={2: "No sense <i>at all</i>"},
        flags=frozenset({0}),
        comments={0: "The passage is cut off"},
    )
    submitting.submit(annotator=annotator, assignment_uuid=uuid, sent=sent)
    return Remark.objects.get(is_flagged=True)


def url(name: str, *arguments: object) -> str:
    return reverse(f"annotate:{name}", args=["bridges", *arguments])


def body(client: Client, address: str, query: dict[str, str] | None = None, status: int = 200, **data: str) -> str:
    response = client.get(address, {**(query or {}), **data})
    assert response.status_code == status, response.content.decode()[:2_000]
    return condense(response.content.decode())


READABLE = [
    ("batch-list",),
    ("batch-show", 1),
    ("hit-show", 1, 1),
    ("hit-preview", 1, 1),
    ("remark-list",),
]
MANAGED = [("batch-new",), ("batch-wanted", 1)]
POSTED = [("batch-state", 1), ("remark-resolve", 1)]


@pytest.mark.parametrize("route", READABLE, ids=lambda route: route[0])
def test_researchers_and_managers_read(
    route: tuple[str, ...], batch: Batch, manager: Membership, researcher: Membership, client_of: SignIn
) -> None:
    for person in (manager, researcher):
        body(client_of(person), url(*route))


@pytest.mark.parametrize("route", READABLE + MANAGED, ids=lambda route: route[0])
def test_strangers_find_nothing_and_annotators_are_refused(
    route: tuple[str, ...], batch: Batch, annotator: Membership, stranger: User, client_of: SignIn
) -> None:
    body(client_of(stranger), url(*route), status=404)
    body(client_of(annotator), url(*route), status=403)
    assert client_of(annotator).delete(url(*route)).status_code in (403, 405)


@pytest.mark.parametrize("route", MANAGED, ids=lambda route: route[0])
def test_researchers_make_and_change_nothing(
    route: tuple[str, ...], batch: Batch, researcher: Membership, client_of: SignIn
) -> None:
    body(client_of(researcher), url(*route), status=403)


@pytest.mark.parametrize("route", POSTED, ids=lambda route: route[0])
def test_acts_are_posted_by_managers_only(
    route: tuple[str, ...], batch: Batch, manager: Membership, researcher: Membership, stranger: User, client_of: SignIn
) -> None:
    body(client_of(manager), url(*route), status=405)
    assert client_of(researcher).post(url(*route), {"act": "close"}).status_code == 403
    assert client_of(stranger).post(url(*route), {"act": "close"}).status_code == 404
    batch.refresh_from_db()
    assert batch.state == Batch.State.OPEN


def test_a_number_of_another_project_is_not_found(batch: Batch, client_of: SignIn) -> None:
    other = make_project("other")
    client = client_of(make_membership(other, role=Membership.Role.OWNER))
    assert client.get(reverse("annotate:batch-show", args=["other", 1])).status_code == 404
    assert client.get(reverse("annotate:hit-show", args=["other", 1, 1])).status_code == 404
    assert client.get(reverse("annotate:batch-show", args=["other", 10**30])).status_code == 404


def test_a_new_batch_is_planned_then_made(project: Project, manager: Membership, client_of: SignIn) -> None:
    make_corpus(project, name="one", n_passages=2, n_candidates=11)
    make_corpus(project, name="two", n_passages=1, n_candidates=5)
    client = client_of(manager)
    assert "Preview batch" in body(client, url("batch-new"))
    planned = body(client, url("batch-new"), CHOICE, datasets="one")
    assert "2 questions on 2 passages" in planned
    assert read(planned).number("HITs") == 4
    assert "$5.76" in planned
    assert not Batch.objects.exists()
    assert "Personal HITs" not in planned
    assert "Personal HITs" in body(client, url("batch-new"), CHOICE, datasets="one", degraded_per_hit="2")
    assert "the same text" not in planned
    ids = Candidate.objects.filter(question__passage__dataset__name="one").order_by("pk").values_list("pk", flat=True)
    # Three of the first question and one of the second; what another dataset has is not in the batch.
    Candidate.objects.filter(pk__in=[ids[0], ids[1], ids[3], ids[12]]).update(text="On the mat.")
    Candidate.objects.filter(question__passage__dataset__name="two").update(text="On the mat.")
    planned = condense(body(client, url("batch-new"), CHOICE, datasets="one"))
    assert "2 candidates have the same text as another candidate of the same question" in planned
    response = confirm(client, url("batch-new"), {**CHOICE, "datasets": "one"}, name="First")
    assert response.status_code == 302
    made = Batch.objects.get()
    assert (made.name, made.n_hits, made.judgments, made.fee_share) == ("First", 4, 3, 0.2)
    assert made.created_by == manager
    assert LogEntry.objects.get(act="make batch").actor == manager


def test_one_preview_makes_one_batch(project: Project, manager: Membership, client_of: SignIn) -> None:
    make_corpus(project, n_passages=2, n_candidates=3)
    make_batch(project, is_open=False)
    client = client_of(manager)
    sent = {**CHOICE, "shown": find_seal(body(client, url("batch-new"), CHOICE))}
    assert client.post(url("batch-new"), sent).status_code == 302
    assert "The data have changed since the preview" in condense(client.post(url("batch-new"), sent).content.decode())
    assert "a draft, has the same candidates and settings." in body(client, url("batch-new"), CHOICE)
    assert "This trial takes every candidate" not in body(client, url("batch-new"), CHOICE)
    trial = {**CHOICE, "kind": "trial"}
    assert "This trial takes every candidate" in body(client, url("batch-new"), trial, sample="200")
    assert "This trial takes every candidate" not in body(client, url("batch-new"), trial, sample="3")
    assert "This trial has 1 passage. With fewer than 20" in condense(body(client, url("batch-new"), trial, sample="3"))
    assert "set a larger sample" in body(client, url("batch-new"), trial, sample="3")
    assert "set a larger sample" not in body(client, url("batch-new"), trial, sample="200"), "there is none"
    assert "With fewer than 20" not in body(client, url("batch-new"), CHOICE)
    others = {**CHOICE, "hit_size": "7"}
    assert "a draft, has the same" not in body(client, url("batch-new"), others)
    assert project.batches.count() == 2


def test_a_choice_that_cannot_be_is_shown_again(project: Project, manager: Membership, client_of: SignIn) -> None:
    make_corpus(project)
    client = client_of(manager)
    assert "Set the number of judgments" in body(client, url("batch-new"), {**CHOICE, "judgments": ""}, 422)
    assert "1000" in body(client, url("batch-new"), {**CHOICE, "judgments": "5000"}, 422)
    assert client.post(url("batch-new"), {**CHOICE, "hit_size": "x"}).status_code == 422
    assert not Batch.objects.exists()


def test_named_annotators_come_from_this_project(
    project: Project, manager: Membership, annotator: Membership, client_of: SignIn
) -> None:
    make_corpus(project)
    foreign = make_membership(make_project("other"))
    client = client_of(manager)
    assert client.post(url("batch-new"), {**CHOICE, "annotators": str(foreign.pk)}).status_code == 422
    assert confirm(client, url("batch-new"), {**CHOICE, "annotators": str(annotator.pk)}).status_code == 302
    assert Batch.objects.get().judgments == 1


def test_extra_fields_set_nothing(project: Project, manager: Membership, client_of: SignIn) -> None:
    make_corpus(project)
    confirm(client_of(manager), url("batch-new"), {**CHOICE, "state": "open", "project": "99", "number": "50"})
    made = Batch.objects.get()
    assert (made.state, made.number, made.project) == ("draft", 1, project)


def test_the_list_filters_sorts_and_escapes(
    batch: Batch, project: Project, manager: Membership, client_of: SignIn
) -> None:
    create_batch(project=project, actor=manager, terms=Terms(judgments=1, name="Second"))
    client = client_of(manager)
    page = body(client, url("batch-list"))
    assert page.index("Second") < page.index("Pilot &lt;b&gt;")
    assert body(client, url("batch-list"), sort="number").index("Pilot") < body(
        client, url("batch-list"), sort="number"
    ).index("Second")
    assert "Second" not in body(client, url("batch-list"), state="open")
    assert "Pilot" not in body(client, url("batch-list"), q="sec")
    assert "No matching batches" in body(client, url("batch-list"), q="\x00nothing")
    body(client, url("batch-list"), sort="judgments; drop", state="'", page="-1")


def test_a_batch_that_nobody_has_worked_on_says_so(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    page = body(client_of(manager), url("batch-show", 1))
    assert "no submissions yet" in page
    assert "Too few active annotators are left who haven’t seen them." in page
    assert "Invite more people" in page


def test_the_batch_page_shows_counts_stuck_places_and_who_has_what(
    batch: Batch, remark: Remark, annotator: Membership, researcher: Membership, client_of: SignIn
) -> None:
    serving.claim(annotator)
    page = body(client_of(researcher), url("batch-show", 1))
    assert "1 of 6 assignments" in page
    assert "unfilled assignments that no one can take" in page
    assert annotator.pseudonym in page
    assert "anna" not in page
    assert "csrfmiddlewaretoken" not in page.split('id="main"')[1]


def test_a_hit_that_was_withdrawn_before_anybody_rated_it_is_no_complete_one(batch: Batch) -> None:
    withdraw_passage(project=batch.project, actor=None, passage=Hit.objects.get(number=1).passage, why="Cut off")
    progress = fetch_progress([batch])[batch.pk]
    assert (progress.n_hits, progress.n_complete, progress.n_wanted) == (2, 0, 4)


def test_no_time_is_left_for_work_that_no_one_can_take(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    for _ in range(3):
        rate(annotator)
    page = read(body(client_of(manager), url("batch-show", 1)))
    assert page.facts["Unfilled assignments"].startswith("3 3 stuck")
    assert page.facts["Time left"] == "– no one can take what is left"
    # Somebody new can take them all.
    make_membership(batch.project)
    assert read(body(client_of(manager), url("batch-show", 1))).facts["Time left"].endswith("at this pace")


@pytest.mark.parametrize(
    ("query", "n_shown"),
    [
        ({}, 3),
        ({"state": "held"}, 1),
        ({"state": "complete"}, 0),
        ({"q": "2"}, 1),
        ({"q": "nothing"}, 0),
        ({"state": "open"}, 3),
    ],
)
def test_hits_are_filtered(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn, query: dict[str, str], n_shown: int
) -> None:
    serving.claim(annotator)
    response = client_of(manager).get(url("batch-show", 1), query)
    assert len(response.context["page"].object_list) == n_shown


def test_buttons_move_the_batch_and_refusals_are_sentences(
    batch: Batch, manager: Membership, client_of: SignIn
) -> None:
    client = client_of(manager)
    for act, state in (("pause", "paused"), ("open", "open"), ("close", "closed")):
        assert client.post(url("batch-state", 1), {"act": act}).status_code == 302
        batch.refresh_from_db()
        assert batch.state == state
    response = client.post(url("batch-state", 1), {"act": "reopen", "why": ""}, follow=True)
    assert "Give a reason for reopening the batch" in response.content.decode()
    client.post(url("batch-state", 1), {"act": "reopen", "why": "New people"})
    batch.refresh_from_db()
    assert batch.state == Batch.State.OPEN
    response = client.post(url("batch-state", 1), {"act": "delete"}, follow=True)
    assert "Only a draft can be deleted" in response.content.decode()
    assert client.post(url("batch-state", 1), {"act": "explode"}).status_code == 302


def test_who_opens_a_batch_reads_whether_anyone_can_take_its_hits(
    project: Project, manager: Membership, annotator: Membership, client_of: SignIn
) -> None:
    client = client_of(manager)
    make_corpus(project, n_passages=1, n_candidates=2)
    create_batch(project=project, actor=manager, terms=Terms(judgments=1))
    opened = client.post(url("batch-state", 1), {"act": "open"}, follow=True)
    assert "Annotators can now take its HITs." in opened.content.decode()
    Membership.objects.filter(pk=annotator.pk).update(standing="suspended")
    client.post(url("batch-state", 1), {"act": "pause"})
    reopened = condense(client.post(url("batch-state", 1), {"act": "open"}, follow=True).content.decode())
    assert "Batch opened. No one can take its HITs yet: see below." in reopened
    assert "1 unfilled assignment that no one can take." in reopened


def test_the_pay_for_short_hits_is_changed_in_a_draft_only(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    make_corpus(project)
    batch = make_batch(project, is_open=False, cents_per_hit=40)
    client = client_of(manager)
    assert "Pay short HITs by item" in body(client, url("batch-show", batch.number))
    page = client.post(url("batch-state", batch.number), {"act": "pay-by-item"}, follow=True).content.decode()
    assert "Pay short HITs in full" in page
    assert "items in proportion" in page
    entry = LogEntry.objects.latest("pk")
    assert (entry.act, entry.before, entry.after) == (
        "change pay of short HITs",
        {"is_pay_prorated": False},
        {"is_pay_prorated": True},
    )
    call_command("batch", str(batch.number), "--short-hits", "hit", project=project.slug, json=True, stdout=StringIO())
    batch.refresh_from_db()
    assert not batch.is_pay_prorated
    lifecycle.open_batch(batch=batch, actor=manager)
    assert "Pay short HITs" not in body(client, url("batch-show", batch.number))
    page = client.post(url("batch-state", batch.number), {"act": "pay-by-item"}, follow=True).content.decode()
    assert "Only a draft can change its pay" in page
    batch.refresh_from_db()
    assert not batch.is_pay_prorated


def test_wanting_more_says_what_it_does_before_it_does_it(batch: Batch, manager: Membership, client_of: SignIn) -> None:
    client = client_of(manager)
    page = body(client, url("batch-wanted", 1), judgments="4", hits="1-2")
    assert "Assignments added</dt><dd>4" in page
    assert "1.60" in page
    assert Hit.objects.filter(places_wanted=2).count() == 3
    confirm(client, url("batch-wanted", 1), {"judgments": "4", "hits": "1-2"})
    assert list(Hit.objects.order_by("number").values_list("places_wanted", flat=True)) == [4, 4, 2]
    assert 'value="3"' in body(client, url("batch-wanted", 1), hit="3")
    for hits in ("1-x", "77"):
        assert client.post(url("batch-wanted", 1), {"judgments": "4", "hits": hits}).status_code == 422


def test_topping_up_a_closed_batch_asks_whether_to_reopen(batch: Batch, manager: Membership, client_of: SignIn) -> None:
    lifecycle.close(batch=batch, actor=manager)
    client = client_of(manager)
    # Beside *Archive*, after which it can't be reopened, is the way to the form that asks for a reason.
    page = body(client, url("batch-show", 1))
    assert page.index('href="#reopen"') < page.index('id="reopen"')
    assert "This batch is closed" in body(client, url("batch-wanted", 1), judgments="3")
    response = confirm(client, url("batch-wanted", 1), {"judgments": "3"}, reopen="on", why="")
    assert response.status_code == 422
    assert Hit.objects.filter(places_wanted=2).count() == 3
    confirm(client, url("batch-wanted", 1), {"judgments": "3"}, reopen="on", why="More money")
    batch.refresh_from_db()
    assert (batch.state, batch.judgments) == (Batch.State.OPEN, 3)


def test_a_hit_shows_its_items_assignments_and_values(
    batch: Batch, remark: Remark, annotator: Membership, researcher: Membership, client_of: SignIn
) -> None:
    hit = remark.assignment.hit
    page = body(client_of(researcher), url("hit-show", 1, hit.number))
    assert annotator.pseudonym in page
    assert page.count('<td class="num">4</td>') == 1
    assert "model-a" in page


def test_a_preview_stores_nothing_and_tells_no_source(batch: Batch, manager: Membership, client_of: SignIn) -> None:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        page = body(client_of(manager), url("hit-preview", 1, 1))
    assert "Preview: nothing is saved" in page
    assert "model-a" not in page
    assert not Assignment.objects.exists()
    assert not Draft.objects.exists()
    written = [
        q["sql"] for q in queries if q["sql"].split()[0] in ("INSERT", "UPDATE", "DELETE") and "annotate_" in q["sql"]
    ]
    assert written == []


def test_remarks_are_listed_filtered_and_resolved(
    remark: Remark, annotator: Membership, manager: Membership, researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(manager)
    page = body(client, url("remark-list"))
    assert "The passage is cut off" in page
    assert "No sense &lt;i&gt;at all&lt;/i&gt;" in page
    assert annotator.pseudonym in page
    assert "cut off" not in body(client, url("remark-list"), kind="cannot")
    assert "cut off" in body(client, url("remark-list"), kind="flag", batch="1", q="CUT")
    assert "cut off" not in body(client, url("remark-list"), batch="9")
    back = url("remark-list") + "?kind=flag"
    response = client.post(url("remark-resolve", remark.pk), {"next": back})
    assert response["Location"] == back
    assert Remark.objects.filter(resolved_at__isnull=False).get() == remark
    assert LogEntry.objects.get(act="resolve remark").actor == manager
    assert "cut off" not in body(client, url("remark-list"))
    assert "cut off" in body(client, url("remark-list"), state="resolved")
    client.post(url("remark-resolve", remark.pk), {"again": "1", "next": "//evil.example/"})
    assert Remark.objects.filter(pk=remark.pk, resolved_at=None).exists()
    assert "Resolve" not in body(client_of(researcher), url("remark-list")).split("<tbody>")[1]


def test_resolving_never_leaves_the_site(remark: Remark, manager: Membership, client_of: SignIn) -> None:
    for address in ("//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"):
        response = client_of(manager).post(url("remark-resolve", remark.pk), {"next": address})
        assert response["Location"] == url("remark-list")


def test_lists_ask_the_same_number_of_queries_whatever_their_length(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    make_corpus(project, n_passages=40, n_candidates=1)
    client = client_of(manager)
    client.get(url("batch-list"))  # the first request of a session asks whose it is
    counts: dict[str, list[int]] = {}
    for n in (1, 8):
        while Batch.objects.count() < n:
            batch = create_batch(project=project, actor=manager, terms=Terms(judgments=1))
        lifecycle.open_batch(batch=batch, actor=manager)
        for route in (("batch-list",), ("batch-show", batch.number)):
            with CaptureQueriesContext(connection) as queries:
                assert client.get(url(*route)).status_code == 200
            counts.setdefault(route[0], []).append(len(queries))
    assert counts["batch-list"][0] == counts["batch-list"][1] <= 20
    assert counts["batch-show"][0] == counts["batch-show"][1] <= 20


def test_every_page_of_a_batch_names_it_in_the_path_above(batch: Batch, manager: Membership, client_of: SignIn) -> None:
    client = client_of(manager)
    for page in ("batch-show", "batch-caps", "batch-wanted", "batch-controls"):
        path = re.search(r'<ol class="crumbs">.*?</ol>', body(client, url(page, 1)), re.DOTALL)
        assert path is not None
        assert f"<bdi>{escape(batch.name)}</bdi>" in path[0], page


def test_the_sources_to_tick_are_in_order_whatever_their_capital_letters(project: Project) -> None:
    question = make_question(make_passage(make_dataset(project)))
    for source in ("unified-qa", "GPT", "", "human", "mT5", "Longformer"):
        make_candidates(question, source=source)
    offered = [label for _value, label in NewBatchForm(project).fields["sources"].choices]  # type: ignore[attr-defined]
    assert offered == ["not given (1)", "GPT (1)", "human (1)", "Longformer (1)", "mT5 (1)", "unified-qa (1)"]


def test_a_long_list_that_scrolls_says_how_many_of_it_are_ticked(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    question = make_question(make_passage(make_dataset(project)))
    for n in range(24):
        make_candidates(question, source=f"system {n}")
    client = client_of(manager)
    assert "data-ticked" not in body(client, url("batch-new"))
    make_candidates(question, source="system 24")
    assert "<output>0</output> of 25 ticked" in condense(body(client, url("batch-new")))
    again = client.get(url("batch-new"), {"sources": ["system 3", "system 24"], "hit_size": "10"})
    assert "<output>2</output> of 25 ticked" in condense(again.content.decode())


def test_the_preview_says_whether_identical_answers_are_rated_once(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    make_identical_answers(project)
    client = client_of(manager)
    once = body(client, url("batch-new"), CHOICE)
    assert "1 more candidate has the same text as one of these on the same question. It isn’t rated again" in once
    make_batch(project, is_open=False)
    left = body(client, url("batch-new"), CHOICE, sources="span")
    assert "1 answer of these sources has the same text as a candidate of another batch, and has its ratings." in left
    Project.objects.update(rates_identical_once=False)
    mark_identical(project)
    each = body(client, url("batch-new"), CHOICE)
    assert "Each is rated, so annotators may see a text twice." in each
    assert "<em>Rate identical answers once</em>" in each
    assert "isn’t rated again" not in each
