"""What a study is asked: which gold scores, which metrics, which answers; stored with what came of it."""

from dataclasses import dataclass, field
from typing import Any

from annotate.frames.stages import Stage, default_stage
from annotate.reviews.adjudication import read_gold_rule
from measures.gold_rules import GoldRule
from projects.models import Project
from results.scope.gold_settings import GoldSettings


@dataclass(frozen=True, kw_only=True)
class Settings(GoldSettings):
    """Which answers, which metrics. `metrics` are subjects of runs; `options` are what the kind of study asks for."""

    criterion: str
    metrics: tuple[str, ...]
    batch: int | None = None
    question_types: tuple[str, ...] = ()
    least_judgments: int = 1
    as_zero: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def gold_in_words(self) -> str:
        rule = {
            GoldRule.MEAN: "mean of the judgments",
            GoldRule.MEDIAN: "median of the judgments",
            GoldRule.Z: "mean of z scores",
        }[self.gold]
        return f"{rule}; a score that was settled on wins" if self.does_adjudication_win else rule

    def chosen(self) -> list[tuple[str, str]]:
        """Which answers and gold scores, in words; the metrics and the kind's own options are said elsewhere."""
        places = (
            ("Datasets", self.datasets),
            ("Splits", self.splits),
            ("Sources", self.sources),
            ("Question types", self.question_types),
        )
        judgments = f"batch {self.batch}" if self.batch else STAGES[self.stage]
        return [
            ("Judgments", judgments),
            *((name, ", ".join(each or "none named" for each in values)) for name, values in places if values),
            *([("By people who saw the sources", "left out")] if self.is_blind_only else []),
            ("Gold score", self.gold_in_words),
            ("Judgments of an answer, at least", str(self.least_judgments)),
            ("Missing scores of metrics", "count as zero" if self.as_zero else "left out"),
        ]


def default_settings(project: Project) -> dict[str, Any]:
    """What a study of the project rests on where nothing is said: its stage, and gold scores by its rule."""
    gold = read_gold_rule(project)
    return {
        "stage": default_stage(project),
        "gold": gold.rule,
        "controls_in_z": gold.with_controls,
        "adjudication_wins": gold.adjudication_wins,
    }


STAGES = {
    Stage.FULL: "full collection",
    Stage.TRIAL: "trial",
    Stage.ALL: "full collection and trial",
}
