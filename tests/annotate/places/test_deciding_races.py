"""Decisions on work while it is being submitted, on real connections: counters stay exact whoever comes first."""

import random
import uuid
from contextlib import suppress
from functools import partial

import pytest
from django.db import transaction

from annotate import places
from annotate.integrity import verifying
from annotate.models import Assignment, Batch, Hit, Item, Judgment
from annotate.places.locking import lock_annotator
from annotate.rating import answers
from annotate.work import serving, submitting
from projects.errors import Refused
from projects.models import Membership, Project
from tests.annotate.open_batches import answered, open_batch
from tests.annotate.submitted_work import assert_sound, claim, counters, rate
from tests.concurrency import Racers, start_beside
from tests.factories import make_membership

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]


def take_out(annotator: Membership) -> int:
    """What a removal does: the standing, then all that they have submitted, in one transaction."""
    with transaction.atomic():
        lock_annotator(annotator)
        Membership.objects.filter(pk=annotator.pk).update(standing="removed")
        ids = list(Assignment.objects.filter(annotator=annotator).submitted().values_list("pk", flat=True))
        places.lock_with_hits(ids, reserved_for=annotator.pk)
        return len(places.exclude(ids, reason="Removed.", reopens=True))


def remove_or_submit(annotator: Membership, found: uuid.UUID, what: str) -> str:
    if what == "remove":
        return str(take_out(annotator))
    with suppress(answers.TakesNoAnswers):
        return submitting.submit(annotator=annotator, assignment_uuid=found, sent=answered()).mark
    return "gone"


def test_a_removal_and_a_submit_leave_nothing_counted(
    racers: Racers, project: Project, annotator: Membership, scale: int
) -> None:
    """The submit comes first and is excluded with the rest, or comes after and is refused."""
    open_batch(project, n_hits=8 * scale)
    for _ in range(8 * scale):
        Membership.objects.filter(pk=annotator.pk).update(standing="active")
        work = claim(annotator)
        n_excluded, mark = racers.all_at_once(partial(remove_or_submit, annotator, work.uuid), ["remove", "submit"])
        work.refresh_from_db()
        assert (n_excluded, mark, work.mark, work.state) in {
            ("1", "counted", "excluded", "submitted"),
            ("0", "gone", "", "open"),
        }
        assert not Judgment.objects.filter(is_counted=True).exists()
        with transaction.atomic():
            places.sweep()
    assert_sound()


def restore_or_claim(work: Assignment, second: Membership, what: str) -> bool:
    if what == "claim":
        return isinstance(serving.claim(second), uuid.UUID)
    with transaction.atomic():
        return places.restore([work.pk]).n_counted == 1


def test_a_restore_and_a_claim_share_one_place(racers: Racers, project: Project, scale: int) -> None:
    """Either the annotator counts again and the other gets nothing here, or the work is surplus."""
    for _ in range(6 * scale):
        batch = open_batch(project, n_hits=1)
        first, second = make_membership(project), make_membership(project)
        (work,) = rate(first)
        places.exclude([work.pk], reason="Removed.", reopens=True)
        assert sorted(racers.all_at_once(partial(restore_or_claim, work, second), ["restore", "claim"])) == [
            False,
            True,
        ]
        assert_sound()
        Batch.objects.filter(pk=batch.pk).update(state="closed")


def accept(assignment_id: int) -> list[int]:
    with transaction.atomic():
        return places.accept([assignment_id], by=None)


def test_work_that_two_accept_at_once_takes_one_place(project: Project) -> None:
    """The other place of the HIT stays open."""
    batch = open_batch(project, n_hits=1, judgments=2)
    (work,) = rate(make_membership(project))
    places.reject([work.pk], by=None, reason="Poor.", is_unpaid=False)
    with transaction.atomic():
        assert places.accept([work.pk], by=None) == [work.pk]
        finish = start_beside(partial(accept, work.pk))
    assert finish() == []
    assert counters(batch.hits.get()) == (2, 1, 1)
    assert_sound()


def withdraw_or_submit(work: dict[int, uuid.UUID], candidate: int, who: Membership | None) -> None:
    if who is None:
        for _ in range(2):  # the second time finds what was on its way
            with transaction.atomic():
                places.withdraw_candidates([candidate])
        return
    found = work.get(who.pk) or serving.claim(who)
    assert isinstance(found, uuid.UUID)
    n_items = len(Assignment.objects.get(uuid=found).layout)
    submitting.submit(annotator=who, assignment_uuid=found, sent=answered(n_items))


def test_a_withdrawn_candidate_counts_nowhere_whenever_it_is_submitted(
    racers: Racers, project: Project, scale: int
) -> None:
    for _ in range(6 * scale):
        batch = open_batch(project, n_hits=1, judgments=4)
        people = [make_membership(project) for _ in range(4)]
        work = {person.pk: claim(person).uuid for person in people[:2]}
        candidate = Item.objects.filter(hit__batch=batch).values_list("candidate_id", flat=True)[0]
        racers.all_at_once(partial(withdraw_or_submit, work, candidate), [*people, None])
        assert not Judgment.objects.filter(candidate=candidate, is_counted=True).exists()
        assert Assignment.objects.filter(hit__batch=batch, state="submitted").count() == 4
        assert_sound()
        Batch.objects.filter(pk=batch.pk).update(state="closed")


def manage(seed: int) -> int:
    """A manager who cannot make up their mind; how often an act took effect."""
    rng = random.Random(seed)
    n = 0
    for _ in range(12):
        ids = list(Assignment.objects.submitted().values_list("pk", flat=True))
        chosen = rng.sample(ids, min(len(ids), rng.randint(1, 8)))
        rng.shuffle(chosen)
        batch = Batch.objects.get(state="open")
        with transaction.atomic():
            act = rng.choice(["approve", "reject", "accept", "exclude", "keep", "restore", "aside", "withdraw", "want"])
            if act == "approve":
                n += len(places.approve(chosen, by=None))
            elif act == "reject":
                n += len(places.reject(chosen[:3], by=None, reason="Poor.", is_unpaid=False))
            elif act == "accept":
                n += len(places.accept(chosen, by=None))
            elif act in ("exclude", "keep"):
                n += len(places.exclude(chosen, reason="Removed.", reopens=act == "exclude"))
            elif act == "restore":
                n += places.restore(chosen).n_counted
            elif act == "aside" and chosen:
                item = Assignment.objects.get(pk=chosen[0]).layout[0]
                n += places.set_aside(assignment_id=chosen[0], item_id=item, is_counted=rng.random() < 0.5)
            elif act == "withdraw":
                some = Item.objects.filter(hit__batch=batch).order_by("?").values_list("candidate_id", flat=True)[:1]
                n += places.withdraw_candidates(list(some)).n_items
            else:
                places.set_wanted(batch, judgments=rng.choice([1, 2, 3]))
        with transaction.atomic():
            places.sweep()
    return n


def work(person: Membership) -> int:
    n = 0
    for turn in range(10):
        found = serving.claim(person)
        if not isinstance(found, uuid.UUID):
            continue
        n_items = len(Assignment.objects.get(uuid=found).layout)
        with suppress(Refused):
            if (turn + person.pk) % 5 == 0:
                submitting.return_hit(annotator=person, assignment_uuid=found, reason="")
            else:
                submitting.submit(annotator=person, assignment_uuid=found, sent=answered(n_items))
                n += 1
    return n


def shift(task: Membership | int) -> int:
    return manage(task) if isinstance(task, int) else work(task)


def test_managers_and_annotators_at_the_same_hits_keep_the_equation(
    racers: Racers, project: Project, scale: int
) -> None:
    for turn in range(scale):
        open_batch(project, n_hits=10, judgments=3)
        people = [make_membership(project) for _ in range(10)]
        done = racers.all_at_once(shift, [*people, *range(100 * turn, 100 * turn + 5)])
        assert sum(done[:10]) > 0
        assert sum(done[10:]) > 0
        for candidate in Item.objects.filter(retired_at__isnull=False).values_list("candidate_id", flat=True):
            places.withdraw_candidates([candidate])
        assert_sound()
        assert verifying.verify() == []
        Batch.objects.update(state="closed")
    assert Hit.objects.filter(places_open__lt=0).count() == 0
