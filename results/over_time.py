"""Agreement over time: whether people agree more or less as the work goes on."""

from collections.abc import Mapping
from typing import Any

from annotate.frames.judgments_frame import fetch_judgments
from measures.courses import alpha_course
from projects.models import Project
from results.scope.excluded import count_entering
from results.scope.gold_settings import RESAMPLES, SEED
from results.scope.scopes import scope_of


def time_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the page of agreement over time shows."""
    scope = scope_of(project, settings)
    frame = fetch_judgments(scope)
    return {
        "level": settings["level"],
        "periods": alpha_course(frame, level=settings["level"], seed=SEED, n_resamples=RESAMPLES),
        "n_undated": int(frame["day"].isna().sum()),
        "entering": count_entering(scope).as_dict(),
    }
