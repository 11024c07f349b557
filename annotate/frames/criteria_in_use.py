"""Scopes of judgments, and the criteria that batches use."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property, partial

from annotate.frames.stages import Stage, left_out
from annotate.models import Batch, Judgment
from measures.rubric import has_order
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

    @property
    def has_order(self) -> bool:
        """Whether its points have a mean."""
        return has_order(self.level, self.low, self.high)

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


def criteria_in_use(project: Project, batch: Batch | None = None, *, stage: Stage = Stage.ALL) -> list[CriterionInUse]:
    """Return the criteria of the project's batches (or of one batch), each key once, the newest rubric's first.

    A stage leaves out no criterion, but of one on several scales the versions that were not rated on in it.
    """
    stage = Stage.ALL if batch else stage
    name = f"criteria of {batch.pk}" if batch else "criteria"
    by_key = project.remember(name, partial(_read_versions, project, batch))

    def merge() -> list[CriterionInUse]:
        return [_merge_versions(_drop_unjudged(versions, project, stage)) for versions in by_key.values()]

    return list(project.remember(f"{name} in {stage}", merge))


def _read_versions(project: Project, batch: Batch | None) -> dict[str, list[Criterion]]:
    # Own rubrics come before imported ones, so that a key has the name that the project's people gave it.
    criteria = Criterion.objects.filter(rubric__project=project)
    criteria = criteria.filter(rubric__batches=batch) if batch else criteria.filter(rubric__batches__isnull=False)
    by_key: dict[str, list[Criterion]] = {}
    for criterion in criteria.order_by("rubric__is_imported", "-rubric__version", "position").distinct():
        by_key.setdefault(criterion.key, []).append(criterion)
    return by_key


def name_criteria(project: Project) -> dict[str, str]:
    """Return the names of the criteria in use by key; criteria of one name have their key beside it."""
    criteria = criteria_in_use(project)
    n_namesakes = Counter(each.name for each in criteria)
    return {each.key: f"{each.name} ({each.key})" if n_namesakes[each.name] > 1 else each.name for each in criteria}


def criteria_to_come(project: Project) -> list[CriterionInUse]:
    """Return the criteria of the project's current rubric, which its next batch will use."""
    rubric = current_rubric(project)
    return [_merge_versions([criterion]) for criterion in rubric.criteria.order_by("position")] if rubric else []


def _drop_unjudged(versions: list[Criterion], project: Project, stage: Stage) -> list[Criterion]:
    """Return the versions without those that no one has rated on in the stage, where they have several scales.

    Scores on different scales cannot be combined, but a changed scale matters only if both have judgments.
    """
    if len({name_scale(criterion) for criterion in versions}) == 1:
        return versions
    judged, used = Judgment.objects.filter(is_counted=True, candidate__isnull=False), versions
    if without := left_out(project, stage):
        # Asked first, as it is quick: of a version that the stage never uses, all judgments would be looked at in vain.
        batches = Batch.objects.filter(rubric__in={criterion.rubric_id for criterion in versions})
        rubrics = set(batches.exclude(pk__in=without).values_list("rubric", flat=True))
        used = [criterion for criterion in versions if criterion.rubric_id in rubrics]
        judged = judged.exclude(assignment__hit__batch__in=without)
    return [criterion for criterion in used if judged.filter(criterion=criterion).exists()] or versions[:1]


def _merge_versions(versions: list[Criterion]) -> CriterionInUse:
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
