"""Scopes of judgments, and the criteria that batches use."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property, partial

from django.db.models import Exists, OuterRef

from annotate.frames.stages import Stage, left_out
from annotate.models import Batch, Judgment
from projects.models import Criterion, Project
from projects.rubric.rubrics import current_rubric


@dataclass(frozen=True)
class CriterionInUse:
    """A criterion key over all versions of the rubric that batches use; the newest version names it."""

    key: str
    name: str
    statement: str
    level: str
    kind: str
    low: int
    high: int
    ids: tuple[int, ...]
    id_scales: tuple[str, ...]
    """The name of each id's scale."""

    @property
    def scales(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.id_scales))

    @property
    def has_one_scale(self) -> bool:
        return len(self.scales) == 1

    def on_scales(self, names: Collection[str]) -> "CriterionInUse":
        """Return the criterion with those of its versions alone that have one of these scales; possibly with none."""
        kept = [(pk, scale) for pk, scale in zip(self.ids, self.id_scales, strict=True) if scale in names]
        return replace(self, ids=tuple(pk for pk, _ in kept), id_scales=tuple(scale for _, scale in kept))


@dataclass(frozen=True, kw_only=True)
class Scope:
    """A selection of a project's judgments; None selects all, an empty text those without a name.

    With a batch, the stage is ignored.
    """

    project: Project
    criterion: CriterionInUse
    stage: Stage = Stage.FULL
    batch: Batch | None = None
    dataset: str | None = None
    split: str | None = None
    source: str | None = None
    question_type: str | None = None
    is_blind_only: bool = False

    @cached_property
    def left_out(self) -> tuple[int, ...]:
        """The ids of the batches that do not belong to the stage."""
        return () if self.batch else left_out(self.project, self.stage)


def criteria_in_use(project: Project, batch: Batch | None = None) -> list[CriterionInUse]:
    """Return the criteria of the project's batches (or of one batch), each key once, the newest rubric's first."""
    read = partial(_read_criteria, project, batch)
    return list(project.remember(f"criteria of {batch.pk}" if batch else "criteria", read))


def _read_criteria(project: Project, batch: Batch | None) -> list[CriterionInUse]:
    # Own rubrics come before imported ones, so that a key has the name that the project's people gave it.
    criteria = Criterion.objects.filter(rubric__project=project)
    criteria = criteria.filter(rubric__batches=batch) if batch else criteria.filter(rubric__batches__isnull=False)
    by_key: dict[str, list[Criterion]] = {}
    for criterion in criteria.order_by("rubric__is_imported", "-rubric__version", "position").distinct():
        by_key.setdefault(criterion.key, []).append(criterion)
    return [_merge_versions(versions) for versions in by_key.values()]


def criteria_to_come(project: Project) -> list[CriterionInUse]:
    """Return the criteria of the project's current rubric, which its next batch will use."""
    rubric = current_rubric(project)
    return [_merge_versions([criterion]) for criterion in rubric.criteria.order_by("position")] if rubric else []


def _merge_versions(versions: list[Criterion]) -> CriterionInUse:
    # Scores on different scales cannot be combined. Versions that no one has rated on are dropped first, since a
    # changed scale matters only if both have judgments.
    if len({name_scale(criterion) for criterion in versions}) > 1:
        judged = Judgment.objects.filter(criterion=OuterRef("pk"), is_counted=True, candidate__isnull=False)
        with_judgments = Criterion.objects.filter(Exists(judged), pk__in=[criterion.pk for criterion in versions])
        versions = [criterion for criterion in versions if criterion in set(with_judgments)] or versions[:1]
    newest = versions[0]
    return CriterionInUse(
        key=newest.key,
        name=newest.name,
        statement=newest.statement,
        level=newest.level,
        kind=newest.kind,
        low=newest.low,
        high=newest.high,
        ids=tuple(criterion.pk for criterion in versions),
        id_scales=tuple(name_scale(criterion) for criterion in versions),
    )


def name_scale(criterion: Criterion) -> str:
    """Return the name of a criterion's scale; scores on scales of other names are never pooled."""
    return f"{criterion.get_kind_display()} {criterion.low} to {criterion.high}"
