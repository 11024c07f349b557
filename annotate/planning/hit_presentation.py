"""Presentation: the HIT size, the way items are shown and the controls of an overlap plan's batches."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from annotate.batches.control_plan import QASCORE, QASCORE_HIT_SIZE, ControlPlan, check_plan
from annotate.models import Batch, OverlapPlan
from projects.models import Project
from projects.rubric.rubrics import current_rubric


@dataclass(frozen=True, kw_only=True)
class Presentation:
    """The HIT size, the way items are shown, and the controls."""

    hit_size: int
    presentation: str = Batch.Presentation.PAGE
    must_read_to_end: bool = True
    controls: ControlPlan = field(default_factory=ControlPlan)

    @property
    def n_ordinary(self) -> int:
        """The number of candidates in a HIT besides its controls."""
        return self.hit_size - self.controls.room

    @property
    def makes_personal_hits(self) -> bool:
        """Whether annotators get HITs of their own in addition to those that are planned."""
        return self.controls.makes_personal_hits(self.presentation)

    def check(self) -> None:
        """Raise Refused for controls that do not fit into such HITs."""
        check_plan(self.controls, presentation=self.presentation, hit_size=self.hit_size)


def read_presentation(
    plan: OverlapPlan | None, project: Project, *, batches: Sequence[Batch] | None = None
) -> Presentation:
    """Return the presentation of the plan's latest batch, or the one that suits the rubric.

    The plan's batches are read unless they are given.
    """
    if batches is None:
        batches = list(plan.batches.all()) if plan is not None else []
    newest = max(batches, key=lambda batch: batch.number, default=None)
    if newest is not None:
        return Presentation(
            hit_size=newest.hit_size,
            presentation=newest.presentation,
            must_read_to_end=newest.must_read_to_end,
            controls=ControlPlan.read(newest.control_plan),
        )
    rubric = current_rubric(project)
    if rubric is not None and rubric.preset == "qascore":
        return Presentation(hit_size=QASCORE_HIT_SIZE, presentation=Batch.Presentation.ONE, controls=QASCORE)
    return Presentation(hit_size=project.hit_size)
