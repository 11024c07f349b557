"""Settings that judgment sets and metric evaluations share: which judgments, and how they become gold scores."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from annotate.frames.rating_patterns import BREAKDOWNS
from annotate.frames.stages import Stage
from measures.gold_rules import GoldRule

MOST_RESAMPLES = 20_000
CRITERION = "criterion"
PARTS = (*BREAKDOWNS, CRITERION)
"""What agreement can be broken down by."""
# Default settings of every interval. A fixed seed makes a page show the same interval each time it is computed;
# percentile intervals want a thousand resamples or more.
SEED = 1000
RESAMPLES = 1000
CONFIDENCE = 0.95
LARGEST_SEED = 2**31 - 1
"""The greatest integer of the database."""
SIGNIFICANCE_LEVEL = 0.05
"""Of every test, as 1 - CONFIDENCE is of every interval."""
ITEMS, PASSAGES = "items", "passages"
"""The units of an interval: what is left out, or resampled, as a whole."""


@dataclass(frozen=True, kw_only=True)
class GoldSettings:
    """Which judgments, and the gold rule; an empty tuple means all. Stored as JSON."""

    stage: Stage = Stage.FULL
    is_blind_only: bool = False
    datasets: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    gold: GoldRule = GoldRule.MEAN
    controls_in_z: bool = True
    adjudication_wins: bool = False
    n_resamples: int = RESAMPLES

    def as_dict(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()
        }
        return cls(**{**values, "stage": Stage(values["stage"]), "gold": GoldRule(values["gold"])})

    @property
    def does_adjudication_win(self) -> bool:
        # An adjudicated score lies on the scale and belongs to no annotator, so no mean and deviation would turn it
        # into a z score.
        return self.adjudication_wins and self.gold is not GoldRule.Z
