import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from annotate.batches.control_plan import ControlPlan
from annotate.controls import making
from annotate.controls.making import make_pool
from annotate.controls.pool import accept, retire
from annotate.controls.reserved_hits import RepeatableItems
from annotate.controls.sampling import normalise
from annotate.models import Assignment, Hit, Item, Judgment
from annotate.places import ReservedItem
from annotate.quality.evidence import find_quality_scale
from measures.rubric import CriterionSpec, Level, Scale, ScaleKind
from measures.rubric_presets import CORRECTNESS
from projects.errors import Refused
from projects.models import Criterion, Membership, Project
from projects.rubric.rubrics import create_rubric
from tests.annotate.controls.controlled_batches import fetch_items, make_controlled, make_places, take, work
from tests.annotate.open_batches import assert_equation
from tests.factories import make_batch, make_membership

Control, Purpose = Item.Control, Hit.Purpose
pytestmark = pytest.mark.django_db


def kinds(assignment: Assignment) -> Counter[str]:
    return Counter(item.control for item in fetch_items(assignment))


def assert_degraded_rule(done: list[Assignment], distance: int) -> int:
    """Every degraded item comes so many HITs after its source at least, never on its page; how many there were."""
    n_degraded = 0
    rated_at: dict[int, int] = {}
    for n, assignment in enumerate(done):
        for item in fetch_items(assignment):
            if item.control == Control.DEGRADED:
                n_degraded += 1
                assert item.made_from_id not in assignment.layout
                assert n - rated_at[item.made_from_id or 0] >= distance
            rated_at[item.pk] = n
    return n_degraded


def test_known_answers_are_in_every_hit_and_the_size_counts_them(project: Project, annotator: Membership) -> None:
    make_places(project, n_passages=3, n_questions=3, n_candidates=4)
    make_controlled(project, ControlPlan(known_per_hit=2), hit_size=6)
    done = work(annotator)
    assert len(done) == 9
    assert {kinds(assignment)[Control.KNOWN_ANSWER] for assignment in done} == {2}
    assert {len(assignment.layout) for assignment in done} == {6}
    shown = Counter(pk for assignment in done for pk in assignment.layout)
    assert max(shown.values()) == 1
    passages = {item.question.passage_id == a.hit.passage_id for a in done for item in fetch_items(a)}
    assert passages == {True}
    assert_equation()


def test_no_two_items_of_a_page_say_the_same(project: Project, annotator: Membership) -> None:
    dataset = make_places(project, n_passages=4)
    for question in dataset.questions.all():
        question.candidates.filter(text__contains="says0").update(text=question.references.get().text)
    make_controlled(project, ControlPlan(known_per_hit=3), hit_size=11)
    done = work(annotator)
    assert len(done) > 1
    for assignment in done:
        texts = [item.shown_text for item in fetch_items(assignment) if item.control != "none"]
        ordinary = [item.candidate.text for item in fetch_items(assignment) if item.candidate]
        assert len({*texts}) == len(texts)
        assert not {*texts} & {*ordinary}


def test_candidates_that_are_the_reference_leave_no_hit_without_a_known_answer(
    project: Project, annotator: Membership, manager: Membership
) -> None:
    """A page shows no text twice, so that the reference itself is no control where a system has given it."""
    dataset = make_places(project, n_passages=5, n_questions=1)
    for question in dataset.questions.all():
        question.candidates.filter(text__contains="says0").update(text=question.references.get().text.upper())
    batch = make_batch(project, controls=ControlPlan(known_per_hit=1), hit_size=5)
    for question in dataset.questions.all():  # a pool of before, of which nothing could be shown
        text = question.references.get().text
        Item.objects.create(
            pool_of=batch,
            question=question,
            position=0,
            control=Control.KNOWN_ANSWER,
            recipe=Item.Recipe.REFERENCE,
            shown_text=text,
            expected={"correctness": [4, 5]},
        )
    assert make_pool(batch=batch, actor=None).n == 10
    accept(batch=batch, actor=manager)
    done = work(annotator)
    assert [kinds(assignment)[Control.KNOWN_ANSWER] for assignment in done] == [1] * 5


def test_only_accepted_controls_are_shown(project: Project, annotator: Membership, manager: Membership) -> None:
    make_places(project, n_passages=3)
    batch = make_controlled(project, ControlPlan(known_per_hit=1), is_accepted=False)
    first = work(annotator, most=1)[0]
    assert set(kinds(first)) == {Control.NONE}
    pool = list(Item.objects.filter(pool_of=batch).values_list("pk", flat=True))
    accept(batch=batch, actor=manager)
    retire(batch=batch, actor=manager, item_ids=pool[:-1])
    shown = [item.pk for assignment in work(annotator) for item in fetch_items(assignment) if item.control != "none"]
    assert set(shown) <= {pool[-1]}


@pytest.mark.parametrize("distance", [1, 3])
def test_degraded_items_come_after_their_source_in_another_hit(
    project: Project, annotator: Membership, distance: int
) -> None:
    make_places(project, n_passages=4, n_questions=1, n_candidates=15)
    make_controlled(project, ControlPlan(degraded_per_hit=1, distance=distance), hit_size=6)
    done = work(annotator)
    n_degraded = assert_degraded_rule(done, distance)
    n_work = sum(assignment.hit.purpose == Purpose.WORK for assignment in done)
    assert n_work == 12
    assert all(len({item.question_id for item in fetch_items(assignment)}) == 1 for assignment in done)
    assert n_work - 5 <= n_degraded <= n_work
    assert any(kinds(a)[Control.DEGRADED] for a in done if a.hit.purpose == Purpose.WORK)
    assert_equation()


@pytest.mark.parametrize(("shown_as", "n_more"), [(Control.DEGRADED, 0), (Control.REPEAT, 1)])
def test_an_annotator_rates_one_control_of_a_kind_made_from_the_same_original(
    project: Project, annotator: Membership, shown_as: str, n_more: int
) -> None:
    """A pool that is made again may have another of an original whose first control was retired meanwhile."""
    make_places(project, n_passages=2, n_questions=1, n_candidates=15)
    batch = make_controlled(project, ControlPlan(degraded_per_hit=1, distance=1), hit_size=6)
    shown: list[Item] = []
    while not shown:  # in the second HIT of a passage, which has three
        items = [item for assignment in work(annotator, most=1) for item in fetch_items(assignment)]
        shown = [item for item in items if item.control == Control.DEGRADED]
    (first,) = shown
    pool = Item.objects.filter(pool_of=batch)
    pool.update(retired_at=first.accepted_at)
    pool.filter(pk=first.pk).update(control=shown_as)
    second = Item.objects.get(pk=first.pk)
    second.pk, second.control, second.retired_at = None, Control.DEGRADED, None
    second.shown_text = f"{first.shown_text} Again."
    second.save()
    rest = [item.pk for assignment in work(annotator) for item in fetch_items(assignment)]
    assert rest
    assert rest.count(second.pk) == n_more


def test_where_the_passage_has_no_further_hit_degraded_items_come_in_a_personal_one(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    make_places(project, n_passages=12, n_questions=1, n_candidates=5)
    make_controlled(project, ControlPlan(degraded_per_hit=1), judgments=2)
    done = work(annotator)
    assert assert_degraded_rule(done, 2) >= 6
    personal = [assignment for assignment in done if assignment.hit.purpose == Purpose.PERSONAL]
    assert personal
    for assignment in personal:
        assert assignment.hit.reserved_for_id == annotator.pk
        assert assignment.hit.places_wanted == 1
        assert set(kinds(assignment)) == {Control.DEGRADED, Control.REPEAT}
        assert len(assignment.layout) == 5, "As long as every other HIT."
    assert assert_degraded_rule(work(other_annotator), 2) >= 6
    assert_equation()


def test_repeats_come_in_a_personal_hit_of_one_passage_and_never_twice(project: Project, annotator: Membership) -> None:
    make_places(project, n_passages=12, n_questions=1, n_candidates=5)
    make_controlled(project, ControlPlan(repeats=3, repeats_every=4, distance=3))
    done = work(annotator)
    personal = [(n, a) for n, a in enumerate(done) if a.hit.purpose == Purpose.PERSONAL]
    assert len(personal) in (2, 3)
    asked = Counter(item.made_from_id for _, a in personal for item in fetch_items(a))
    assert set(asked.values()) == {1}
    assert sum(asked.values()) == 5 * len(personal), "Filled to the length of the other HITs."
    for n, assignment in personal:
        assert kinds(assignment) == {Control.REPEAT: 5}
        rated = {pk: at for at, earlier in enumerate(done[:n]) for pk in earlier.layout}
        assert all(n - rated[item.made_from_id or 0] >= 3 for item in fetch_items(assignment))
    judged = Judgment.objects.filter(item__control=Control.REPEAT)
    assert judged.count() == 5 * len(personal)
    assert not judged.filter(candidate__isnull=False).exists()
    assert_equation()


def test_whole_hits_of_known_scores_come_every_few_hits_and_not_at_a_fixed_interval(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    known = make_places(project, n_passages=8, name="known")
    trial = make_batch(project, datasets=("known",), judgments=2)
    assert work(make_membership(project), answer=lambda item: 2)
    assert work(make_membership(project), answer=lambda item: 4)
    make_places(project, n_passages=20, name="new")
    batch = make_controlled(project, ControlPlan(known_hit_every=4, jitter=2), datasets=("new",), judgments=2)
    assert trial.number != batch.number
    gaps = set()
    for person in (annotator, other_annotator):
        done = work(person)
        gold = [n for n, assignment in enumerate(done) if assignment.hit.purpose == Purpose.GOLD]
        assert 3 <= len(gold) <= 6
        gaps |= {after - before for before, after in pairwise(gold)}
        for n in gold:
            assert done[n].hit.reserved_for_id == person.pk
            items = fetch_items(done[n])
            assert {item.control for item in items} == {Control.KNOWN_ANSWER}
            assert {tuple((item.expected or {})["correctness"]) for item in items} == {(2.0, 4.0)}
            assert {item.question.dataset_id for item in items} == {known.pk}
    assert len(gaps) > 1
    assert_equation()


def test_without_a_plan_nothing_is_drawn_and_no_query_is_added(
    project: Project, annotator: Membership, django_assert_max_num_queries: object
) -> None:
    make_places(project, n_passages=2)
    batch = make_batch(project)
    with django_assert_max_num_queries(6):  # type: ignore[operator]
        assignment = take(annotator)
    assert assignment is not None
    assert set(kinds(assignment)) == {Control.NONE}
    assert batch.control_plan == {}


def test_a_repeated_making_adds_nothing(project: Project) -> None:
    make_places(project, n_passages=3)
    batch = make_controlled(project, ControlPlan(known_per_hit=1, degraded_per_hit=1))
    n_before = Item.objects.filter(pool_of=batch).count()
    assert n_before
    assert make_pool(batch=batch, actor=None).n == 0
    assert Item.objects.filter(pool_of=batch).count() == n_before


@pytest.mark.parametrize("seed", range(40))
def test_as_many_controls_serve_hits_as_any_assignment_can(seed: int) -> None:
    rng = random.Random(seed)
    live = {question: [f"text {place}" for place in range(rng.randint(0, 3))] for question in range(8)}
    hits = [
        making._Hit(
            questions=tuple(rng.sample(range(8), 2)),
            texts=frozenset({normalise(f"text {rng.randint(0, 3)}")}),
        )
        for _ in range(9)
    ]
    most = rng.randint(1, 3)
    controls = [(question, text) for question, texts in live.items() for text in texts]
    can_show = np.array([[hit.can_show(*control) for control in controls] for hit in hits for _ in range(most)])
    matched = maximum_bipartite_matching(csr_array(can_show.reshape(len(hits) * most, len(controls))))
    served = making._count_served(hits, live, most)
    assert sum(served) == sum(matched >= 0)
    assert max(served) <= most


def test_a_passage_of_thousands_of_hits_in_a_chain_is_counted_at_once() -> None:
    """Each HIT shares a question with the next, and the last lacks what all the others would have to pass on."""
    n = 5_000
    hits = [making._Hit(questions=(number, number + 1), texts=frozenset()) for number in range(n)]
    served = making._count_served(hits, {question: ["a text"] for question in range(1, n)}, 1)
    assert sum(served) == n - 1


@pytest.mark.parametrize("seed", range(6))
def test_hits_that_share_a_question_leave_each_other_the_controls_that_they_need(project: Project, seed: int) -> None:
    """One HIT could take those of the shared question, of which the other has no others."""
    dataset = make_places(project, n_passages=1, n_questions=3, n_candidates=4)
    dataset.candidates.earliest("pk").delete()
    batch = make_controlled(project, ControlPlan(known_per_hit=2, seed=seed), hit_size=8)
    asked = [set(hit.items.values_list("question", flat=True)) for hit in Hit.objects.filter(batch=batch)]
    assert [len(each) for each in asked] == [2, 2]
    assert make_pool(batch=batch, actor=None).n == 0


def test_categories_have_no_correct_rating_that_a_control_could_check(project: Project) -> None:
    """A reference has no error: of the codes 0 to 3, the best is no number near 3."""
    error = CriterionSpec(
        key="error",
        name="Error",
        statement="",
        scale=Scale(kind=ScaleKind.ORDINAL, low=0, high=3),
        level=Level.NOMINAL,
    )
    make_places(project)
    create_rubric(project, name="Both", preset="custom", criteria=[error, *CORRECTNESS.criteria])
    batch = make_batch(project, controls=ControlPlan(known_per_hit=1))
    assert make_pool(batch=batch, actor=None).n_known
    assert {key for item in Item.objects.filter(pool_of=batch) for key in item.expected or ()} == {"correctness"}
    scale = find_quality_scale(project)
    assert scale is not None
    assert (set(scale.keys), scale.low, scale.high) == ({"correctness"}, 1.0, 5.0)
    # Nor does a criterion stand in that the rubric does not mark.
    for name, criteria in (("One", [error]), ("Unmarked", [error, *CORRECTNESS.criteria])):
        create_rubric(project, name=name, preset="custom", criteria=criteria)
        Criterion.objects.filter(rubric__project=project, key="correctness").update(used_for_quality=False)
        alone = make_batch(project, controls=ControlPlan(known_per_hit=1))
        with pytest.raises(Refused, match="are categories without an order"):
            make_pool(batch=alone, actor=None)


def test_no_repeat_is_beside_its_degraded_version_or_the_other_of_its_pair() -> None:
    def repeat(made_from: int) -> ReservedItem:
        return ReservedItem(question_id=1, control=Item.Control.REPEAT, made_from_id=made_from)

    again = RepeatableItems(repeats=[repeat(n) for n in (1, 2, 3, 4)], pairs={2: 9, 3: 9})
    degraded = ReservedItem(question_id=1, control=Item.Control.DEGRADED, made_from_id=1)
    for seed in range(5):
        drawn = again.draw_repeats(beside=[degraded], rng=random.Random(seed))
        assert {item.made_from_id for item in drawn} in ({2, 4}, {3, 4})
