"""The settings of a judgment set: which judgments, texts and evaluations it holds, and how scores are computed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from annotate.frames.stages import Stage
from measures.bootstrap import JACKKNIFE, PERCENTILE
from measures.gold_rules import GoldRule
from results.scope.gold_settings import SEED, GoldSettings

CRITERIA = "Criteria"


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

    def list_choices(self, criteria: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
        """Return the name and value of each choice as pages, README.md and changes.json have them.

        Pages give the names of criteria by key; files have the keys, as in their columns.
        """
        names = criteria or {}
        selections = {
            CRITERIA: [names.get(key, key) for key in self.criteria],
            "Datasets": self.datasets,
            "Splits": self.splits,
            "Sources": self.sources,
        }
        batches = ", ".join(str(number) for number in self.batches)
        return [
            ("Batches", batches or STAGES[self.stage]),
            *(
                (name, ", ".join(each or "unspecified" for each in values) or "all")
                for name, values in selections.items()
            ),
            ("Judgments by people who can see the sources", "excluded" if self.is_blind_only else "included"),
            ("Texts", "yes" if self.with_texts else "no"),
            ("Annotators' comments", "yes" if self.with_comments else "no"),
            *([("Answers to surveys", "yes")] if self.with_surveys else []),
            ("Gold score", self.gold_in_words),
            ("Metric evaluations", ", ".join(map(str, self.studies)) or "none"),
            (
                "Confidence intervals",
                "jackknife with Student's t"
                if self.intervals == JACKKNIFE
                else f"percentile bootstrap, {self.n_resamples:,} resamples, seed {self.seed}",
            ),
            ("Authors", "; ".join(each.strip("{}") for each in self.authors) or "not named"),
            ("Licence", self.licence or "not stated"),
            ("Languages", ", ".join(self.languages) or "not stated"),
        ]

    @property
    def gold_in_words(self) -> str:
        """The gold rule in words."""
        rule = {
            GoldRule.MEAN: "mean of the judgments",
            GoldRule.MEDIAN: "median of the judgments",
            GoldRule.Z: f"mean of z scores, control ratings {'included' if self.controls_in_z else 'excluded'}",
        }[self.gold]
        if self.does_adjudication_win:
            return f"{rule}; adjudicated scores replace it"
        # Where they would take precedence, a reader of the set sees them and has to know that they do not.
        return f"{rule}; adjudicated scores have no z score and are not used" if self.adjudication_wins else rule


def reword_choice(name: str, value: str) -> tuple[str, str]:
    """Return a choice in today's words; the changes that are stored with older sets have others."""
    for before, after in _OLDER_VALUES:
        value = value.replace(before, after)
    return _OLDER_NAMES.get(name, name), value


_OLDER_NAMES = {
    "By people who saw the sources": "Judgments by people who can see the sources",
    "Studies": "Metric evaluations",
    "Intervals": "Confidence intervals",
}
_OLDER_VALUES = (
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
    Stage.FULL: "full collection",
    Stage.TRIAL: "trials",
    Stage.ALL: "full collection and trials",
}
