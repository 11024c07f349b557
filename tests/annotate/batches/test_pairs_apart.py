"""The two of a minimal pair are never in one HIT: not in work, nor in what is made for one annotator."""

import pytest

from annotate import places
from annotate.batches import creating, lifecycle
from annotate.batches.control_plan import ControlPlan
from annotate.integrity.verifying import verify
from annotate.models import Assignment, Batch, Hit, Item
from projects.models import Candidate, Membership, MinimalPair, Project
from tests.annotate.controls.controlled_batches import make_controlled, make_places, work
from tests.annotate.open_batches import assert_equation
from tests.factories import (
    make_batch,
    make_candidates,
    make_dataset,
    make_membership,
    make_pair,
    make_passage,
    make_question,
)

pytestmark = pytest.mark.django_db


def make_pairs(project: Project, *, n_passages: int = 2, n_pairs: int = 2, n_others: int = 3, **over: str) -> None:
    dataset = make_dataset(project)
    for _ in range(n_passages):
        question = make_question(make_passage(dataset, **over))
        make_candidates(question, n_others)
        for _ in range(n_pairs):
            make_pair(question)


def broken() -> dict[str, list[str]]:
    return {breach.rule: breach.ids for breach in verify()}


def list_hits(batch: Batch) -> list[set[int | None]]:
    return [set(hit.items.values_list("candidate_id", flat=True)) for hit in batch.hits.order_by("number")]


@pytest.mark.parametrize(("hit_size", "presentation", "n_hits"), [(1, "page", 14), (10, "page", 4), (100, "one", 4)])
def test_no_hit_of_a_batch_holds_both(project: Project, hit_size: int, presentation: str, n_hits: int) -> None:
    make_pairs(project)
    batch = make_batch(project, with_pairs=True, hit_size=hit_size, presentation=presentation, is_open=False)
    assert (len(list_hits(batch)), batch.n_items) == (n_hits, 14)
    assert broken() == {}
    creating.recut(batch)
    assert len(list_hits(batch)) == n_hits
    assert broken() == {}
    lifecycle.open_batch(batch=batch, actor=None)
    places.set_wanted(batch, judgments=4)
    assert broken() == {}
    assert_equation()


def test_questions_without_a_passage_keep_theirs_apart_too(project: Project) -> None:
    make_pairs(project, text="")
    assert len(list_hits(make_batch(project, with_pairs=True))) == 4
    assert broken() == {}


def test_one_annotator_may_judge_both_in_two_hits(project: Project, annotator: Membership) -> None:
    make_pairs(project, n_passages=1, n_pairs=1, n_others=0)
    make_batch(project, with_pairs=True)
    assert len(work(annotator)) == 2
    assert Candidate.objects.filter(judgments__annotator=annotator).count() == 2


def test_repeats_of_a_pair_are_never_in_one_hit(project: Project, annotator: Membership) -> None:
    make_pairs(project, n_passages=8, n_pairs=3, n_others=0)
    make_controlled(project, ControlPlan(repeats=4, repeats_every=3, distance=1), with_pairs=True)
    personal = [each for each in work(annotator) if each.hit.purpose == Hit.Purpose.PERSONAL]
    assert personal
    assert {len(each.layout) for each in personal} == {3}, "One of each of three pairs, though four were asked for."
    assert broken() == {}


def test_pairs_become_neither_known_nor_degraded_answers(project: Project, annotator: Membership) -> None:
    dataset = make_places(project, n_passages=6, n_questions=1, n_candidates=2, name="known")
    pairs = []
    for question in dataset.questions.all():
        pairs.append(make_pair(question))
        text = question.references.get().text
        Candidate.objects.filter(pk=pairs[-1].candidate_1_id).update(text=f"{text} Yes.")
    make_batch(project, datasets=("known",), judgments=2, with_pairs=True)
    for _ in range(2):
        work(make_membership(project))
    make_places(project, n_passages=12, name="new")
    plan = ControlPlan(known_hit_every=3, degraded_per_hit=1)
    batch = make_controlled(project, plan, datasets=("new",))
    ours = {pk for pair in pairs for pk in (pair.candidate_1_id, pair.candidate_2_id)}
    pooled = Item.objects.filter(pool_of=batch, recipe="candidate")
    assert pooled.exists()
    assert not pooled.filter(candidate__in=ours).exists()
    again = make_controlled(project, ControlPlan(degraded_per_hit=1), datasets=("known",), with_pairs=True)
    degraded = Item.objects.filter(pool_of=again, control="degraded")
    assert degraded.filter(made_from__candidate__isnull=False).exists()
    assert not degraded.filter(made_from__candidate__in=ours).exists()


def test_verify_names_a_hit_that_holds_both(project: Project, annotator: Membership) -> None:
    make_pairs(project, n_passages=1, n_pairs=1, n_others=2)
    make_batch(project, with_pairs=True)
    pair = MinimalPair.objects.get()
    hit = Hit.objects.get(items__candidate=pair.candidate_1_id)
    Item.objects.filter(candidate=pair.candidate_2_id).update(hit=hit, position=9)
    assert broken() == {"pair_apart": [str(hit.pk)]}
    assert not Assignment.objects.exists()
