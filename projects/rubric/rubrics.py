"""Rubrics: created from a preset or by hand, versioned, and frozen once a batch that uses them opens."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from measures.rubric import CriterionSpec, Level, Scale, ScaleKind
from projects.errors import Refused
from projects.models import Criterion, Project, Rubric
from projects.rubric.presets import find_preset

MOST_BUTTONS = 11
"""A scale with more points is shown as a slider with a number field: nobody can aim at one of a hundred buttons."""


@dataclass(frozen=True, eq=False)
class CriterionOnPage:
    """A criterion as the rating page and the check of answers need it.

    Criteria compare by identity: `points` contains dictionaries, which have no hash, and `share_columns` caches by
    criteria. Each process has one object for each criterion of a frozen rubric.
    """

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
    """The points that have a label or an explanation."""
    has_order: bool = True

    @property
    def listed_points(self) -> tuple[dict[str, object], ...]:
        """The points as a list shows them: the best first, categories without an order as on the buttons."""
        return self.points[::-1] if self.has_order else self.points

    @property
    def listed_marks(self) -> tuple[dict[str, object], ...]:
        return self.marks[::-1] if self.has_order else self.marks

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
    def has_labels(self) -> bool:
        """Whether any point of the scale has a label; else the buttons are bare numbers."""
        return any(point["label"] for point in self.points)

    @property
    def unlabelled_ends(self) -> list[int]:
        """The ends of the scale without a label although other values have one, as if they were of another scale."""
        labelled = {mark["value"] for mark in self.marks}
        return [end for end in (self.low, self.high) if labelled and end not in labelled]

    @property
    def low_words(self) -> object:
        """The label of the lowest value, or its explanation."""
        return self.low_mark["label"] or self.low_mark["description"]

    @property
    def high_words(self) -> object:
        """The label of the highest value, or its explanation."""
        return self.high_mark["label"] or self.high_mark["description"]

    @property
    def named_range(self) -> str:
        """The ends of the scale with their labels: “1 (wrong) – 5 (right)”."""
        ends = ((self.low, self.low_mark), (self.high, self.high_mark))
        return " – ".join(f"{value} ({mark['label']})" if mark.get("label") else str(value) for value, mark in ends)


@lru_cache(maxsize=512)
def share_columns(criteria: tuple[CriterionOnPage, ...]) -> bool:
    """Return whether several criteria have the same buttons with the same labels, so that one grid can show them."""
    if len(criteria) < 2 or not all(criterion.has_buttons for criterion in criteria):
        return False
    rows = {tuple((point["value"], point["label"]) for point in criterion.points) for criterion in criteria}
    return len(rows) == 1


def read_criteria(rubric: Rubric) -> tuple[CriterionOnPage, ...]:
    """Return the criteria in order; a frozen rubric never changes, so each process reads it once."""
    if rubric.frozen_at is not None:
        return frozen_criteria(rubric.pk)
    return _read(rubric.pk)


@lru_cache(maxsize=512)
def frozen_criteria(rubric_id: int) -> tuple[CriterionOnPage, ...]:
    """Return the criteria of a rubric that is known to be frozen, as that of every batch is once it has opened."""
    return _read(rubric_id)


def describe_on_page(criterion: Criterion) -> CriterionOnPage:
    """Return a stored criterion as pages need it."""
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
        has_order=criterion.has_order,
    )


def read_scale(criterion: Criterion) -> Scale:
    return Scale(kind=ScaleKind(criterion.kind), low=criterion.low, high=criterion.high)


def current_rubric(project: Project) -> Rubric | None:
    """Return the newest version, ignoring those that an import created for its own scales; None if there is none."""
    return project.rubrics.filter(is_imported=False).order_by("-version").first()


def create_from_preset(project: Project, preset: str) -> Rubric:
    """Create the next version from a preset, in the language of the project."""
    spec = find_preset(preset, project.language)
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
    """Create the next version. Raises Refused without criteria or with a duplicate key.

    `not_for_quality` contains the keys of criteria that annotator quality does not use.
    """
    keys = [criterion.key for criterion in criteria]
    if not keys:
        raise Refused("A rubric needs at least one criterion.")
    if len(set(keys)) != len(keys):
        raise Refused("Two criteria have the same key.")
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)  # two requests must not take the same version
    newest = project.rubrics.aggregate(newest=Max("version"))["newest"] or 0
    rubric = Rubric(project=project, version=newest + 1, name=name, preset=preset, is_imported=is_imported)
    return save_version(rubric, criteria, not_for_quality)


def save_version(rubric: Rubric, criteria: Sequence[CriterionSpec], not_for_quality: Collection[str] = ()) -> Rubric:
    """Save a version that nobody else can be creating, with its criteria."""
    rubric.save()
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
    """Freeze this version: from now on it never changes. Freezing it again does nothing."""
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
    """Return a point of the scale. An anchor is "label: explanation"; the button shows the label."""
    name, colon, explanation = anchor.partition(": ")
    if not colon:
        # Without a colon a text of up to 24 characters fits on the button; a longer one is an explanation.
        name, explanation = (anchor, "") if len(anchor) <= 24 else ("", anchor)
    return {"value": value, "label": name, "description": explanation}
