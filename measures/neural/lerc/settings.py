"""The settings of a training, and what a training finds."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from measures.neural.lerc.inputs import SEGMENTS, choose_inputs
from measures.patterns import Floats

RATES = (1e-5, 2e-5, 3e-5)
SEEDS = (1, 2, 3)
"""The learning rates of MOCHA (Chen et al., 2020), and as many runs of each as it takes the mean of."""
MOST_RUNS = 100
"""Each may take hours."""
MOST_TOKENS = 512
"""The longest input of BERT."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How LERC is trained.

    Attributes
    ----------
    inputs : tuple of str
        The segments of the input; fewer for ablations.
    rates : tuple of float
        Learning rates to choose from.
    seeds : tuple of int
        Each rate is trained once with each.
    epochs, batch_size, max_length : int
        Passes over the rows, rows in a step, tokens of an input.
    weight_decay, warm_up : float
        Weight decay of AdamW; the share of steps in which the rate rises, before it falls to 0.
    augments : bool
        Whether rows are added as the released code of MOCHA does.
    """

    inputs: tuple[str, ...] = SEGMENTS
    rates: tuple[float, ...] = RATES
    seeds: tuple[int, ...] = SEEDS
    epochs: int = 3
    batch_size: int = 32
    max_length: int = 256
    weight_decay: float = 0.01
    warm_up: float = 0.1
    augments: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", choose_inputs(self.inputs))
        # Ascending, so that of two rates that are equally good the smaller is found first.
        object.__setattr__(self, "rates", tuple(sorted(set(map(float, self.rates)))))
        object.__setattr__(self, "seeds", tuple(dict.fromkeys(map(int, self.seeds))))
        _check(bool(self.rates) and all(0 < rate < 1 for rate in self.rates), "Learning rates must be between 0 and 1.")
        _check(bool(self.seeds) and all(0 <= seed < 2**31 for seed in self.seeds), "Seeds must be 0 or more.")
        _check(len(self.rates) * len(self.seeds) <= MOST_RUNS, f"That is more than {MOST_RUNS} runs.")
        _check(1 <= self.epochs <= 100, "The number of epochs must be from 1 to 100.")
        _check(1 <= self.batch_size <= 256, "The batch size must be from 1 to 256.")
        _check(8 <= self.max_length <= MOST_TOKENS, f"The length must be from 8 to {MOST_TOKENS} tokens.")
        _check(0 <= self.weight_decay < 1 and 0 <= self.warm_up < 1, "Decay and warm-up must be from 0 to below 1.")

    @property
    def n_runs(self) -> int:
        return len(self.rates) * len(self.seeds)

    def as_dict(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Settings":
        """Return settings as `as_dict` wrote them; what is missing has its default."""
        known = {name: stored[name] for name in cls.__dataclass_fields__ if name in stored}
        given: dict[str, Any] = {k: tuple(value) if isinstance(value, list) else value for k, value in known.items()}
        return cls(**given)


@dataclass
class Run:
    """One training with one rate and seed, epoch by epoch.

    Attributes
    ----------
    rate : float
        The learning rate.
    seed : int
        Of the linear layer, the order of the rows, and dropout.
    losses : list of float
        The mean loss over each epoch.
    scores : list of float or None
        The figure on dev after each epoch: Pearson's correlation, or accuracy; None where undefined.
    best : int
        The epoch whose weights count, from 0: the first with the highest figure.
    """

    rate: float
    seed: int
    losses: list[float] = field(default_factory=list)
    scores: list[float | None] = field(default_factory=list)
    best: int = 0

    @property
    def score(self) -> float | None:
        return self.scores[self.best] if self.scores else None


@dataclass(frozen=True)
class TrainingResult:
    """What a training found.

    Attributes
    ----------
    runs : sequence of Run
        Every rate with every seed.
    rate : float
        That with the highest mean figure on dev over the seeds; of equal ones the smaller.
    seed : int
        Of this rate the seed with the highest figure on dev, whose weights the model has.
    predictions : mapping of int to mapping of str to ndarray
        For each seed of the chosen rate its predictions for `dev` and `test`, in the order of their rows.
    """

    runs: Sequence[Run]
    rate: float
    seed: int
    predictions: Mapping[int, Mapping[str, Floats]]


def choose_rate(runs: Sequence[Run]) -> float:
    """Return the rate with the highest mean figure on dev; of equal ones the smaller.

    Examples
    --------
    >>> choose_rate([Run(2e-5, 1, scores=[0.5]), Run(1e-5, 1, scores=[0.5]), Run(3e-5, 1, scores=[None])])
    1e-05
    """
    means = {rate: _mean([run.score for run in runs if run.rate == rate]) for rate in sorted({r.rate for r in runs})}
    return max(means, key=lambda rate: means[rate])


def choose_seed(runs: Sequence[Run], rate: float) -> int:
    """Return the seed of this rate with the highest figure on dev; of equal ones the first."""
    own = [run for run in runs if run.rate == rate]
    return max(own, key=lambda run: _rank(run.score)).seed


def _mean(scores: Sequence[float | None]) -> float:
    return sum(map(_rank, scores)) / len(scores)


def _rank(score: float | None) -> float:
    # Below every correlation and every accuracy.
    return -2.0 if score is None else score


def _check(is_right: bool, sentence: str) -> None:
    if not is_right:
        raise ValueError(sentence)
