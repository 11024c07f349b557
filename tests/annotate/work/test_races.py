"""Real processes on real connections: exactly the places asked for, whatever happens at the same time."""

import random
import uuid
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from annotate import places
from annotate.models import Assignment, Batch, Hit, Judgment
from annotate.rating import answers
from annotate.work import serving, submitting
from projects.models import Membership, Project
from tests.annotate.open_batches import answered, assert_equation, fetch, open_batch
from tests.concurrency import Racers
from tests.factories import make_membership

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]
DAY = timedelta(days=1)


def claim(annotator: Membership) -> uuid.UUID | None:
    found = serving.claim(annotator)
    return None if isinstance(found, serving.NoWork) else found


def work_until_nothing(annotator: Membership) -> int:
    n = 0
    while found := claim(annotator):
        submitting.submit(annotator=annotator, assignment_uuid=found, sent=answered())
        n += 1
    return n


def submit(task: tuple[Membership, uuid.UUID]) -> submitting.Submitted:
    annotator, found = task
    return submitting.submit(annotator=annotator, assignment_uuid=found, sent=answered())


def sweep_or_submit(task: tuple[Membership, uuid.UUID] | None) -> int | str:
    if task is None:
        with transaction.atomic():
            return places.sweep(now=timezone.now())
    return submit(task).mark


def crowd(project: Project, n: int) -> list[Membership]:
    return [make_membership(project) for _ in range(n)]


def n_judgments_per_hit() -> set[int]:
    return set(Hit.objects.values_list("places_done", flat=True))


def test_fifty_claims_on_forty_hits_all_get_a_place(racers: Racers, project: Project, scale: int) -> None:
    """Fifty people and a hundred and twenty places: nobody is turned away, nobody doubled."""
    for _ in range(2 * scale):
        batch = open_batch(project, n_hits=40, judgments=3)
        assert all(racers.all_at_once(claim, crowd(project, 50)))
        assert Assignment.objects.filter(hit__batch=batch, holds_place=True).count() == 50
        assert_equation()
        Batch.objects.update(state=Batch.State.CLOSED)


@pytest.mark.parametrize("overlap", [1, 3])
def test_fifty_annotators_give_every_hit_exactly_its_judgments(
    racers: Racers, project: Project, scale: int, overlap: int
) -> None:
    for _ in range(2 * scale):
        open_batch(project, n_hits=40, judgments=overlap)
        done = racers.all_at_once(work_until_nothing, crowd(project, 50))
        assert sum(done) == 40 * overlap
        assert Assignment.objects.filter(hit__batch__state="open", state="submitted").count() == 40 * overlap
        assert set(Hit.objects.filter(batch__state="open").values_list("places_done", "places_open")) == {(overlap, 0)}
        assert_equation()
        Batch.objects.update(state=Batch.State.CLOSED)


def test_thirty_people_at_a_hit_with_thirty_places_all_get_one(racers: Racers, project: Project) -> None:
    open_batch(project, n_hits=1, judgments=30)
    assert all(racers.all_at_once(claim, crowd(project, 30)))
    assert_equation()


def test_twenty_claims_of_one_annotator_open_one_assignment(
    racers: Racers, project: Project, annotator: Membership
) -> None:
    open_batch(project, n_hits=30, judgments=3)
    assert len(set(racers.all_at_once(claim, [annotator] * 20))) == 1
    assert Assignment.objects.open().count() == 1
    assert_equation()


def test_two_submits_at_once_store_one(racers: Racers, project: Project, annotator: Membership, scale: int) -> None:
    open_batch(project, n_hits=10 * scale)
    for n in range(10 * scale):
        found = claim(annotator)
        assert found is not None
        outcomes = racers.all_at_once(submit, [(annotator, found)] * 2)
        assert sorted(outcome.was_stored for outcome in outcomes) == [False, True]
        assert Judgment.objects.count() == 3 * (n + 1)


def test_a_sweep_and_a_submit_end_in_one_of_the_two(
    racers: Racers, project: Project, annotator: Membership, scale: int
) -> None:
    """Whoever saw "saved" has the row, and it counts: the place was free again, or had not been given up."""
    open_batch(project, n_hits=20 * scale)
    for _ in range(20 * scale):
        found = claim(annotator)
        assert found is not None
        Assignment.objects.filter(uuid=found).update(due_at=timezone.now() - DAY)
        n_swept, mark = racers.all_at_once(sweep_or_submit, [None, (annotator, found)])
        assignment = fetch(found)
        assert assignment.state == Assignment.State.SUBMITTED
        assert mark == ("late" if n_swept == 1 else "counted")
        assert assignment.judgments.filter(is_counted=True).count() == 3
    assert_equation()


def mixed_shift(task: tuple[Membership, int]) -> int:
    """Some minutes in the life of an annotator, or of a manager who cannot make up their mind."""
    annotator, seed = task
    rng = random.Random(seed)
    if seed % 8 == 0:
        batch = Batch.objects.get(state="open")
        for _ in range(6):
            with transaction.atomic():
                places.set_wanted(batch, judgments=rng.choice([1, 2, 3, 5]))
            with transaction.atomic():
                places.sweep(now=timezone.now() + DAY * rng.choice([0, 1]))
        return 0
    n = 0
    for _ in range(12):
        found = claim(annotator)
        if found is None:
            continue
        try:
            if rng.random() < 0.25:
                submitting.return_hit(annotator=annotator, assignment_uuid=found, reason="")
            else:
                n += not submitting.submit(annotator=annotator, assignment_uuid=found, sent=answered()).was_stored
        except answers.TakesNoAnswers:
            pass
    return n


def test_everything_at_once_keeps_the_equation(racers: Racers, project: Project, scale: int) -> None:
    """Claims, submits, returns, sweeps of open work, top-ups and lowerings, all at the same time."""
    for turn in range(2 * scale):
        open_batch(project, n_hits=15, judgments=3)
        done = racers.all_at_once(
            mixed_shift, [(member, 100 * turn + n) for n, member in enumerate(crowd(project, 24))]
        )
        assert Assignment.objects.filter(hit__batch__state="open", state="submitted").count() == sum(done)
        assert_equation()
        counted = Judgment.objects.filter(is_counted=True).values_list("annotator", "candidate")
        assert len(counted) == len(set(counted))
        Batch.objects.update(state=Batch.State.CLOSED)
    assert n_judgments_per_hit()
