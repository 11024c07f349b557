"""Who is served: work that asks for a qualification is for those who have it, while the project's test is open."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotate.attempts.admission import find_qualified
from annotate.models import Batch, Qualification, QualificationTest
from annotate.qualification import design, granting
from annotate.work import serving, submitting
from projects.models import Membership, Project
from tests import factories
from tests.annotate.open_batches import answered, open_batch
from tests.annotate.qualification.factories import make_test, take

pytestmark = pytest.mark.django_db


def reason(annotator: Membership) -> str:
    found = serving.claim(annotator)
    return found.reason if isinstance(found, serving.NoWork) else ""


@pytest.mark.parametrize(("state", "gates"), [("draft", False), ("open", True), ("closed", False)])
def test_only_an_open_test_gates(project: Project, annotator: Membership, state: str, gates: bool) -> None:
    open_batch(project)
    make_test(project)
    QualificationTest.objects.update(state=state)
    assert isinstance(serving.claim(annotator), serving.NoWork) is gates


def test_without_a_test_everybody_works(project: Project, annotator: Membership) -> None:
    open_batch(project)
    assert isinstance(serving.claim(annotator), UUID)


def test_the_test_of_another_project_gates_nothing_here(project: Project, annotator: Membership) -> None:
    open_batch(project)
    make_test(factories.make_project())
    assert isinstance(serving.claim(annotator), UUID)


def test_a_batch_may_do_without(project: Project, annotator: Membership) -> None:
    make_test(project)
    open_batch(project, requires_qualification=False)
    assert isinstance(serving.claim(annotator), UUID)


@pytest.mark.parametrize("kind", [Membership.Kind.PERSON, Membership.Kind.SIMULATED])
def test_whoever_passes_is_served_and_nobody_else(project: Project, kind: str) -> None:
    open_batch(project, judgments=2)
    make_test(project)
    one, other = (factories.make_membership(project, kind=kind) for _ in range(2))
    take(one)
    take(other, n_right=3)
    assert isinstance(serving.claim(one), UUID)
    assert "You haven't passed the qualification test yet" in reason(other)


def test_what_has_run_out_or_is_revoked_closes_the_work(
    project: Project, annotator: Membership, manager: Membership
) -> None:
    open_batch(project, n_hits=3)
    make_test(project, valid_days=10)
    take(annotator)
    mine = serving.claim(annotator)
    assert isinstance(mine, UUID)
    granting.revoke(annotator=annotator, actor=manager, why="Shared the answers")
    assert serving.claim(annotator) == mine, "what is open can be finished"
    submitting.submit(annotator=annotator, assignment_uuid=mine, sent=answered())
    assert "ended your qualification" in reason(annotator)
    granting.grant(annotator=annotator, actor=manager, why="A mistake")
    assert isinstance(serving.claim(annotator), UUID)
    submitting.return_hit(annotator=annotator, assignment_uuid=serving.claim(annotator), reason="")  # type: ignore[arg-type]
    Qualification.objects.update(until=timezone.now() - timedelta(days=1))
    assert "has expired" in reason(annotator)


@pytest.mark.parametrize(("keep", "is_served"), [("ask", False), ("keep", True)])
def test_a_new_rubric(project: Project, annotator: Membership, keep: str, is_served: bool) -> None:
    open_batch(project)
    test = make_test(project)
    take(annotator)
    factories.make_rubric(project)
    design.move_to_rubric(test=test, actor=None, on_new_rubric=keep)
    assert isinstance(serving.claim(annotator), UUID) is is_served


def test_the_batch_that_is_open_to_all_is_served_though_another_is_not(project: Project, annotator: Membership) -> None:
    open_batch(project, priority=5)
    free = open_batch(project, requires_qualification=False)
    make_test(project)
    found = serving.claim(annotator)
    assert isinstance(found, UUID)
    assert Batch.objects.get(hits__assignments__uuid=found) == free


def test_the_gate_costs_no_query(project: Project, annotator: Membership, other_annotator: Membership) -> None:
    open_batch(project, n_hits=4, judgments=2)
    with CaptureQueriesContext(connection) as before:
        assert isinstance(serving.claim(other_annotator), UUID)
    make_test(project)
    take(annotator)
    with CaptureQueriesContext(connection) as after:
        assert isinstance(serving.claim(annotator), UUID)
    assert len(after) <= len(before)


def test_starting_says_why_not(
    project: Project, annotator: Membership, client_of: Callable[[Membership], Client]
) -> None:
    open_batch(project)
    make_test(project)
    response = client_of(annotator).post(f"/p/{project.slug}/work/", follow=True)
    assert "Pass the qualification test" in response.content.decode()


def test_two_experts_are_up_in_no_time(project: Project, annotator: Membership, other_annotator: Membership) -> None:
    """A project that has set up no test sees none of it."""
    open_batch(project, judgments=2)
    assert isinstance(serving.claim(annotator), UUID)
    assert isinstance(serving.claim(other_annotator), UUID)


def test_those_are_counted_who_are_qualified_now(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    test = make_test(project)
    for each in (annotator, other_annotator):
        take(each)
    kept, ended = (Qualification.objects.filter(annotator=each) for each in (annotator, other_annotator))
    assert find_qualified(test).count() == 2
    found = []
    now = timezone.now()
    for wrong, right in (
        ({"until": now}, {"until": now + timedelta(days=1)}),
        ({"is_qualified": False}, {"is_qualified": True}),
        ({"rubric": factories.make_rubric(project)}, {"rubric": test.rubric}),
    ):
        ended.update(**wrong)
        found.append(find_qualified(test).get() == kept.get())
        ended.update(**right)
    assert (found, find_qualified(test).count()) == ([True, True, True], 2)
    Membership.objects.filter(pk=other_annotator.pk).update(standing=Membership.Standing.SUSPENDED)
    kept.update(rubric=factories.make_rubric(project))
    assert not find_qualified(test).exists()
    test.on_new_rubric = QualificationTest.OnNewRubric.KEEP
    assert find_qualified(test).get() == kept.get()
