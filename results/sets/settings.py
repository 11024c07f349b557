"""The settings of a judgment set: which judgments, texts and evaluations it holds, and how scores are computed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from annotate.frames.stages import Stage
from measures.bootstrap import JACKKNIFE, PERCENTILE
from measures.gold_rules import GoldRule
from results.scope.gold_settings import SEED, GoldSettings


@dataclass(frozen=True, kw_only=True)
class Settings(GoldSettings):
    """Which judgments, texts and rules. `batches` are numbers; batches that are named count whatever their stage."""

    criteria: tuple[str, ...] = ()
    batches: tuple[int, ...] = ()
    with_texts: bool = True
    with_comments: bool = False
    with_surveys: bool = False
    """Answers to the questions of surveys that may be published, of annotators who allowed it."""
    seed: int = SEED
    studies: tuple[int, ...] = ()
    """Numbers of metric evaluations; none by default."""
    intervals: str = JACKKNIFE
    """The method of intervals. Seed and number of resamples belong to the percentile bootstrap alone."""
    authors: tuple[str, ...] = ()
    """Who is cited, as `citing.parse_author` reads them; by default the project."""
    licence: str = ""
    """One of `licences.LICENCES`; by default none is stated."""
    languages: tuple[str, ...] = ()
    """Codes of the languages of the texts."""

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        # Sets of earlier versions name no method, and have bootstrap intervals.
        return super().from_dict({"intervals": PERCENTILE, **stored})

    def as_dict(self) -> dict[str, Any]:
        # Left out where it is off, as in sets of earlier versions, so that the same judgments give the same bytes.
        stored = super().as_dict()
        return stored if self.with_surveys else {name: stored[name] for name in stored if name != "with_surveys"}

    def list_choices(self) -> list[tuple[str, str]]:
        """Return the name and value of each choice as README.md and changes.json write them."""
        selections = {
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
                for name, (values, every) in selections.items()
            ),
            ("By people who saw the sources", "left out" if self.is_blind_only else "taken in"),
            ("Texts", "yes" if self.with_texts else "no"),
            ("Annotators' comments", "yes" if self.with_comments else "no"),
            *([("Answers to surveys", "yes")] if self.with_surveys else []),
            ("Gold score", self.gold_in_words),
            ("Studies", ", ".join(map(str, self.studies)) or "none"),
            (
                "Intervals",
                "jackknife with Student's t"
                if self.intervals == JACKKNIFE
                else f"{self.n_resamples:,} resamples, seed {self.seed}",
            ),
            ("Authors", "; ".join(self.authors) or "not named"),
            ("Licence", self.licence or "not stated"),
            ("Languages", ", ".join(self.languages) or "not stated"),
        ]

    @property
    def gold_in_words(self) -> str:
        """The gold rule as the files of a set describe it."""
        rule = {
            GoldRule.MEAN: "the mean of the judgments, unrounded",
            GoldRule.MEDIAN: "the median of the judgments",
            GoldRule.Z: "the mean of z-scores, each annotator's own mean and deviation taken out"
            + ("; controls enter these two" if self.controls_in_z else "; controls do not enter these two"),
        }[self.gold]
        return f"{rule}; a score that was settled on wins" if self.does_adjudication_win else rule


def reword_choice(name: str, value: str) -> tuple[str, str]:
    """Return a choice as pages show it, given as `Settings.list_choices` or a stored changes.json has it."""
    for written, shown in _VALUES:
        value = value.replace(written, shown)
    return _NAMES.get(name, name), value


# Files of sets keep the words of their first version, so that the same judgments give the same bytes in every version,
# and changes between an old and a new set list nothing but changes. Pages say it in today's words.
_NAMES = {
    "By people who saw the sources": "Judgments by people who can see the sources",
    "Studies": "Metric evaluations",
    "Intervals": "Confidence intervals",
}
_VALUES = (
    ("all that were asked", "all"),
    ("all of the full collection", "full collection"),
    ("all, trials that are kept apart too", "full collection and trials"),
    ("the trials that are kept apart", "trials"),
    ("none named", "unspecified"),
    ("left out", "excluded"),
    ("taken in", "included"),
    ("the mean of the judgments, unrounded", "mean of the judgments"),
    ("the median of the judgments", "median of the judgments"),
    ("the mean of z-scores, each annotator's own mean and deviation taken out", "mean of z scores"),
    ("; controls enter these two", ", control ratings included"),
    ("; controls do not enter these two", ", control ratings excluded"),
    ("; a score that was settled on wins", "; adjudicated scores replace it"),
)

STAGES = {
    Stage.FULL: "all of the full collection",
    Stage.TRIAL: "the trials that are kept apart",
    Stage.ALL: "all, trials that are kept apart too",
}
