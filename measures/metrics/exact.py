"""Exact match: whether an answer is one of the references, word for word."""

from dataclasses import dataclass

import numpy as np

from measures.metrics.metric import Answers, MeanMetric, setting
from measures.metrics.registry import register
from measures.metrics.tokenising import TOKENISERS
from measures.patterns import Floats


@dataclass(frozen=True, kw_only=True)
class ExactMatch(MeanMetric):
    """1 where the words of an answer are those of any reference, else 0.

    References
    ----------
    P. Rajpurkar et al. (2016), SQuAD: 100,000+ Questions for Machine Comprehension of Text, EMNLP, section 6.1.
    """

    tokeniser: str = setting("squad", "how texts become words", choices=TOKENISERS)

    def score_each(self, answers: Answers) -> Floats:
        words = TOKENISERS[self.tokeniser]
        return np.array(
            [
                float(any(words(text) == words(reference) for reference in references))
                for text, references in zip(answers.candidates, answers.references, strict=True)
            ]
        )


register("exact_match", "Exact match", ExactMatch)
