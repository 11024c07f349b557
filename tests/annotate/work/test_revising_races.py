"""Revisions by real processes at the same time as other acts: one version wins, and every rule still holds."""

from functools import partial
from uuid import UUID

import pytest

from annotate.batches import lifecycle
from annotate.integrity import verifying
from annotate.models import Assignment, Batch, JudgmentRevision
from annotate.moderation import decisions
from annotate.moderation.work_filter import WorkFilter
from annotate.work import revising, submitting
from projects.errors import Refused
from projects.models import Membership, Project
from tests.annotate.open_batches import answered, assert_equation, open_batch
from tests.annotate.work.test_revising import changed, newest
from tests.concurrency import Racers, all_at_once
from tests.sized_projects import claim

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]


@pytest.fixture
def batch(project: Project, scale: int) -> Batch:
    project.revision_minutes = 30
    project.save()
    return open_batch(project, n_hits=4 * scale)


def submit_assignment(annotator: Membership) -> UUID:
    found = claim(annotator)
    submitting.submit(annotator=annotator, assignment_uuid=found, sent=answered())
    return found


def revise(annotator: Membership, uuid: UUID, of: str, value: int) -> str:
    try:
        revised = revising.revise(annotator=annotator, assignment_uuid=uuid, sent=changed(value, value, value), of=of)
    except Refused as refusal:
        return type(refusal).__name__
    return "stored before" if revised.was_stored else "stored"


def test_of_two_pages_one_wins_and_the_other_gets_a_conflict(
    racers: Racers, batch: Batch, annotator: Membership, scale: int
) -> None:
    for _ in range(4 * scale):
        uuid = submit_assignment(annotator)
        of = revising.version_key(newest(uuid))
        outcomes = racers.all_at_once(partial(revise, annotator, uuid, of), [1, 2])
        assert sorted(outcomes) == ["SubmittedBefore", "stored"]
        assert JudgmentRevision.objects.filter(judgment__assignment__uuid=uuid).count() == 6
    assert verifying.verify() == []


def test_the_same_change_sent_twice_is_stored_once(
    racers: Racers, batch: Batch, annotator: Membership, scale: int
) -> None:
    for _ in range(4 * scale):
        uuid = submit_assignment(annotator)
        of = revising.version_key(newest(uuid))
        outcomes = racers.all_at_once(partial(revise, annotator, uuid, of), [1, 1, 1])
        assert sorted(outcomes) == ["stored", "stored before", "stored before"]
    assert verifying.verify() == []


@pytest.mark.parametrize("other", ["approve", "reject", "archive", "submit again"])
def test_a_change_and_another_act_at_once(
    batch: Batch, project: Project, annotator: Membership, manager: Membership, other: str
) -> None:
    """Either is first; what is stored is one of the two versions, whole, and no rule is broken."""
    uuid = submit_assignment(annotator)
    of = revising.version_key(newest(uuid))
    if other == "archive":
        lifecycle.close(batch=batch, actor=manager)

    def act(what: str) -> str:
        if what == "revise":
            return revise(annotator, uuid, of, 1)
        if what == "archive":
            lifecycle.archive(batch=batch, actor=manager)
        elif what == "submit again":
            submitting.submit(annotator=annotator, assignment_uuid=uuid, sent=answered())
        else:
            reason = {"reason": "Careless."} if what == "reject" else {}
            getattr(decisions, what)(project=project, actor=manager, chosen=WorkFilter(), **reason)
        return what

    outcome, _ = all_at_once(act, ["revise", other])
    stored = set(Assignment.objects.get(uuid=uuid).judgments.values_list("value", flat=True))
    assert (outcome, stored) in [("stored", {1.0}), ("TakesNoAnswers", {4.0})]
    assert outcome == "stored" or other != "submit again"
    assert verifying.verify() == []
    assert_equation()
