"""A broken candidate or passage withdrawn: in no layout made from now on, its judgments kept and not counted."""

from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.urls import reverse

from annotate import places
from annotate.batches.selection import Selection, select_candidates
from annotate.data import withdrawing
from annotate.models import Batch, Hit, Item, Judgment, Remark
from annotate.places import Withdrawn
from projects.errors import Refused
from projects.identical_answers import mark_identical
from projects.models import Candidate, FigureChange, LogEntry, Membership, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.submitted_work import assert_sound, claim, counters, rate, send
from tests.concurrency import start_beside
from tests.factories import make_batch, make_candidates, make_identical_answers
from tests.page_reader import read
from tests.people import SignIn

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(project: Project) -> Batch:
    return open_batch(project, n_hits=2, judgments=2)


@pytest.fixture
def candidate(batch: Batch) -> Candidate:
    return Candidate.objects.select_related("question__passage").order_by("pk")[0]


def test_a_withdrawn_candidate_says_why_and_its_judgments_do_not_count(
    project: Project, batch: Batch, candidate: Candidate, annotator: Membership, manager: Membership
) -> None:
    work = rate(annotator, 2)
    assert withdrawing.plan_withdrawal([candidate.pk]) == withdrawing.WithdrawalPlan(1, 1, 0, 0, 1, 0)
    done = withdrawing.withdraw_candidate(project=project, actor=manager, candidate=candidate, why=" Cut off. ")
    assert (done.n_items, done.n_hits_emptied, done.n_judgments) == (1, 0, 1)
    candidate.refresh_from_db()
    assert (candidate.withdrawn_why, candidate.withdrawn_at is not None) == ("Cut off.", True)
    assert Judgment.objects.get(candidate=candidate).not_counted_reason == "withdrawn"
    assert Judgment.objects.filter(is_counted=True).count() == 5
    entry = LogEntry.objects.get()
    assert (entry.act, entry.actor, entry.object_id, entry.why) == (
        "withdraw candidate",
        manager,
        str(candidate.pk),
        "Cut off.",
    )
    assert entry.after == {"items": 1, "hits_emptied": 0, "judgments": 1}
    assert {counters(each.hit_id) for each in work} == {(2, 1, 1)}
    assert_sound()


def test_judgments_whose_submit_was_under_way_make_figures_stale_once_more(
    project: Project,
    batch: Batch,
    candidate: Candidate,
    annotator: Membership,
    manager: Membership,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second step of a withdrawal finds them; figures may have been computed since the first."""
    rate(annotator, 1)
    late = Judgment.objects.filter(candidate=candidate)
    assert late.update(is_counted=False, not_counted_reason="withdrawn") == 1
    steps: list[int] = []
    original = places.withdraw_candidates

    def withdraw(*args: Any, **options: Any) -> Withdrawn:
        if steps:
            late.update(is_counted=True, not_counted_reason="")
        steps.append(FigureChange.objects.count())
        return original(*args, **options)

    monkeypatch.setattr(places, "withdraw_candidates", withdraw)
    done = withdrawing.withdraw_candidate(project=project, actor=manager, candidate=candidate, why="Cut off.")
    assert (len(steps), done.n_judgments, late.filter(is_counted=True).count()) == (2, 1, 0)
    assert FigureChange.objects.count() == steps[1] + 1


def test_a_withdrawn_passage_takes_all_its_candidates(
    project: Project,
    batch: Batch,
    candidate: Candidate,
    annotator: Membership,
    other_annotator: Membership,
    manager: Membership,
) -> None:
    passage = candidate.question.passage
    rate(annotator, 2)
    ids = list(Candidate.objects.filter(question__passage=passage).values_list("pk", flat=True))
    assert withdrawing.plan_withdrawal(ids) == withdrawing.WithdrawalPlan(3, 1, 1, 1, 3, 0)
    withdrawing.withdraw_passage(project=project, actor=manager, passage=passage, why="The wrong text.")
    assert counters(Hit.objects.get(passage=passage)) == (1, 0, 1)
    assert claim(other_annotator).hit.passage_id != passage.pk
    assert LogEntry.objects.get().act == "withdraw passage"
    assert_sound()


def test_what_is_withdrawn_is_in_no_new_batch(project: Project, candidate: Candidate, manager: Membership) -> None:
    withdrawing.withdraw_candidate(project=project, actor=manager, candidate=candidate, why="Cut off.")
    assert candidate.pk not in {row.candidate for row in select_candidates(project, Selection())}
    new = make_batch(project)
    assert not Item.objects.filter(hit__batch=new, candidate=candidate).exists()
    assert new.n_items == 5


def test_it_needs_a_reason_and_is_done_once(project: Project, candidate: Candidate, manager: Membership) -> None:
    with pytest.raises(Refused, match="Give a reason"):
        withdrawing.withdraw_candidate(project=project, actor=manager, candidate=candidate, why="  ")
    withdrawing.withdraw_candidate(project=project, actor=manager, candidate=candidate, why="Cut off.")
    with pytest.raises(Refused, match="already"):
        withdrawing.withdraw_candidate(project=project, actor=manager, candidate=candidate, why="Again.")
    assert LogEntry.objects.count() == 1


def test_the_page_says_the_numbers_first(
    batch: Batch, candidate: Candidate, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    rate(annotator, 2)
    client, page = client_of(manager), f"/p/bridges/data/candidates/{candidate.pk}/withdraw/"
    screen = read(client.get(page).content.decode())
    assert [screen.number(label) for label in ("Candidates", "Judgments", "HITs")] == [1, 1, 1]
    assert client.post(page, {"why": ""}).status_code == 422
    done = client.post(page, {"why": "Cut off."}, follow=True).content.decode()
    assert "1 judgment of it no longer count" in done
    assert "Cut off." in done
    assert client.post(page, {"why": "Again."}).status_code == 422
    assert "already withdrawn" in client.get(page).content.decode()
    assert "withdrawn" in client.get("/p/bridges/data/candidates/").content.decode()
    assert_sound()


def test_the_page_says_that_somebody_is_rating_it(
    batch: Batch, annotator: Membership, other_annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    open_hit, other_hit = claim(annotator).hit, claim(other_annotator).hit
    client = client_of(manager)
    for candidate in Candidate.objects.all():
        n = Item.objects.filter(candidate=candidate, hit__in=(open_hit, other_hit)).count()
        n = n if open_hit != other_hit else 2 * n
        screen = read(client.get(f"/p/bridges/data/candidates/{candidate.pk}/withdraw/").content.decode())
        assert (screen.number("Being rated now") if n else screen.facts.get("Being rated now")) == (n or None)
    rate(annotator, 1)
    assert withdrawing.plan_withdrawal(list(Candidate.objects.values_list("pk", flat=True))).n_open == 1


def test_the_page_of_a_passage_withdraws_it(
    batch: Batch, candidate: Candidate, manager: Membership, client_of: SignIn
) -> None:
    passage = candidate.question.passage
    client, page = client_of(manager), f"/p/bridges/data/passages/{passage.pk}/withdraw/"
    assert page in client.get(f"/p/bridges/data/passages/{passage.pk}/").content.decode()
    screen = read(client.get(page).content.decode())
    assert "1 would be empty, removing 2 unfilled assignments" in screen.facts["HITs"]
    client.post(page, {"why": "The wrong text."})
    passage.refresh_from_db()
    assert passage.withdrawn_why == "The wrong text."
    assert_sound()


def test_a_remark_leads_to_withdrawing(
    batch: Batch, annotator: Membership, manager: Membership, researcher: Membership, client_of: SignIn
) -> None:
    send(claim(annotator), flags=frozenset({0}))
    item = Remark.objects.get().item
    url = f"/p/bridges/data/candidates/{item.candidate_id}/withdraw/"
    assert url in client_of(manager).get("/p/bridges/remarks/").content.decode()
    assert url not in client_of(researcher).get("/p/bridges/remarks/").content.decode()
    assert client_of(researcher).get(url).status_code == 403


def test_the_next_of_identical_answers_is_rated_when_the_first_is_withdrawn(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    make_identical_answers(project)
    first, second = Candidate.objects.filter(question__external_id="same").order_by("pk")
    third = make_candidates(second.question, text=second.text, source="third")[0]
    with transaction.atomic():
        mark_identical(project)
    address = reverse("annotate:candidate-withdraw", args=[project.slug, first.pk])
    page = " ".join(client_of(manager).get(address).content.decode().split())
    assert "have its ratings and would lose them; a new batch takes one of them" in page
    assert withdrawing.plan_withdrawal([first.pk]).n_identical == 2
    withdrawing.withdraw_candidate(project=project, actor=manager, candidate=first, why="Cut off.")
    marked = dict(Candidate.objects.exclude(identical_to=None).values_list("pk", "identical_to"))
    assert marked == {third.pk: second.pk}
    assert {row.candidate for row in select_candidates(project, Selection())} >= {second.pk}
    assert_sound()


@pytest.mark.django_db(transaction=True)
def test_an_answer_that_is_imported_while_the_first_is_withdrawn_has_the_ratings_of_the_next(
    project: Project, manager: Membership
) -> None:
    make_identical_answers(project)
    first, second = Candidate.objects.filter(question__external_id="same").order_by("pk")
    withdraw = partial(withdrawing.withdraw_candidate, project=project, actor=manager, candidate=first, why="Cut off.")
    with transaction.atomic():
        third = make_candidates(second.question, text=second.text, source="third")[0]
        mark_identical(project, [second.question_id])
        finish = start_beside(withdraw)
        assert Candidate.objects.get(pk=third.pk).identical_to_id == first.pk
    assert isinstance(finish(), Withdrawn)
    marked = dict(Candidate.objects.exclude(identical_to=None).values_list("pk", "identical_to"))
    assert marked == {third.pk: second.pk}
    assert_sound()
