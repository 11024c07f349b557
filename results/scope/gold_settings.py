"""What a judgment set and a study are both asked: which judgments, and how these become gold scores."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from annotate.frames.rating_patterns import (
    BREAKDOWNS,
)
from annotate.frames.stages import Stage
from measures.gold_rules import GoldRule

MOST_RESAMPLES = 20_000
CRITERION = "criterion"
PARTS = (*BREAKDOWNS, CRITERION)
"""What agreement can be split by."""
SEED = 1000
RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class GoldSettings:
    """Nothing named means everything; stored as JSON.

    Under the rule z no adjudicated score wins: nobody's mean and deviation say where it would lie.
    """

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
        made: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()
        }
        return cls(**{**made, "stage": Stage(made["stage"]), "gold": GoldRule(made["gold"])})

    @property
    def does_adjudication_win(self) -> bool:
        return self.adjudication_wins and self.gold is not GoldRule.Z
