"""What a trial says of the studies that might follow: how wide the interval of alpha would be."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from annotate.frames.judgments_frame import fetch_judgments
from measures.columns import GROUP, UNIT
from measures.planning_alpha import plan_alpha
from measures.rubric import Level
from projects.models import Project
from results.scope.excluded import count_entering
from results.scope.gold_settings import CONFIDENCE, SEED
from results.scope.scopes import has_simulated, say_several_scales, scope_of
from results.scores.choosing import UNITS


def plan_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Widths of the interval of alpha by items and judgments of each, and how items lie in passages."""
    scope = scope_of(project, settings)
    if not scope.criterion.has_one_scale:
        return {"refusal": say_several_scales(scope.criterion)}
    frame = fetch_judgments(scope)
    plan = plan_alpha(
        frame,
        level=Level(settings["level"]),
        judgments=settings["judgments"],
        units=UNITS,
        rng=np.random.default_rng(SEED),
        confidence=CONFIDENCE,
        by_group=settings["by_passage"],
    )
    sizes = Counter(frame.drop_duplicates(UNIT)[GROUP].value_counts().tolist())
    return {
        "plan": plan,
        "has_simulated": has_simulated(project, frame),
        "passages": sorted(sizes.items()),
        "entering": count_entering(scope).as_dict(),
    }
