"""The settings of a metric evaluation: which gold scores, metrics and candidates; stored with its result."""

from dataclasses import dataclass, field
from typing import Any

from annotate.frames.stages import Stage, default_stage
from annotate.reviews.adjudication import read_gold_rule
from measures.ceiling import Design
from measures.gold_rules import GoldRule
from projects.models import Project
from results.scope.gold_settings import GoldSettings
from results.scope.human_sources import APART, IN, LEAVE_OUT

_HUMANS = {LEAVE_OUT: "left out", APART: "apart", IN: "count as systems"}


@dataclass(frozen=True, kw_only=True)
class Settings(GoldSettings):
    """Which candidates and metrics. `metrics` are subjects of runs; `options` are the settings of the kind alone."""

    criterion: str
    metrics: tuple[str, ...]
    batch: int | None = None
    question_types: tuple[str, ...] = ()
    least_judgments: int = 1
    as_zero: bool = False
    design: str = Design.ONE_WAY.value
    """Which raters judged which candidates, for the ceiling."""
    humans: str = ""
    """What is done with human sources; empty where there are none, and in evaluations of earlier versions."""
    human_sources: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def gold_in_words(self) -> str:
        """The gold rule in words."""
        rule = {
            GoldRule.MEAN: "mean of the judgments",
            GoldRule.MEDIAN: "median of the judgments",
            GoldRule.Z: "mean of z scores",
        }[self.gold]
        return f"{rule}; adjudicated scores replace it" if self.does_adjudication_win else rule

    def list_choices(self) -> list[tuple[str, str]]:
        """Return names and values of the candidates and gold scores, without metrics and the options of the kind."""
        facets = (
            ("Datasets", self.datasets),
            ("Splits", self.splits),
            ("Sources", self.sources),
            ("Question types", self.question_types),
        )
        judgments = f"batch {self.batch}" if self.batch else STAGES[self.stage]
        return [
            ("Judgments", judgments),
            *((name, ", ".join(each or "unspecified" for each in values)) for name, values in facets if values),
            *([("Blind judgments only", "yes")] if self.is_blind_only else []),
            ("Gold score", self.gold_in_words),
            ("Minimum judgments per candidate", str(self.least_judgments)),
            ("Missing metric scores", "count as zero" if self.as_zero else "excluded"),
            *([("Raters, for the ceiling", DESIGNS[self.design])] if self.design != Design.ONE_WAY else []),
            *([("Human sources", f"{', '.join(self.human_sources)}: {_HUMANS[self.humans]}")] if self.humans else []),
        ]


def default_settings(project: Project) -> dict[str, Any]:
    """Return an evaluation's settings where nothing is chosen: the project's stage and its gold rule."""
    gold = read_gold_rule(project)
    return {
        "stage": default_stage(project),
        "gold": gold.rule,
        "controls_in_z": gold.with_controls,
        "adjudication_wins": gold.adjudication_wins,
    }


DESIGNS: dict[str, str] = {
    Design.ONE_WAY.value: "differ between candidates",
    Design.CROSSED.value: "the same for all candidates",
    Design.AUTO.value: "detect",
}
STAGES = {
    Stage.FULL: "full collection",
    Stage.TRIAL: "trial",
    Stage.ALL: "full collection and trial",
}
