"""A module of metrics from outside the package, as METRIC_MODULES would name it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from measures.metrics import Answers, MeanMetric, Metric, register, setting
from measures.patterns import Floats

HAPPENED: list[str] = []
"""What a metric with a model goes through, in order."""


@dataclass(frozen=True, kw_only=True)
class Likeness(MeanMetric):
    """A metric as a neural one would be: got ready once, then batch by batch."""

    batch_size: ClassVar[int] = 2
    packages: ClassVar[tuple[str, ...]] = ("numpy",)

    power: int = setting(1, "to what power", low=1, high=3)

    @contextmanager
    def ready(self) -> Iterator[None]:
        HAPPENED.append("opened")
        try:
            yield
        finally:
            HAPPENED.append("closed")

    def score_each(self, answers: Answers) -> Floats:
        HAPPENED.append(f"batch of {len(answers)}")
        return np.array(
            [len(text) ** self.power if text != "not a number" else float("nan") for text in answers.candidates],
            dtype=np.float64,
        )

    def notes(self, counts: Floats) -> Mapping[str, int]:
        return {"finite scores": int(np.isfinite(counts[:, 0]).sum())}


@dataclass(frozen=True, kw_only=True)
class Ratio(Metric):
    """Letters of all passages for each letter of all answers: not the mean over answers."""

    needs: ClassVar[tuple[str, ...]] = ("references", "passages")
    high: ClassVar[float] = float("inf")

    def count(self, answers: Answers) -> Floats:
        lengths = zip(answers.passages, answers.candidates, strict=True)
        return np.array([[len(passage), len(text)] for passage, text in lengths], dtype=np.float64)

    def combine(self, sums: Floats) -> Floats:
        return sums[..., 0] / sums[..., 1]


@dataclass(frozen=True, kw_only=True)
class Absent(MeanMetric):
    """Lacks what no machine has."""

    def lacks(self) -> str:
        return "a file named unobtainium.bin"

    def score_each(self, answers: Answers) -> Floats:
        raise AssertionError


register("likeness", "Likeness", Likeness, family="From outside")
register("ratio", "Ratio", Ratio, family="From outside")
register("absent", "Absent", Absent, family="From outside")
