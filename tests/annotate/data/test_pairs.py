"""Minimal pairs written, changed, deleted and withdrawn, on the page and under it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.data import pairs
from annotate.data.pairs import Written
from projects.errors import Refused
from projects.models import Candidate, LogEntry, Membership, MinimalPair, Passage, Project, Question
from results.models import MetricRun, MetricScore
from tests.annotate.controls.controlled_batches import work
from tests.concurrency import all_at_once
from tests.factories import (
    make_batch,
    make_dataset,
    make_membership,
    make_pair,
    make_passage,
    make_project,
    make_question,
)

NASTY = "<script>window.__xss=1</script>{{7*7}}\u202e\"'%}"
TEXTS = {"text_1": "On the mat.", "text_2": "Not on the mat.", "phenomenon": " Negation "}


@pytest.fixture
def question(project: Project) -> Question:
    return make_question(make_passage(make_dataset(project, "towns"), "p0"), "q0")


@pytest.fixture
def client(manager: Membership, client_of: Callable[[Membership], Client]) -> Client:
    return client_of(manager)


def url(name: str, *place: object) -> str:
    return reverse(f"annotate:{name}", args=["bridges", *place])


def errors(response: Any) -> list[str]:
    assert response.status_code == 422
    return [error for listed in response.context["form"].errors.values() for error in listed]


@pytest.mark.django_db
def test_a_pair_is_written_on_a_question_with_two_new_candidates(question: Question, client: Client) -> None:
    page = client.get(url("pair-new", question.pk))
    assert "word sense" in page.content.decode()
    response = client.post(url("pair-new", question.pk), {**TEXTS, "score_1": "4.5", "score_2": "2"}, follow=True)
    pair = MinimalPair.objects.get()
    assert (pair.phenomenon, pair.score_1, pair.score_2, pair.question) == ("negation", 4.5, 2.0, question)
    first, second = pair.candidate_1, pair.candidate_2
    assert (first.text, second.text, first.source) == ("On the mat.", "Not on the mat.", pairs.SOURCE)
    assert first.external_id.removesuffix("-1") == second.external_id.removesuffix("-2")
    assert (first.dataset_id, first.question_id) == (question.dataset_id, question.pk)
    assert "Minimal pair added." in response.content.decode()
    line = LogEntry.objects.get(act="write minimal pair")
    assert line.object_id == str(pair.pk)
    assert line.after is not None
    assert line.after["phenomenon"] == "negation"
    assert "created" in client.get(reverse("projects:log-list", args=["bridges"])).content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text_2": "On the mat."}, "The two texts are the same"),
        ({"text_1": "  \n "}, "This field is required."),
        ({"text_1": "x" * 20_001}, "at most 20000 characters"),
        ({"phenomenon": "x" * 41}, "at most 40 characters"),
        ({"score_1": "3"}, "Give both scores or none."),
        ({"score_1": "nan", "score_2": "1"}, "Enter a number."),
        ({"score_1": "1e400", "score_2": "1"}, "Enter a number."),
        ({"text_1": "a\0b"}, "Null characters are not allowed."),
    ],
)
def test_an_impossible_pair_is_refused_at_its_field(
    question: Question, client: Client, change: dict[str, str], message: str
) -> None:
    response = client.post(url("pair-new", question.pk), TEXTS | change)
    assert any(message in error for error in errors(response)), errors(response)
    assert not MinimalPair.objects.exists()
    assert not Candidate.objects.exists()


@pytest.mark.django_db
def test_a_pair_is_written_once_and_on_no_withdrawn_passage(question: Question, client: Client) -> None:
    path = url("pair-new", question.pk)
    assert client.post(path, TEXTS | {"another": "1"}).headers["Location"] == path
    turned = {"text_1": TEXTS["text_2"], "text_2": TEXTS["text_1"]}
    for sent in (TEXTS, turned):
        assert "This question already has a pair with these two texts." in errors(client.post(path, sent))
    other = make_question(question.passage)
    client.post(url("pair-new", other.pk), TEXTS)
    assert MinimalPair.objects.count() == 2
    Passage.objects.filter(pk=question.passage_id).update(withdrawn_at=timezone.now())
    assert "The passage of this question is withdrawn." in errors(client.post(path, TEXTS | {"text_1": "New"}))


@pytest.mark.django_db
def test_a_first_score_that_is_not_higher_is_stored_with_a_warning(question: Question, client: Client) -> None:
    sent = TEXTS | {"score_1": "2", "score_2": "2"}
    page = client.post(url("pair-new", question.pk), sent, follow=True).content.decode()
    assert "excluded from metric accuracy" in page
    assert "better one not higher" in page


@pytest.mark.django_db
def test_texts_change_until_the_pair_is_in_a_hit_and_scores_of_old_texts_go(
    project: Project, question: Question, client: Client, manager: Membership
) -> None:
    pair = make_pair(question, "kept")
    run = MetricRun.objects.create(project=project, metric="x", title="X", subject="x", requested_by=manager)
    for pk in (pair.candidate_1_id, pair.candidate_2_id):
        MetricScore.objects.create(run=run, candidate_id=pk, value=1.0)
    page = url("pair-edit", pair.pk)
    same = {"text_1": pair.candidate_1.text, "text_2": pair.candidate_2.text}
    assert "Nothing has changed." in errors(client.post(page, same))
    client.post(page, same | {"phenomenon": "syntax"})
    assert MetricScore.objects.count() == 2
    client.post(page, same | {"text_2": "Off the mat.", "phenomenon": "syntax"})
    fresh = MinimalPair.objects.get(pk=pair.pk)
    assert (fresh.candidate_2.text, fresh.candidate_2.external_id, fresh.phenomenon) == (
        *("Off the mat.", "kept-2", "syntax"),
    )
    assert (fresh.candidate_1_id, fresh.candidate_2_id) == (pair.candidate_1_id, pair.candidate_2_id)
    assert not MetricScore.objects.exists()
    make_batch(project, with_pairs=True)
    assert "<textarea" not in client.get(page).content.decode()
    client.post(page, {"text_1": "Another", "phenomenon": "other", "score_1": "5", "score_2": "1"})
    fresh.refresh_from_db()
    assert (fresh.candidate_1.text, fresh.phenomenon, fresh.score_1) == (pair.candidate_1.text, "other", 5.0)
    written = replace(pairs.fetch_written(fresh), text_1="Another")
    with pytest.raises(Refused, match="their texts can’t be changed"):
        pairs.change_pair(project=project, actor=manager, pair=fresh, written=written)
    assert LogEntry.objects.filter(act="change minimal pair").count() == 3


@pytest.mark.django_db
def test_a_pair_is_deleted_before_it_is_in_a_hit_and_withdrawn_after(
    project: Project, question: Question, client: Client, annotator: Membership
) -> None:
    gone, kept = make_pair(question), make_pair(question)
    assert "Delete pair" in client.get(url("pair-remove", gone.pk)).content.decode()
    client.post(url("pair-remove", gone.pk))
    assert list(Candidate.objects.all()) == [kept.candidate_1, kept.candidate_2]
    make_batch(project, with_pairs=True)
    work(annotator)
    assert errors(client.post(url("pair-remove", kept.pk), {"why": ""}))
    message = client.post(url("pair-remove", kept.pk), {"why": "A typing error"}, follow=True).content.decode()
    assert "Withdrawn. 2 judgments of it no longer count." in message
    assert Candidate.objects.filter(withdrawn_at=None).count() == 0
    assert MinimalPair.objects.count() == 1
    again = client.post(url("pair-remove", kept.pk), {"why": "A typing error"}, follow=True).content.decode()
    assert "This is already withdrawn." in again
    lines = LogEntry.objects.filter(act__in=["delete minimal pair", "withdraw candidate"]).order_by("pk")
    assert list(lines.values_list("act", flat=True)) == ["delete minimal pair", *["withdraw candidate"] * 2]


@pytest.mark.django_db
def test_pairs_of_another_project_are_not_found(question: Question, client: Client) -> None:
    elsewhere = make_question(make_passage(make_dataset(make_project("elsewhere"))))
    pair = make_pair(elsewhere)
    for path in (url("pair-new", elsewhere.pk), url("pair-edit", pair.pk), url("pair-remove", pair.pk)):
        assert client.get(path).status_code == 404
        assert client.post(path, TEXTS).status_code == 404


@pytest.mark.django_db
def test_the_list_counts_and_filters_and_shows_nothing_as_code(
    project: Project, question: Question, client: Client, researcher: Membership, client_of: Callable[..., Client]
) -> None:
    other = make_question(make_passage(make_dataset(project, "rivers")), text=NASTY)
    make_pair(question, "a", phenomenon="negation", score_1=5, score_2=1)
    make_pair(question, "b", phenomenon=NASTY[:40], score_1=1, score_2=1)
    make_pair(other, "c", phenomenon="negation")
    make_pair(make_question(make_passage(make_dataset(make_project("elsewhere")))), phenomenon="foreign words")

    def listed(**query: str) -> list[str]:
        page = client_of(researcher).get(url("pair-list"), query)
        return [pair.candidate_1.external_id for pair in page.context["page"]]

    assert (
        listed()
        == listed(dataset="nowhere", phenomenon="foreign words", scores="x", page="-1")
        == ["a-1", "b-1", "c-1"]
    )
    assert listed(dataset="towns") == ["a-1", "b-1"]
    assert listed(phenomenon="negation") == ["a-1", "c-1"]
    assert (listed(scores="higher"), listed(scores="not"), listed(scores="none")) == (["a-1"], ["b-1"], ["c-1"])
    assert listed(q="Under the mat of b") == ["b-1"]
    assert listed(q="c-1") == ["c-1"]
    page = client_of(researcher).get(url("pair-list"))
    assert [(line["dataset"], line["n"]) for line in page.context["lines"]] == [("rivers", 1), ("towns", 2)]
    assert sum(page.context["sums"]) == page.context["n_pairs"] == 3
    shown = page.content.decode()
    assert "<script>window" not in shown
    assert "&lt;script&gt;" in shown
    assert url("pair-new", question.pk) not in shown
    assert "foreign words" not in shown
    passage = client.get(url("passage-show", question.passage_id)).content.decode()
    assert "better of a minimal pair: <bdi>negation</bdi>" in passage
    assert url("pair-new", question.pk) in passage
    assert url("pair-new", question.pk) in client.get(url("data-questions")).content.decode()


@pytest.mark.django_db
def test_an_empty_list_says_what_to_do(project: Project, client: Client) -> None:
    assert "Choose a question" in client.get(url("pair-list")).content.decode()


def press(task: tuple[Project, Membership, Question]) -> bool:
    project, actor, question = task
    written = Written(text_1="One", text_2="Other")
    try:
        pairs.write_pair(project=project, actor=actor, question=question, written=written)
    except Refused:
        return False
    return True


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
def test_the_same_pair_written_at_once_is_written_once(project: Project, question: Question) -> None:
    people = [make_membership(project, role=Membership.Role.MANAGER) for _ in range(6)]
    assert sum(all_at_once(press, [(project, each, question) for each in people])) == 1
    assert (MinimalPair.objects.count(), Candidate.objects.count()) == (1, 2)
