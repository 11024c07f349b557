"""Cross-encoders with one output: SAS, and models that read an answer with the passage or the question."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from measures.metrics.metric import Answers, setting
from measures.metrics.registry import register
from measures.neural.encoding import Runner
from measures.neural.folders import Kind, ModelFolder
from measures.neural.learned import LearnedMetric, ModelSession
from measures.neural.loading import load_cross
from measures.patterns import Floats

ACTIVATIONS = {
    "folder": "as the model's files say, or else the sigmoid",
    "sigmoid": "the sigmoid, from 0 to 1",
    "identity": "none: the output itself",
}
Pairs = list[tuple[str, str]]


def name_orders(other: str) -> dict[str, str]:
    """Return the orders in which a model can read an answer and the other text, which this names."""
    return {
        "ab": f"the answer, then the {other}",
        "ba": f"the {other}, then the answer",
        "mean": f"the mean of both orders of answer and {other}",
    }


REFERENCE_ORDERS, PASSAGE_ORDERS, QUESTION_ORDERS = map(name_orders, ("reference", "passage", "question"))


@dataclass(frozen=True, kw_only=True)
class CrossEncoder(LearnedMetric):
    """The output of a model that reads two texts together; a model with more than one output is refused.

    Both texts are stripped, and the longer one is cut until both fit.
    """

    order: str = setting("ab", "which text comes first", choices=REFERENCE_ORDERS)
    activation: str = setting("folder", "function of the output", choices=ACTIVATIONS)

    kinds: ClassVar[tuple[Kind, ...]] = ("cross",)

    def pair(self, answers: Answers) -> list[Pairs]:
        """Return for each answer the pairs of it and another text, the best of which counts."""
        return [
            [(candidate, reference) for reference in dict.fromkeys(references)]
            for candidate, references in zip(answers.candidates, answers.references, strict=True)
        ]

    def open(self, folder: ModelFolder) -> ModelSession:
        return _CrossEncoderSession(self, folder)

    @property
    def variant(self) -> str:
        return f"{REFERENCE_ORDERS[self.order]}, best reference"


@dataclass(frozen=True, kw_only=True)
class Sas(CrossEncoder):
    """Semantic answer similarity: the output of a cross-encoder for an answer and its best reference.

    References
    ----------
    J. Risch et al. (2021), Semantic Answer Similarity for Evaluating Question Answering Models, MRQA.
    """


@dataclass(frozen=True, kw_only=True)
class PassageCrossEncoder(CrossEncoder):
    """The output of a cross-encoder for a passage and an answer, such as a model of entailment or faithfulness."""

    order: str = setting("ba", "which text comes first", choices=PASSAGE_ORDERS)

    needs: ClassVar[tuple[str, ...]] = ("passages",)

    def pair(self, answers: Answers) -> list[Pairs]:
        return [[pair] for pair in zip(answers.candidates, answers.passages, strict=True)]

    @property
    def variant(self) -> str:
        return PASSAGE_ORDERS[self.order]


@dataclass(frozen=True, kw_only=True)
class QuestionCrossEncoder(CrossEncoder):
    """The output of a cross-encoder for a question and an answer, such as a model of relevance."""

    order: str = setting("ba", "which text comes first", choices=QUESTION_ORDERS)

    needs: ClassVar[tuple[str, ...]] = ("questions",)

    def pair(self, answers: Answers) -> list[Pairs]:
        return [[pair] for pair in zip(answers.candidates, answers.questions, strict=True)]

    @property
    def variant(self) -> str:
        return QUESTION_ORDERS[self.order]


class _CrossEncoderSession(ModelSession):
    def __init__(self, metric: CrossEncoder, folder: ModelFolder) -> None:
        super().__init__(folder)
        self.metric = metric
        self.runner = Runner(load_cross(folder), limit=folder.length)
        self.activation = (folder.activation or "sigmoid") if metric.activation == "folder" else metric.activation

    def identify(self) -> dict[str, str]:
        return {"activation": self.activation}

    def score_each(self, answers: Answers) -> Floats:
        pairs = self.metric.pair(answers)
        distinct = list(dict.fromkeys((first.strip(), second.strip()) for row in pairs for first, second in row))
        # The two orders are averaged after the activation.
        orders = [
            self._compute(distinct) if order == "ab" else self._compute([(second, first) for first, second in distinct])
            for order in (("ab", "ba") if self.metric.order == "mean" else (self.metric.order,))
        ]
        scores = dict(zip(distinct, np.mean(orders, axis=0).tolist(), strict=True))
        return np.array([max(scores[first.strip(), second.strip()] for first, second in row) for row in pairs])

    def _compute(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        rows = self.runner.tokenise([first for first, _ in pairs], [second for _, second in pairs])
        found = np.zeros(len(rows))
        for batch in self.runner.run(rows):
            found[batch.rows] = batch.output.logits[:, 0].double().cpu().numpy()
        return 1 / (1 + np.exp(-found)) if self.activation == "sigmoid" else found


register("sas", "SAS", Sas, family="Learned")
register("passage_cross_encoder", "Cross-encoder with the passage", PassageCrossEncoder, family="Learned")
register("question_cross_encoder", "Cross-encoder with the question", QuestionCrossEncoder, family="Learned")
