"""What an export is to hold."""

from dataclasses import dataclass
from functools import cached_property

from annotate.frames.stages import Stage, left_out
from annotate.models import Batch
from annotate.reviews.adjudication import uses_adjudication
from projects.models import Project


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Which judgments of a project, and which columns; nothing chosen means everything.

    `criterion` is a key over all rubric versions. Comments are free text by annotators, who may have written personal
    data: they are left out unless asked for.
    """

    project: Project
    criterion: str = ""
    stage: Stage = Stage.FULL
    batches: tuple[Batch, ...] = ()
    with_texts: bool = False
    with_comments: bool = False

    @cached_property
    def left_out(self) -> tuple[int, ...]:
        """The ids of the batches that are none of the stage; batches that are named are what is asked for."""
        return () if self.batches else left_out(self.project, self.stage)

    def parameters(self) -> dict[str, object]:
        return {
            "project": self.project.pk,
            "criterion": self.criterion,
            "batches": [batch.pk for batch in self.batches],
            "adjudication_wins": uses_adjudication(self.project),
            "left_out": list(self.left_out),
        }
