"""Instructions as annotators meet them: the version that their work goes by, what changed in it, confirmed as read."""

import uuid
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet

from annotate.models import Assignment, Attempt, Batch
from projects import log
from projects.models import Act, Instructions, InstructionsReading, Membership, Rubric
from projects.rubric import rubrics
from projects.rubric.rubrics import CriterionOnPage
from projects.texts.examples import Example


@dataclass(frozen=True)
class Guide:
    """A version of the instructions with the rubric that it goes with, and whether its reader has confirmed it."""

    instructions: Instructions | None
    rubric: Rubric | None
    is_read: bool

    @property
    def criteria(self) -> tuple[CriterionOnPage, ...]:
        return rubrics.read_criteria(self.rubric) if self.rubric is not None else ()

    @property
    def examples(self) -> list[Example]:
        return Example.read_all(self.instructions.examples) if self.instructions is not None else []


def find_guide(
    membership: Membership, *, hit: str = "", attempt: str = "", version: int | None = None, batch: str = ""
) -> Guide:
    """What the reader's own attempt or HIT goes by, or the work that is open; else the newest.

    A version is shown as the batch with this number goes by it, else as an open one does.
    """
    newest = membership.project.instructions.order_by("-version").first()
    if taken := _own_attempt(membership, attempt):
        return _guide(membership, taken.test.instructions or newest, taken.rubric)
    batches = Batch.objects.filter(project=membership.project_id, instructions__isnull=False)
    batches = batches.select_related("instructions", "rubric").order_by("-priority", "number")
    if version is not None:
        pinned = batches.filter(instructions__version=version)
        asked = pinned.filter(number=batch).first() if batch.isascii() and batch.isdigit() and len(batch) < 9 else None
        shown = asked or pinned.filter(state=Batch.State.OPEN).first() or pinned.last()
        found = membership.project.instructions.filter(version=version).first()
    else:
        shown = batches.filter(hits__assignments__in=_own(membership, hit)).first()
        shown = shown or batches.filter(state=Batch.State.OPEN).order_by("-instructions__version").first()
        found = shown.instructions if shown else newest
    return _guide(membership, found, shown.rubric if shown else rubrics.current_rubric(membership.project))


def find_last_confirmed(membership: Membership, instructions: Instructions) -> Instructions | None:
    """The newest of the older versions that the reader confirmed: what has changed is told against it."""
    readings = InstructionsReading.objects.filter(membership=membership, instructions__version__lt=instructions.version)
    reading = readings.select_related("instructions").order_by("-instructions__version").first()
    return reading.instructions if reading is not None else None


@transaction.atomic
def confirm(*, annotator: Membership, instructions: Instructions) -> bool:
    """Store that the annotator has read a version; doing it again changes nothing and returns False."""
    _reading, is_new = InstructionsReading.objects.get_or_create(membership=annotator, instructions=instructions)
    if is_new:
        log.record(annotator.project, annotator, Act.READ_INSTRUCTIONS, instructions)
    return is_new


def _guide(membership: Membership, instructions: Instructions | None, rubric: Rubric | None) -> Guide:
    is_read = InstructionsReading.objects.filter(membership=membership, instructions=instructions).exists()
    return Guide(instructions, rubric, is_read)


def _own_attempt(membership: Membership, attempt: str) -> Attempt | None:
    key = _uuid(attempt)
    mine = Attempt.objects.select_related("test__instructions", "rubric").filter(annotator=membership)
    return mine.filter(uuid=key).first() if key else None


def _own(membership: Membership, hit: str) -> QuerySet[Assignment]:
    key = _uuid(hit)
    return Assignment.objects.filter(uuid=key, annotator=membership) if key else Assignment.objects.none()


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
