"""Managers and annotators at a batch at the same time, on real connections."""

import random
import uuid

import pytest

from annotate.batches import judgments_wanted, lifecycle
from annotate.batches.creating import create_batch
from annotate.batches.terms import Terms
from annotate.integrity import verifying
from annotate.models import Assignment, Batch, Hit
from annotate.work import serving, submitting
from projects.errors import Refused
from projects.models import LogEntry, Membership, Project
from tests.annotate.open_batches import answered, assert_equation
from tests.concurrency import all_at_once
from tests.factories import make_corpus, make_membership

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]


def make_open(project: Project) -> Batch:
    make_corpus(project, n_passages=12, n_candidates=3)
    batch = create_batch(project=project, actor=None, terms=Terms(judgments=3))
    lifecycle.open_batch(batch=batch, actor=None)
    return batch


def press_close(number: int) -> bool:
    try:
        lifecycle.close(batch=Batch.objects.select_related("project").get(number=number), actor=None)
    except Refused:
        return False
    return True


def test_of_many_who_close_a_batch_one_does(project: Project) -> None:
    batch = make_open(project)
    assert sum(all_at_once(press_close, [batch.number] * 12)) == 1
    assert LogEntry.objects.filter(act="close batch").count() == 1


def make_one(project: Project) -> int:
    return create_batch(project=project, actor=None, terms=Terms(judgments=1)).number


def test_batches_made_at_once_have_numbers_of_their_own(project: Project) -> None:
    make_corpus(project, n_passages=5, n_candidates=3)
    assert sorted(all_at_once(make_one, [project] * 8)) == list(range(1, 9))
    assert Hit.objects.count() == 40
    assert_equation()


def shift(task: tuple[str, Membership, int, int]) -> int:
    role, member, turn, seed = task
    rng = random.Random(seed)
    batch = Batch.objects.select_related("project", "rubric").get()
    if role == "topping up":
        for _ in range(8):
            numbers = rng.sample(range(1, 13), 4) if rng.random() < 0.5 else None
            # More in each turn, or earlier ones would have done all there is.
            judgments = 6 * turn + rng.choice([1, 2, 4, 6])
            judgments_wanted.change_wanted(batch=batch, actor=member, judgments=judgments, hit_numbers=numbers)
        return 0
    if role == "pausing":
        for act in (lifecycle.pause, lifecycle.open_batch) * 6:
            batch.refresh_from_db()
            act(batch=batch, actor=member)
        return 0
    n = 0
    for _ in range(10):
        found = serving.claim(member)
        if isinstance(found, uuid.UUID):
            submitting.submit(annotator=member, assignment_uuid=found, sent=answered())
            n += 1
    return n


def test_raising_lowering_and_pausing_during_work_lose_and_double_nothing(
    project: Project, manager: Membership, owner: Membership, scale: int
) -> None:
    batch = make_open(project)
    for turn in range(scale):
        people = [make_membership(project) for _ in range(14)]
        topping_up = [("topping up", member, turn, seed) for member, seed in ((manager, turn), (owner, turn + 50))]
        tasks = [*topping_up, ("pausing", owner, turn, turn), *(("rating", person, turn, turn) for person in people)]
        n_before = Assignment.objects.filter(state="submitted").count()
        n_done = sum(all_at_once(shift, tasks))
        assert n_done > 0
        assert Assignment.objects.filter(state="submitted").count() == n_before + n_done
        assert_equation()
        assert verifying.verify() == []
    batch.refresh_from_db()
    assert batch.state == Batch.State.OPEN
