"""The base of learned metrics: a model of the registry, loaded while columns are scored."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from measures.metrics.metric import Answers, MeanMetric, setting
from measures.neural.environment import describe_device
from measures.neural.folders import Kind, ModelFolder
from measures.neural.installed import explain_missing, find_model
from measures.patterns import Floats

INFINITE = float("inf")


class ModelSession(ABC):
    """A loaded model, and what a metric keeps while it scores."""

    def __init__(self, folder: ModelFolder) -> None:
        self.folder = folder

    @abstractmethod
    def score_each(self, answers: Answers) -> Floats:
        """Return the score of each answer, shape (n,)."""

    def explain_refusals(self, answers: Answers) -> Sequence[str]:
        """Return for each answer why the model cannot score it, as a clause; empty if it can."""
        return [""] * len(answers)

    def identify(self) -> Mapping[str, str]:
        """Return how the model is used, such as its layer, by name."""
        return {}


@dataclass(frozen=True, kw_only=True)
class LearnedMetric(MeanMetric):
    """A metric computed by a model; the hash of the model and the device that computes are stored with each run.

    It refuses an answer if no reference has a word. An empty answer is scored.
    """

    model: str = setting("", "name of the model")

    kinds: ClassVar[tuple[Kind, ...]] = ("encoder",)
    """What the model may be."""
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers")
    low: ClassVar[float] = -INFINITE
    high: ClassVar[float] = INFINITE
    batch_size: ClassVar[int] = 32
    session: ClassVar[Any] = None
    """What is loaded, while columns are scored."""

    @abstractmethod
    def open(self, folder: ModelFolder) -> ModelSession:
        """Load the model."""

    @property
    def tokenisation(self) -> str:
        return "that of the model"

    def lacks(self) -> str:
        return explain_missing(self.model, *self.kinds)

    @contextmanager
    def ready(self) -> Iterator[None]:
        session = self.open(find_model(self.model, *self.kinds))
        object.__setattr__(self, "session", session)
        try:
            yield
        finally:
            object.__delattr__(self, "session")

    def identify(self) -> Mapping[str, str]:
        assert self.session is not None, "identify() must be called within ready()"
        named = {"sha256": self.session.folder.short_digest, "device": describe_device()}
        return {**named, **self.session.identify()}

    def refuse(self, answers: Answers) -> list[str]:
        reasons = super().refuse(answers)
        if "references" in self.needs:
            for row, reason in enumerate(reasons):
                if not reason and not any(map(str.strip, answers.references[row])):
                    reasons[row] = "no reference has a word"
        if self.session is not None:
            rows = [row for row, reason in enumerate(reasons) if not reason]
            for row, reason in zip(rows, self.session.explain_refusals(answers.only(rows)), strict=True):
                reasons[row] = reason
        return reasons

    def score_each(self, answers: Answers) -> Floats:
        assert self.session is not None, "score_each() must be called within ready()"
        return self.session.score_each(answers)
