"""Instructions for annotators: the version that applies to their work, and the versions they confirmed as read."""

import uuid
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotate.models import Assignment, Attempt, Batch
from projects import log
from projects.errors import Refused
from projects.models import Act, Instructions, InstructionsReading, Membership, Rubric
from projects.rubric import rubrics
from projects.rubric.rubrics import CriterionOnPage
from projects.texts.examples import Example
from projects.web.whole_numbers import parse_whole_number


class InstructionsFirst(Refused):
    """The annotator must read a version of the instructions first."""

    def __init__(self, version: int) -> None:
        super().__init__(_("Read the instructions first."))
        self.version = version


@dataclass(frozen=True)
class Guide:
    """A version of the instructions with its rubric, and whether its reader has confirmed it."""

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
    """Return the instructions and the rubric of the reader's own attempt or HIT, else of open work, else the newest.

    A given `version` comes with the rubric of the batch with this number if that batch uses it, else of an open batch.
    """
    newest = membership.project.instructions.order_by("-version").first()
    if own := _find_attempt(membership, attempt):
        return _fetch_guide(membership, own.test.instructions or newest, own.rubric)
    batches = Batch.objects.filter(project=membership.project_id, instructions__isnull=False)
    batches = batches.select_related("instructions", "rubric").order_by("-priority", "number")
    if version is not None:
        pinned = batches.filter(instructions__version=version)
        number = parse_whole_number(batch)
        asked = None if number is None else pinned.filter(number=number).first()
        chosen = asked or pinned.filter(state=Batch.State.OPEN).first() or pinned.last()
        found = membership.project.instructions.filter(version=version).first()
    else:
        chosen = batches.filter(hits__assignments__in=_find_assignment(membership, hit)).first()
        chosen = chosen or batches.filter(state=Batch.State.OPEN).order_by("-instructions__version").first()
        found = chosen.instructions if chosen else newest
    return _fetch_guide(membership, found, chosen.rubric if chosen else rubrics.current_rubric(membership.project))


def find_last_confirmed(membership: Membership, instructions: Instructions) -> Instructions | None:
    """Return the newest older version that the reader confirmed, with which a new one is compared, or None."""
    readings = InstructionsReading.objects.filter(membership=membership, instructions__version__lt=instructions.version)
    reading = readings.select_related("instructions").order_by("-instructions__version").first()
    return reading.instructions if reading is not None else None


def require_instructions(annotator: Membership, instructions: Instructions | None) -> None:
    """Raise InstructionsFirst unless the annotator has confirmed this version or a later one; None is the newest."""
    asked = instructions or annotator.project.instructions.order_by("-version").first()
    if asked is None:
        return
    read = InstructionsReading.objects.filter(membership=annotator, instructions__version__gte=asked.version)
    if not read.exists():
        raise InstructionsFirst(asked.version)


@transaction.atomic
def confirm(*, annotator: Membership, instructions: Instructions) -> bool:
    """Record that the annotator has read a version; return False if that was recorded before."""
    _reading, is_new = InstructionsReading.objects.get_or_create(membership=annotator, instructions=instructions)
    if is_new:
        log.record(annotator.project, annotator, Act.READ_INSTRUCTIONS, instructions)
    return is_new


def _fetch_guide(membership: Membership, instructions: Instructions | None, rubric: Rubric | None) -> Guide:
    is_read = InstructionsReading.objects.filter(membership=membership, instructions=instructions).exists()
    return Guide(instructions, rubric, is_read)


def _find_attempt(membership: Membership, attempt: str) -> Attempt | None:
    key = _read_uuid(attempt)
    mine = Attempt.objects.select_related("test__instructions", "rubric").filter(annotator=membership)
    return mine.filter(uuid=key).first() if key else None


def _find_assignment(membership: Membership, hit: str) -> QuerySet[Assignment]:
    key = _read_uuid(hit)
    return Assignment.objects.filter(uuid=key, annotator=membership) if key else Assignment.objects.none()


def _read_uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
