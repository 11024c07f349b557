"""What a list rests on, counted apart: over many judgments that takes longer than the list."""

from collections.abc import Mapping
from typing import Any

from projects.models import Project
from results.excluded import count_entering
from results.scoping import scope_of


def entering_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"entering": count_entering(scope_of(project, settings)).as_dict()}
