"""The figures of one batch: agreement on each of its criteria, and the spread of the ratings."""

from collections.abc import Mapping
from typing import Any

from annotate.frames.criteria_in_use import Scope, criteria_in_use
from measures.rubric import Level
from projects.models import Project
from results.agreement.alpha import measure_agreement
from results.disagreements.spread import measure_spread
from results.scope.scopes import find_batch


def batch_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report and the spread of each criterion by its key. Raises Refused where the batch is gone."""
    batch = find_batch(project, settings["batch"])
    scopes = [Scope(project=project, criterion=each, batch=batch) for each in criteria_in_use(project, batch)]
    return {
        scope.criterion.key: {
            "report": measure_agreement(scope, level=Level(scope.criterion.level), by="dataset"),
            "spread": measure_spread(scope),
        }
        for scope in scopes
    }
