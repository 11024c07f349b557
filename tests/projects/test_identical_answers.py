"""Identical answers are marked where a project rates them once, and only there."""

import pytest
from django.db import transaction
from django.utils import timezone

from projects.identical_answers import mark_identical
from projects.models import Candidate, FigureChange, LogEntry, Membership, MinimalPair, Project, Question
from projects.settings.lifecycle import change_settings
from tests.factories import make_candidates, make_dataset, make_pair, make_passage, make_project, make_question

pytestmark = pytest.mark.django_db


@pytest.fixture
def question(project: Project) -> Question:
    return make_question(make_passage(make_dataset(project)))


def answer(question: Question, text: str, *sources: str) -> list[Candidate]:
    return [make_candidates(question, text=text, source=source)[0] for source in sources]


def rate_once(project: Project, owner: Membership) -> None:
    change_settings(project=project, actor=owner, values={"rates_identical_once": True})
    project.refresh_from_db()


def marked() -> dict[int, int | None]:
    return dict(Candidate.objects.exclude(identical_to=None).values_list("pk", "identical_to"))


def test_all_but_the_first_of_a_text_are_marked_on_turning_it_on_and_none_on_turning_it_off(
    project: Project, owner: Membership, question: Question
) -> None:
    mat = answer(question, "On the mat", "a", "b", "c")
    answer(question, "on the mat", "a")
    answer(question, "On the mat ", "a")
    empty = answer(question, "", "a", "b")
    other = make_question(question.passage, text="Where did the dog sit?")
    answer(other, "On the mat", "a")
    elsewhere = make_question(make_passage(make_dataset(make_project())))
    answer(elsewhere, "On the mat", "a", "b")
    with transaction.atomic():
        mark_identical(project)
    assert marked() == {}, "each is rated unless a project chooses otherwise"
    rate_once(project, owner)
    assert marked() == {mat[1].pk: mat[0].pk, mat[2].pk: mat[0].pk, empty[1].pk: empty[0].pk}
    assert FigureChange.objects.filter(project=project).exists(), "scores by system depend on it"
    assert LogEntry.objects.get().after == {"rates_identical_once": True}
    change_settings(project=project, actor=owner, values={"rates_identical_once": False})
    assert marked() == {}


def test_withdrawn_candidates_and_minimal_pairs_are_never_marked(
    project: Project, owner: Membership, question: Question
) -> None:
    gone, first, second = answer(question, "On the mat of pair1", "a", "b", "c")
    Candidate.objects.filter(pk=gone.pk).update(withdrawn_at=timezone.now())
    pair = make_pair(question, "pair1")
    assert pair.candidate_1.text == first.text
    rate_once(project, owner)
    assert marked() == {second.pk: first.pk}
    MinimalPair.objects.create(question=question, candidate_1=first, candidate_2=make_candidates(question)[0])
    with transaction.atomic():
        mark_identical(project, [question.pk])
    assert marked() == {}, "a candidate of a pair is rated only where a batch asks for pairs"


def test_marking_some_questions_leaves_the_others_as_they_are(
    project: Project, owner: Membership, question: Question
) -> None:
    rate_once(project, owner)
    other = make_question(question.passage, text="Where did the dog sit?")
    first, second = answer(question, "On the mat", "a", "b")
    answer(other, "On the mat", "a", "b")
    with transaction.atomic():
        mark_identical(project, [question.pk])
    assert marked() == {second.pk: first.pk}
