"""What an export is to hold."""

from dataclasses import dataclass

from annotate.models import Batch
from projects.models import Project


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Which judgments of a project, and which columns; nothing chosen means everything.

    `criterion` is a key over all rubric versions. Comments are free text by annotators, who may have written personal
    data: they are left out unless asked for.
    """

    project: Project
    criterion: str = ""
    batches: tuple[Batch, ...] = ()
    with_texts: bool = False
    with_comments: bool = False

    def parameters(self) -> dict[str, object]:
        return {
            "project": self.project.pk,
            "criterion": self.criterion,
            "batches": [batch.pk for batch in self.batches],
        }
