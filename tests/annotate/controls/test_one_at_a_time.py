"""Controls where items are shown one at a time: degraded answers and repeats are in the HIT of their originals."""

import pytest

from annotate.batches.control_plan import ControlPlan
from annotate.models import Assignment, Batch, Item, Judgment
from annotate.rating.sent import SentAnswers
from annotate.work import stepping
from projects.models import Membership, Project
from tests.annotate.controls.controlled_batches import fetch_items, make_controlled, make_places, take
from tests.annotate.open_batches import assert_equation

pytestmark = pytest.mark.django_db
PLAN = ControlPlan(degraded_per_hit=2, repeats_per_hit=2, item_distance=3)


def submit_by_steps(annotator: Membership, assignment: Assignment, value: float = 4) -> None:
    for place in range(len(assignment.layout)):
        sent = SentAnswers(values={place: {"correctness": value}})
        stepping.answer_item(annotator=annotator, assignment_uuid=assignment.uuid, position=place, sent=sent)


@pytest.fixture
def batch(project: Project) -> Batch:
    make_places(project, n_passages=4, n_questions=2, n_candidates=4)
    return make_controlled(project, PLAN, hit_size=12, presentation=Batch.Presentation.ONE, judgments=2)


def test_repeats_and_degraded_answers_keep_a_distance_from_their_originals(
    batch: Batch, annotator: Membership, other_annotator: Membership
) -> None:
    n_hits = 0
    for person in (annotator, other_annotator):
        while (assignment := take(person)) is not None:
            items = fetch_items(assignment)
            controls = [item for item in items if item.control != Item.Control.NONE]
            assert sorted(item.control for item in controls) == ["degraded", "degraded", "repeat", "repeat"]
            assert len(items) == 12
            at = {item.pk: place for place, item in enumerate(items)}
            assert all(abs(at[item.pk] - at[item.made_from_id or 0]) >= 3 for item in controls)
            submit_by_steps(person, assignment)
            n_hits += 1
    assert n_hits == 8
    judged = Judgment.objects.exclude(item__control=Item.Control.NONE)
    assert judged.count() == 8 * 4
    assert not judged.filter(candidate__isnull=False).exists()
    assert_equation()


def test_an_item_is_repeated_by_one_row_for_everybody(
    batch: Batch, annotator: Membership, other_annotator: Membership
) -> None:
    for person in (annotator, other_annotator):
        while (assignment := take(person)) is not None:
            submit_by_steps(person, assignment)
    made_from = list(Item.objects.filter(control=Item.Control.REPEAT).values_list("made_from_id", flat=True))
    assert len(made_from) == len(set(made_from))


def test_a_reference_that_is_shown_comes_with_its_degraded_answer(project: Project, annotator: Membership) -> None:
    dataset = make_places(project, n_passages=2)
    dataset.candidates.update(text="nothing of the kind")
    plan = ControlPlan(degraded_per_hit=1, item_distance=2)
    make_controlled(project, plan, hit_size=12, presentation=Batch.Presentation.ONE)
    assignment = take(annotator)
    assert assignment is not None
    controls = {item.control: item for item in fetch_items(assignment) if item.control != Item.Control.NONE}
    assert set(controls) == {"degraded", "source"}
    assert controls["degraded"].made_from_id == controls["source"].pk
