"""What an export holds: which judgments of a project, and which columns."""

from dataclasses import dataclass
from functools import cached_property

from annotate.frames.criteria_in_use import criteria_in_use
from annotate.frames.stages import Stage, left_out
from annotate.models import Batch
from annotate.reviews.adjudication import uses_adjudication
from measures.rubric import Level
from projects.models import Project


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Which judgments of a project, and which columns; an empty choice means all.

    `criterion` is a key, over all rubric versions. Comments are free text that may hold personal data, so they are
    exported only on request.
    """

    project: Project
    criterion: str = ""
    stage: Stage = Stage.FULL
    batches: tuple[Batch, ...] = ()
    with_texts: bool = False
    with_comments: bool = False

    @cached_property
    def left_out(self) -> tuple[int, ...]:
        """Return the ids of the batches of other stages. Batches that are named are exported whatever their stage."""
        return () if self.batches else left_out(self.project, self.stage)

    def parameters(self) -> dict[str, object]:
        return {
            "project": self.project.pk,
            "criterion": self.criterion,
            "batches": [batch.pk for batch in self.batches],
            "adjudication_wins": uses_adjudication(self.project),
            "left_out": list(self.left_out),
            # The newest rubric decides, as on pages.
            "nominal": [each.key for each in criteria_in_use(self.project) if each.level == Level.NOMINAL],
        }
