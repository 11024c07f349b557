"""What is offered to an annotator before they ask: exactly when a claim would serve a HIT, without taking one."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotate.batches import lifecycle
from annotate.batches.control_plan import ControlPlan
from annotate.models import Assignment, BatchAnnotator, Hit
from annotate.work import openings, serving, submitting
from annotate.work.openings import find_opening, find_openings
from projects.models import Membership, Project
from tests.annotate.controls.controlled_batches import make_controlled, make_places, submit_assignment, take
from tests.annotate.open_batches import add_hit, fetch, open_batch
from tests.factories import make_membership, make_project
from tests.page_reader import condense
from tests.people import SignIn
from tests.sized_projects import claim, submit

pytestmark = pytest.mark.django_db


def would_serve(annotator: Membership) -> bool:
    """Whether a claim serves this annotator a HIT, asked by claiming and undoing it."""
    with transaction.atomic():
        found = serving.claim(annotator)
        transaction.set_rollback(True)
    return isinstance(found, uuid.UUID | serving.ConfirmFirst)


def is_offered(annotator: Membership) -> bool:
    """Whether the desk offers a HIT; it has to be what a claim does."""
    before = Assignment.objects.count(), Hit.objects.count()
    offered = find_opening(annotator).has_hit
    assert (Assignment.objects.count(), Hit.objects.count()) == before
    assert offered == would_serve(annotator)
    return offered


def why(annotator: Membership) -> str:
    assert not is_offered(annotator)
    reason = find_opening(annotator).why_no_work
    assert serving.claim(annotator) == serving.NoWork(reason)
    return reason


def test_a_hit_is_offered_until_all_are_rated(project: Project, annotator: Membership) -> None:
    open_batch(project, n_hits=2, judgments=3)
    for _ in range(2):
        assert is_offered(annotator)
        submit(annotator)
    assert why(annotator) == "You've rated everything for now. Thank you! Check back later for more."


def test_a_returned_hit_is_not_offered_again(project: Project, annotator: Membership) -> None:
    open_batch(project, n_hits=1)
    submitting.return_hit(annotator=annotator, assignment_uuid=claim(annotator), reason="")
    assert not is_offered(annotator)


def test_a_hit_with_a_candidate_rated_before_is_not_offered(project: Project, annotator: Membership) -> None:
    batch = open_batch(project, n_hits=1)
    candidates = [item.candidate for item in batch.hits.get().items.select_related("candidate__question")]
    submit(annotator)
    add_hit(open_batch(project, n_hits=0), [candidate for candidate in candidates if candidate], 0)
    assert not is_offered(annotator)


def test_hits_that_others_have_are_offered_once_they_are_free(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    open_batch(project, n_hits=1)
    due_at = fetch(claim(other_annotator)).due_at
    assert due_at is not None
    assert why(annotator) == (
        f"All HITs are taken right now. One may be free again by {due_at + timedelta(seconds=30):%-d %b, %H:%M} UTC."
    )
    Assignment.objects.update(due_at=timezone.now() - timedelta(minutes=1))
    assert is_offered(annotator)


def test_a_hit_that_another_has_is_no_reason_to_come_back_if_it_was_had(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    open_batch(project, n_hits=1, judgments=2)
    submit(annotator)
    claim(other_annotator)
    assert why(annotator) == "You've rated everything for now. Thank you! Check back later for more."


@pytest.mark.parametrize(
    ("caps", "reason"),
    [
        ({"max_hits_per_annotator": 2}, "You've rated as many HITs as one person may rate here. Thank you!"),
        ({"max_share": 0.4}, "You've rated as many HITs as one person may rate here. Thank you!"),
        ({"max_hits_per_day": 2}, "You've reached today's limit. You can continue from {midnight} UTC."),
        (
            {"max_hits_per_day": 2, "max_share": 1.0},
            "You've reached today's limit. You can continue from {midnight} UTC.",
        ),
    ],
)
def test_caps_end_the_offer_and_say_when_to_come_back(
    project: Project, annotator: Membership, caps: dict[str, Any], reason: str
) -> None:
    open_batch(project, n_hits=5, **caps)
    for _ in range(2):
        assert is_offered(annotator)
        submit(annotator)
    assert why(annotator) == reason.format(midnight=f"{timezone.now() + timedelta(days=1):%-d %b}, 00:00")


def test_the_cap_of_one_batch_leaves_the_other(project: Project, annotator: Membership) -> None:
    open_batch(project, n_hits=3, max_hits_per_annotator=1, priority=5, cents_per_hit=90)
    open_batch(project, n_hits=1, cents_per_hit=20)
    assert find_opening(annotator).high_cents == 90
    submit(annotator)
    assert is_offered(annotator)
    assert find_opening(annotator).high_cents == 20


def test_the_smallest_share_is_one_hit(project: Project, annotator: Membership) -> None:
    open_batch(project, n_hits=5, max_share=0.01)
    assert is_offered(annotator)
    submit(annotator)
    assert not is_offered(annotator)


def test_work_of_named_annotators_and_paused_work(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    batch = open_batch(project, has_named_annotators=True)
    BatchAnnotator.objects.create(batch=batch, annotator=annotator)
    assert is_offered(annotator)
    assert "assigned to other annotators" in why(other_annotator)
    lifecycle.pause(batch=batch, actor=None)
    assert why(annotator) == "Work is paused. Check back later."


@pytest.mark.parametrize(
    "plan",
    [
        ControlPlan(known_hit_every=2, jitter=0),
        ControlPlan(repeats=2, repeats_every=2, distance=1),
        ControlPlan(degraded_per_hit=1.5, distance=1),
        ControlPlan(known_per_hit=1),
    ],
)
def test_hits_of_controls_are_offered_when_they_are_due(
    project: Project, annotator: Membership, plan: ControlPlan
) -> None:
    """The desk and the claim agree before each HIT, up to the last, which may be one made for this person alone."""
    make_places(project)
    make_controlled(project, plan)
    n_offered = 0
    while is_offered(annotator):
        taken = take(annotator)
        assert taken is not None
        submit_assignment(annotator, taken)
        n_offered += 1
        assert n_offered < 50
    assert n_offered == Assignment.objects.submitted().count() > 2


def test_the_desk_offers_work_only_if_the_button_leads_to_it(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    """The fault that was seen: work was offered, the button returned to the desk, and the desk offered it again."""
    open_batch(project, n_hits=1)
    client = client_of(annotator)
    for address in ("/desk/", "/p/bridges/desk/"):
        assert "Start rating" in read_text(client, address)
    submit(annotator)
    for address in ("/desk/", "/p/bridges/desk/"):
        page = read_text(client, address)
        assert "Start rating" not in page
        assert "Work is available." not in page
        assert page.count("ve rated everything for now.") == 1
    assert client.post("/p/bridges/work/").headers["Location"] == "/p/bridges/desk/"


def test_each_project_is_asked_for_itself_by_one_query(annotator: Membership) -> None:
    """What one project has is nothing to another, and twenty projects cost the queries of one."""
    members = [annotator, *(make_membership(make_project(), annotator.user) for _ in range(5))]
    for n, member in enumerate(members):
        open_batch(member.project, n_hits=n % 3, judgments=2, max_hits_per_day=3)
        if n == 4:
            submit(member)
    with CaptureQueriesContext(connection) as queries:
        found = find_openings(members)
    assert len([query for query in queries if not query["sql"].startswith("PREPARE")]) == 1
    assert [found[member.pk].has_hit for member in members] == [False, True, True, False, False, True]


def test_a_free_hit_is_found_by_the_index_of_the_queue(project: Project, annotator: Membership) -> None:
    """A plan that reads all HITs would make each visit of the desk as slow as a claim must never be."""
    open_batch(project, n_hits=300, n_items=1, max_hits_per_day=5)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE annotate_hit, annotate_item, annotate_assignment, annotate_batch, projects_membership")
        cursor.execute(
            "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) " + openings._OPEN_BATCHES,
            {"annotators": [annotator.pk], "grace": 30},
        )
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "hit_queue" in plan
    assert "Seq Scan on annotate_hit" not in plan
    assert "rows=300" not in plan


def read_text(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return condense(response.content.decode())
