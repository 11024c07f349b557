import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotate.models import Assignment, Batch, BatchAnnotator, Hit
from annotate.places import taking
from annotate.work import serving, submitting
from projects.database.prepared import Prepared
from projects.models import Membership, Project
from tests.annotate.open_batches import add_hit, answered, assert_equation, fetch, open_batch
from tests.factories import make_candidates, make_membership

pytestmark = pytest.mark.django_db


def claimed(annotator: Membership) -> Assignment:
    found = serving.claim(annotator)
    assert isinstance(found, uuid.UUID), found
    return fetch(found)


def refused(annotator: Membership) -> str:
    found = serving.claim(annotator)
    assert isinstance(found, serving.NoWork), found
    return found.reason


def work_through(annotator: Membership, n_items: int = 3) -> list[Hit]:
    hits = []
    while isinstance(found := serving.claim(annotator), uuid.UUID):
        submitting.submit(annotator=annotator, assignment_uuid=found, sent=answered(n_items))
        hits.append(fetch(found).hit)
    return hits


def test_a_claim_takes_one_place_and_asking_again_gives_the_same(project: Project, annotator: Membership) -> None:
    open_batch(project)
    first = claimed(annotator)
    assert claimed(annotator) == first
    assert Assignment.objects.count() == 1
    assert first.hit.places_open == 0
    assert_equation()


def test_the_shown_order_is_a_permutation_of_the_hits_items(project: Project, annotator: Membership) -> None:
    open_batch(project, n_hits=1, n_items=10)
    assignment = claimed(annotator)
    items = list(assignment.hit.items.order_by("position").values_list("pk", flat=True))
    assert sorted(assignment.layout) == sorted(items)


def test_shown_orders_differ_between_assignments(project: Project) -> None:
    open_batch(project, n_hits=1, n_items=10, judgments=5)
    layouts = {tuple(claimed(make_membership(project)).layout) for _ in range(5)}
    assert len(layouts) == 5


def test_an_annotator_gets_every_hit_once_and_then_hears_that_nothing_is_left(
    project: Project, annotator: Membership
) -> None:
    open_batch(project, n_hits=4, judgments=3)
    hits = work_through(annotator)
    assert len(hits) == len(set(hits)) == 4
    assert "rated everything" in refused(annotator)
    assert_equation()


def test_breadth_first_serves_every_hit_once_before_any_twice(project: Project) -> None:
    open_batch(project, n_hits=3, judgments=2)
    served = [claimed(make_membership(project)).hit_id for _ in range(6)]
    assert len(set(served[:3])) == 3
    assert sorted(served[:3]) == sorted(served[3:])


def test_depth_first_finishes_a_hit_before_the_next(project: Project) -> None:
    batch = open_batch(project, n_hits=3, judgments=2, order=Batch.Order.DEPTH)
    served = [claimed(make_membership(project)).hit_id for _ in range(6)]
    assert served == [hit for hit in batch.hits.order_by("number").values_list("pk", flat=True) for _ in range(2)]


def test_passage_order_stays_with_the_passage(project: Project, annotator: Membership) -> None:
    batch = open_batch(project, n_hits=3, order=Batch.Order.PASSAGE)
    first = batch.hits.order_by("number").first()
    assert first is not None
    question = first.items.first().question  # type: ignore[union-attr]
    sibling = add_hit(batch, make_candidates(question, 3), 9)
    assert work_through(annotator)[:2] == [first, sibling]


def test_a_candidate_is_never_served_twice_even_in_another_batch(project: Project, annotator: Membership) -> None:
    batch = open_batch(project, n_hits=1)
    candidates = [item.candidate for item in batch.hits.get().items.select_related("candidate__question")]
    assignment = claimed(annotator)
    submitting.return_hit(annotator=annotator, assignment_uuid=assignment.uuid, reason="")
    again = open_batch(project, n_hits=0)
    add_hit(again, [candidate for candidate in candidates if candidate], 0)
    refused(annotator)
    assert_equation()


def test_the_batch_of_higher_priority_comes_first(project: Project, annotator: Membership) -> None:
    open_batch(project)
    urgent = open_batch(project, priority=5)
    assert claimed(annotator).hit.batch == urgent


@pytest.mark.parametrize("state", [Batch.State.DRAFT, Batch.State.PAUSED, Batch.State.CLOSED, Batch.State.ARCHIVED])
def test_only_open_batches_serve(project: Project, annotator: Membership, state: str) -> None:
    open_batch(project, state=state)
    refused(annotator)


def test_a_batch_with_named_annotators_is_for_them_alone(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    batch = open_batch(project, has_named_annotators=True)
    BatchAnnotator.objects.create(batch=batch, annotator=annotator)
    assert "other annotators" in refused(other_annotator)
    assert claimed(annotator).hit.batch == batch


@pytest.mark.parametrize(
    ("caps", "n_served"),
    [({"max_hits_per_annotator": 2}, 2), ({"max_hits_per_day": 3}, 3), ({"max_share": 0.5}, 2), ({}, 5)],
)
def test_caps_hold(project: Project, annotator: Membership, caps: dict[str, Any], n_served: int) -> None:
    open_batch(project, n_hits=5, **caps)
    assert len(work_through(annotator)) == n_served


def test_the_daily_cap_counts_today_only(project: Project, annotator: Membership) -> None:
    open_batch(project, n_hits=3, max_hits_per_day=1)
    assert len(work_through(annotator)) == 1
    Assignment.objects.update(opened_at=timezone.now() - timedelta(days=1))
    assert len(work_through(annotator)) == 1


@pytest.mark.parametrize("standing", [Membership.Standing.SUSPENDED, Membership.Standing.REMOVED])
def test_whoever_is_not_active_is_served_nothing(project: Project, annotator: Membership, standing: str) -> None:
    open_batch(project)
    Membership.objects.filter(pk=annotator.pk).update(standing=standing)
    refused(annotator)


def test_an_expired_place_comes_free_at_the_next_claim_without_any_worker(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    open_batch(project, n_hits=1)
    first = claimed(annotator)
    Assignment.objects.filter(pk=first.pk).update(due_at=timezone.now() - timedelta(minutes=2))
    second = claimed(other_annotator)
    assert second.hit == first.hit
    assert fetch(first.uuid).state == Assignment.State.EXPIRED
    assert_equation()


def test_within_the_grace_the_place_is_kept(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    open_batch(project, n_hits=1)
    first = claimed(annotator)
    Assignment.objects.filter(pk=first.pk).update(due_at=timezone.now() - timedelta(seconds=5))
    refused(other_annotator)
    assert fetch(first.uuid).state == Assignment.State.OPEN


def test_whoever_sees_sources_is_marked_not_blind(project: Project, manager: Membership) -> None:
    open_batch(project)
    Membership.objects.filter(pk=manager.pk).update(is_annotator=True)
    manager.refresh_from_db()
    assert claimed(manager).not_blind


def test_a_claim_costs_the_same_queries_whatever_the_size_of_the_batch(project: Project) -> None:
    counts = []
    for n_hits in (2, 40):
        open_batch(project, n_hits=n_hits)
        with CaptureQueriesContext(connection) as queries:
            claimed(make_membership(project))
        counts.append(len(queries))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
def test_the_queue_is_read_by_its_index(project: Project, annotator: Membership, mode: str) -> None:
    """A plan that sorts or scans all HITs takes seconds at 40,000 of them; so too the plan kept for a connection."""
    batch = open_batch(project, n_hits=300, n_items=1)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE annotate_hit, annotate_item, annotate_assignment")
        cursor.execute(f"SET LOCAL plan_cache_mode = {mode}")
        statement = Prepared(taking._FREE_HIT.format(only="", lock="FOR NO KEY UPDATE OF h SKIP LOCKED"))
        cursor.execute(f"PREPARE {statement.name} AS {statement.sql}")
        cursor.execute(f"EXPLAIN EXECUTE {statement.name} (%s, %s)", [batch.pk, annotator.pk])
        plan = "\n".join(row[0] for row in cursor.fetchall())
        cursor.execute(f"DEALLOCATE {statement.name}")
    assert "hit_queue" in plan
    assert "Sort" not in plan
