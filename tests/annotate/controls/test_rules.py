"""Every rule of controls names the row that breaks it."""

import pytest
from django.db import connection

from annotate.batches.control_plan import ControlPlan
from annotate.integrity.verifying import verify
from annotate.models import Assignment, Batch, Hit, Item, Judgment
from projects.models import Membership, Project
from tests.annotate.controls.controlled_batches import make_controlled, make_places, work

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(project: Project, annotator: Membership) -> Batch:
    make_places(project, n_passages=10, n_questions=1, n_candidates=4)
    plan = ControlPlan(known_per_hit=1, degraded_per_hit=1, distance=1)
    batch = make_controlled(project, plan)
    work(annotator)
    assert broken() == {}
    return batch


def broken() -> dict[str, list[str]]:
    return {breach.rule: breach.ids for breach in verify()}


def test_a_degraded_answer_whose_source_was_not_rated(batch: Batch) -> None:
    judgment = Judgment.objects.filter(item__control="degraded").earliest("pk")
    source = judgment.item.made_from_id
    unrated = (
        Item.objects.filter(pool_of=batch, control="source").first()
        or Item.objects.filter(pool_of=batch).exclude(pk__in=Judgment.objects.values("item")).first()
    )
    assert unrated is not None
    assert source != unrated.pk
    Item.objects.filter(pk=judgment.item_id).update(made_from=unrated)
    assert broken() == {"degraded_with_source": [str(judgment.pk)]}


def test_a_personal_hit_with_two_places(batch: Batch) -> None:
    hit = Hit.objects.filter(purpose=Hit.Purpose.PERSONAL).earliest("pk")
    Hit.objects.filter(pk=hit.pk).update(places_wanted=2, places_open=1)
    assert broken() == {"reserved_has_one_place": [str(hit.pk)]}


def test_a_personal_hit_that_somebody_else_rated(batch: Batch, other_annotator: Membership) -> None:
    hit = Hit.objects.filter(purpose=Hit.Purpose.PERSONAL).earliest("pk")
    Assignment.objects.filter(hit=hit).update(annotator=other_annotator)
    assert broken()["reserved_has_one_place"] == [str(hit.pk)]


def test_a_control_beside_what_it_was_made_from(batch: Batch) -> None:
    assignment = Assignment.objects.filter(hit__purpose=Hit.Purpose.WORK).earliest("pk")
    known = Item.objects.get(pk__in=assignment.layout, control="known_answer")
    Item.objects.filter(pk=known.pk).update(made_from=next(pk for pk in assignment.layout if pk != known.pk))
    assert broken() == {"not_beside_original": [str(assignment.pk)]}


def test_a_control_that_nobody_accepted(batch: Batch) -> None:
    judgment = Judgment.objects.filter(item__control="known_answer", item__pool_of=batch).earliest("pk")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE annotate_item SET accepted_at = NULL WHERE id = %s", [judgment.item_id])
    assert broken() == {"pool_is_accepted": [str(judgment.assignment_id)]}
