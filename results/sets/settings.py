"""What a judgment set is to hold, and how its gold scores and intervals are made."""

from dataclasses import dataclass

from annotate.frames.stages import Stage
from measures.gold_rules import GoldRule
from results.scope.gold_settings import SEED, GoldSettings


@dataclass(frozen=True, kw_only=True)
class Settings(GoldSettings):
    """Which judgments, which texts, which rule. `batches` are numbers; those named are taken whatever their stage."""

    criteria: tuple[str, ...] = ()
    batches: tuple[int, ...] = ()
    with_texts: bool = True
    with_comments: bool = False
    seed: int = SEED
    studies: tuple[int, ...] = ()
    """By their numbers; a set holds none unless it was asked to."""

    def chosen(self) -> list[tuple[str, str]]:
        """What was chosen, in words."""
        one_of = {
            "Criteria": (self.criteria, "all that were asked"),
            "Datasets": (self.datasets, "all"),
            "Splits": (self.splits, "all"),
            "Sources": (self.sources, "all"),
        }
        batches = ", ".join(str(number) for number in self.batches)
        return [
            ("Batches", batches or STAGES[self.stage]),
            *(
                (name, ", ".join(each or "none named" for each in values) or every)
                for name, (values, every) in one_of.items()
            ),
            ("By people who saw the sources", "left out" if self.is_blind_only else "taken in"),
            ("Texts", "yes" if self.with_texts else "no"),
            ("Annotators' comments", "yes" if self.with_comments else "no"),
            ("Gold score", self.gold_in_words),
            ("Studies", ", ".join(map(str, self.studies)) or "none"),
            ("Intervals", f"{self.n_resamples:,} resamples, seed {self.seed}"),
        ]

    @property
    def gold_in_words(self) -> str:
        rule = {
            GoldRule.MEAN: "the mean of the judgments, unrounded",
            GoldRule.MEDIAN: "the median of the judgments",
            GoldRule.Z: "the mean of z-scores, each annotator's own mean and deviation taken out"
            + ("; controls enter these two" if self.controls_in_z else "; controls do not enter these two"),
        }[self.gold]
        return f"{rule}; a score that was settled on wins" if self.does_adjudication_win else rule


STAGES = {
    Stage.FULL: "all of the full collection",
    Stage.TRIAL: "the trials that are kept apart",
    Stage.ALL: "all, trials that are kept apart too",
}
