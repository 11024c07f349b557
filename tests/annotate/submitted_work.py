"""Work submitted by the real acts, and what must hold after each decision on it."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from annotate import places
from annotate.integrity import verifying
from annotate.models import Assignment, Batch, Hit, Item, Judgment, Notice
from annotate.places import ReservedItem
from annotate.work import serving, submitting
from projects.models import Candidate, Membership
from tests.annotate.open_batches import answered, assert_equation, fetch


def claim(annotator: Membership) -> Assignment:
    found = serving.claim(annotator)
    assert isinstance(found, UUID), found
    return fetch(found)


def send(assignment: Assignment, **over: Any) -> Assignment:
    sent = answered(len(assignment.layout), **over)
    submitting.submit(annotator=assignment.annotator, assignment_uuid=assignment.uuid, sent=sent)
    assignment.refresh_from_db()
    return assignment


def rate(annotator: Membership, n: int = 1) -> list[Assignment]:
    """The annotator takes and submits so many HITs."""
    return [send(claim(annotator)) for _ in range(n)]


def expire(assignment: Assignment) -> None:
    Assignment.objects.filter(pk=assignment.pk).update(due_at=timezone.now() - timedelta(hours=1))
    with transaction.atomic():
        places.sweep(now=timezone.now())


def make_reserved(batch: Batch, annotator: Membership, *, is_taken: bool = True) -> Assignment | Hit:
    """A HIT for one annotator with one known answer, taken or free."""
    first = batch.hits.order_by("number")[0]
    question = first.items.all()[0].question_id
    item = ReservedItem(question_id=question, control=Item.Control.KNOWN_ANSWER, shown_text="A known one.")
    hit_id = places.create_reserved(
        batch=batch, passage_id=first.passage_id, annotator_id=annotator.pk, purpose=Hit.Purpose.GOLD, items=[item]
    )
    if not is_taken:
        return Hit.objects.get(pk=hit_id)
    uuid = places.take_reserved(hit_id=hit_id, annotator_id=annotator.pk, minutes=60, not_blind=False)
    assert uuid is not None
    return fetch(uuid)


def reasons(*assignments: Assignment) -> set[str]:
    """Why the judgments of these do not count; empty where they do."""
    return set(Judgment.objects.filter(assignment__in=assignments).values_list("not_counted_reason", flat=True))


def counters(hit: Hit | int) -> tuple[int, int, int]:
    """Wanted, open and done places."""
    pk = hit if isinstance(hit, int) else hit.pk
    return Hit.objects.values_list("places_wanted", "places_open", "places_done").get(pk=pk)


def assert_sound() -> None:
    assert_equation()
    assert verifying.verify() == []


def acting_samples(annotator: Membership) -> dict[str, Any]:
    """Values for the paths of acting, from the project of somebody whose work is there beside that of others."""
    project = annotator.project
    work = Assignment.objects.submitted().filter(hit__batch__project=project).earliest("pk")
    candidate = Candidate.objects.in_project(project).earliest("pk")
    mine = Assignment.objects.filter(annotator=annotator).order_by("submitted_at", "pk").first() or work
    return {
        "place": 0,
        "annotate:notice-read pk": Notice.objects.create(annotator=annotator, text="Please read the passages.").pk,
        **{f"annotate:{name} assignment_uuid": work.uuid for name in SUBMITTED},
        **{f"annotate:{name} assignment_uuid": mine.uuid for name in OWN},
        "annotate:candidate-withdraw pk": candidate.pk,
        "annotate:passage-withdraw pk": candidate.question.passage_id,
        "annotate:adjudication-settle pk": candidate.pk,
    }


OWN = ("history-show", "revision", "revision-draft")
SUBMITTED = ("assignment-show", "assignment-decide", "assignment-item")
