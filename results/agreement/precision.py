"""What a study of a wanted precision takes: items, HITs, money and hours, for each number of judgments per item."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from annotate.batches.costs import Cost, Rates, price
from annotate.batches.workload import Work, measure_basis, measure_project_texts
from annotate.frames.judgments_frame import fetch_judgments
from measures.columns import GROUP, UNIT
from measures.outcome import Undefined
from measures.planning_alpha import plan_alpha
from measures.rubric import Level
from projects.models import Project
from projects.rubric.rubrics import current_rubric
from results.agreement.alpha import does_share_passages
from results.scope.equal_ratings import warn_of_equal_ratings
from results.scope.excluded import count_inclusion
from results.scope.gold_settings import CONFIDENCE, SEED
from results.scope.passage_counts import warn_of_few_passages
from results.scope.scopes import explain_several_scales, has_simulated, read_scope

# As many as MOCHA collected of a candidate: two or three in its test sets, five in its trial.
JUDGMENTS = (2, 3, 5)
"""Numbers of judgments per item that are tried unless others are chosen."""
# Doubled each time: the width falls with the square root of the number of items.
UNITS = (50, 100, 200, 400, 800, 1600)
"""Numbers of items that are planned."""
MOST_JUDGMENTS = 20
WIDTH = 0.1
"""Of an interval, where no other is asked for."""
OBSERVED, PARTLY, MODELLED = "observed", "partly modelled", "modelled"


@dataclass(frozen=True)
class Choice:
    """A number of judgments per item with the items, HITs and cost that it needs, or the reason why it is unknown."""

    n_judgments: int
    basis: str
    """Whether the ratings are drawn from those of the trial, or a model adds those that some or all items lack."""
    undefined: str = ""
    n_units: int = 0
    n_hits: int = 0
    cost: Cost | None = None

    @property
    def n_ratings(self) -> int:
        return self.n_units * self.n_judgments


def list_choices(project: Project, figures: Mapping[str, Any], *, width: float) -> list[Choice]:
    """Return a choice for each number of judgments, at the project's pay and pace."""
    from measures.planning_alpha import PlannedWidth, units_for_width

    plan, basis = figures["plan"], measure_basis(project)
    rubric = current_rubric(project)
    texts = measure_project_texts(project, rubric_id=rubric.pk if rubric else None)
    hits_per_item = _compute_hits_per_item(figures["passages"], project.hit_size)
    choices = []
    widths = [PlannedWidth(**each) for each in plan["widths"]]
    # Plans of earlier versions don't tell which numbers were asked for, if there is no width.
    for n_judgments in plan.get("judgments") or sorted({each.n_judgments for each in widths}):
        needed = units_for_width([each for each in widths if each.n_judgments == n_judgments], width)
        basis_of_ratings = describe_basis(plan, n_judgments)
        if isinstance(needed, Undefined):
            choices.append(Choice(n_judgments, basis_of_ratings, undefined=needed.reason))
            continue
        n_hits = ceil(needed * hits_per_item)
        cost = price(
            Work.of_mean_size(n_hits * n_judgments, needed * n_judgments, texts),
            rates=Rates.of_project(project),
            basis=basis,
            n_annotators=basis.expect_annotators(n_judgments),
        )
        choices.append(Choice(n_judgments, basis_of_ratings, n_units=needed, n_hits=n_hits, cost=cost))
    return choices


def describe_basis(plan: Mapping[str, Any], n_judgments: int) -> str:
    """Return whether so many ratings per item are drawn from those of the trial, or all or some of them modelled."""
    if n_judgments > plan["most_judgments"]:
        return MODELLED
    # Plans of earlier versions know the most alone.
    return PARTLY if n_judgments > plan.get("fewest_judgments", n_judgments) else OBSERVED


def warn_of_few(plan: Mapping[str, Any]) -> str:
    """Return the warning about the passages that a stored plan rests on, or nothing; earlier plans don't count them."""
    if not plan.get("by_group") or "n_groups" not in plan:
        return ""
    return warn_of_few_passages(plan["n_groups"], plan["n_effective"], covering="The plan rests on")


def warn_of_equal(plan: Mapping[str, Any]) -> str:
    """Return the warning where nearly all ratings behind a stored plan are equal, or nothing."""
    trial = plan["trial"]
    # Earlier plans don't count the candidates with another rating.
    found = warn_of_equal_ratings(trial["n_off_mode"], trial["n_units"]) if "n_off_mode" in trial else ""
    return found and f"{found} The planned widths are too small then, and so are the numbers of candidates."


def _compute_hits_per_item(passages: list[list[int]], hit_size: int) -> float:
    """Return the HITs that an item takes.

    A HIT holds candidates of one passage, so short passages make HITs that are not full.
    """
    n_items = sum(size * n for size, n in passages)
    return sum(ceil(size / hit_size) * n for size, n in passages) / n_items if n_items else 1.0


def plan_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the planned widths of alpha's interval, and how items are spread over passages."""
    scope = read_scope(project, settings)
    if not scope.criterion.has_one_scale:
        return {"refusal": explain_several_scales(scope.criterion)}
    frame = fetch_judgments(scope)
    plan = plan_alpha(
        frame,
        level=Level(settings["level"]),
        judgments=settings["judgments"],
        units=UNITS,
        rng=np.random.default_rng(SEED),
        confidence=CONFIDENCE,
        by_group=does_share_passages(frame) if settings["by_passage"] is None else settings["by_passage"],
    )
    # Only how many passages have how many items is kept: the cost does not depend on which.
    sizes = Counter(frame.drop_duplicates(UNIT)[GROUP].value_counts().tolist())
    return {
        "plan": plan,
        "has_simulated": has_simulated(project, frame),
        "passages": sorted(sizes.items()),
        "entering": count_inclusion(scope).as_dict(),
    }
