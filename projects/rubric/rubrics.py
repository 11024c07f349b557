"""Rubrics: made from a preset or by hand, versioned, frozen once a batch that names them opens."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext

from measures.rubric import PRESETS, CriterionSpec, Level, Scale, ScaleKind, check_value
from projects.errors import Refused
from projects.models import Criterion, Project, Rubric

MOST_KEY_CHARACTERS = 40
MOST_BUTTONS = 11
"""A scale of more points is shown as a slider with a number: nobody aims at one of a hundred buttons."""

KEY_RULE = format_lazy(
    "Use at most {most} lowercase letters and digits, separated by single underscores or hyphens.",
    most=MOST_KEY_CHARACTERS,
)
_KEY = re.compile(r"[a-z0-9]+([_-][a-z0-9]+)*")


def is_key(text: str) -> bool:
    """Whether a criterion may have this key, on a page as in a file."""
    return len(text) <= MOST_KEY_CHARACTERS and _KEY.fullmatch(text) is not None


@dataclass(frozen=True, eq=False)
class CriterionOnPage:
    """A criterion as the rating page and the check of answers need it; the same object for as long as it is frozen."""

    id: int
    key: str
    name: str
    statement: str
    kind: str
    low: int
    high: int
    scale: Scale
    points: tuple[dict[str, object], ...]
    marks: tuple[dict[str, object], ...] = ()
    """The points of which something is said."""

    @property
    def has_buttons(self) -> bool:
        return 0 < len(self.points) <= MOST_BUTTONS

    @property
    def low_mark(self) -> dict[str, object]:
        return _mark_at(self.marks, self.low)

    @property
    def high_mark(self) -> dict[str, object]:
        return _mark_at(self.marks, self.high)

    @property
    def named_range(self) -> str:
        """The ends of the scale with what is said of them: “1 (wrong) – 5 (right)”."""
        ends = ((self.low, self.low_mark), (self.high, self.high_mark))
        return " – ".join(f"{value} ({mark['label']})" if mark.get("label") else str(value) for value, mark in ends)


@lru_cache(maxsize=512)
def share_columns(criteria: tuple[CriterionOnPage, ...]) -> bool:
    """Whether several criteria have the same buttons with the same words, so that they make one grid."""
    if len(criteria) < 2 or not all(criterion.has_buttons for criterion in criteria):
        return False
    rows = {tuple((point["value"], point["label"]) for point in criterion.points) for criterion in criteria}
    return len(rows) == 1


def read_criteria(rubric: Rubric) -> tuple[CriterionOnPage, ...]:
    """The criteria in order; a frozen rubric never changes, so each process reads it once."""
    if rubric.frozen_at is not None:
        return frozen_criteria(rubric.pk)
    return _read(rubric.pk)


@lru_cache(maxsize=512)
def frozen_criteria(rubric_id: int) -> tuple[CriterionOnPage, ...]:
    """The criteria of a rubric that the caller knows to be frozen, as every batch's past its draft is."""
    return _read(rubric_id)


def describe_on_page(criterion: Criterion) -> CriterionOnPage:
    scale = read_scale(criterion)
    texts = {anchor["value"]: anchor["text"] for anchor in criterion.anchors}
    points = tuple(_point(value, texts.get(value, "")) for value in scale.points)
    return CriterionOnPage(
        id=criterion.pk,
        key=criterion.key,
        name=criterion.name,
        statement=criterion.statement,
        kind=criterion.kind,
        low=criterion.low,
        high=criterion.high,
        scale=scale,
        points=points,
        marks=tuple(_point(*anchor) for anchor in sorted(texts.items())),
    )


def explain_invalid(scale: Scale, value: object) -> str | None:
    """What is wrong with an answer, in the reader's language; nothing if it is valid."""
    return check_value(scale, value, gettext=gettext)


def read_scale(criterion: Criterion) -> Scale:
    return Scale(kind=ScaleKind(criterion.kind), low=criterion.low, high=criterion.high)


def current_rubric(project: Project) -> Rubric | None:
    """The newest version made for the app's own work; versions that an import brought do not count."""
    return project.rubrics.filter(is_imported=False).order_by("-version").first()


def create_from_preset(project: Project, preset: str) -> Rubric:
    spec = PRESETS[preset]
    return create_rubric(project, name=spec.name, preset=preset, criteria=spec.criteria)


@transaction.atomic
def create_rubric(
    project: Project,
    *,
    name: str,
    preset: str,
    criteria: Sequence[CriterionSpec],
    is_imported: bool = False,
    not_for_quality: Collection[str] = (),
) -> Rubric:
    """Make the next version. Raises Refused without criteria or with a key twice.

    `not_for_quality` names the keys of criteria by which no annotator is checked.
    """
    keys = [criterion.key for criterion in criteria]
    if not keys:
        raise Refused("A rubric needs at least one criterion.")
    if len(set(keys)) != len(keys):
        raise Refused("Two criteria have the same key.")
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    newest = project.rubrics.aggregate(newest=Max("version"))["newest"] or 0
    rubric = Rubric.objects.create(
        project=project, version=newest + 1, name=name, preset=preset, is_imported=is_imported
    )
    Criterion.objects.bulk_create(
        Criterion(
            rubric=rubric,
            position=position,
            key=spec.key,
            name=spec.name,
            statement=spec.statement,
            kind=spec.scale.kind.value,
            low=int(spec.scale.low),
            high=int(spec.scale.high),
            anchors=[{"value": value, "text": text} for value, text in sorted(spec.anchors.items())],
            is_reversed=spec.reversed,
            level=spec.level.value,
            used_for_quality=spec.key not in not_for_quality,
        )
        for position, spec in enumerate(criteria)
    )
    return rubric


def freeze(rubric: Rubric) -> None:
    """From now on this version never changes; calling it again does nothing."""
    Rubric.objects.filter(pk=rubric.pk, frozen_at=None).update(frozen_at=timezone.now())


def describe_criterion(criterion: Criterion) -> CriterionSpec:
    return CriterionSpec(
        key=criterion.key,
        name=criterion.name,
        statement=criterion.statement,
        scale=read_scale(criterion),
        anchors={anchor["value"]: anchor["text"] for anchor in criterion.anchors},
        reversed=criterion.is_reversed,
        level=Level(criterion.level),
    )


def _read(rubric_id: int) -> tuple[CriterionOnPage, ...]:
    return tuple(
        describe_on_page(criterion) for criterion in Criterion.objects.filter(rubric=rubric_id).order_by("position")
    )


def _mark_at(marks: Sequence[dict[str, object]], value: int) -> dict[str, object]:
    return next((mark for mark in marks if mark["value"] == value), _point(value, ""))


def _point(value: int, anchor: str) -> dict[str, object]:
    """An anchor is "short name: explanation"; the button shows the name."""
    name, colon, explanation = anchor.partition(": ")
    if not colon:
        name, explanation = (anchor, "") if len(anchor) <= 24 else ("", anchor)
    return {"value": value, "label": name, "description": explanation}
