"""GLEU: matching n-grams over those of the longer of the two texts, of answers and of corpora."""

from dataclasses import dataclass

import numpy as np

from measures.metrics.counting import flatten, tokenise
from measures.metrics.lexical import LexicalMetric
from measures.metrics.matches import ratio
from measures.metrics.metric import Answers, setting
from measures.metrics.registry import register
from measures.patterns import Floats


@dataclass(frozen=True, kw_only=True)
class Gleu(LexicalMetric):
    """GLEU: the n-grams of all orders that answer and reference share, over the number of the longer text's n-grams.

    That is the smaller of precision and recall. Of several references the one with the highest score counts, the first
    of equal ones. For a corpus, the matches and the n-grams of each answer and its best reference are summed before
    they are divided.

    References
    ----------
    Y. Wu et al. (2016), Google's Neural Machine Translation System: Bridging the Gap between Human and Machine
    Translation, arXiv:1609.08144, section 5.2.
    """

    order: int = setting(4, "length of the longest n-grams", low=1, high=4)

    @property
    def variant(self) -> str:
        return f"up to {self.order}-grams, best reference"

    def count(self, answers: Answers) -> Floats:
        """Return the matches with the best reference and the n-grams of the longer text, (n, 2)."""
        rows, flat = flatten(answers.references)
        texts = tokenise(self.split, answers.candidates, flat)
        candidates, references = texts.of(answers.candidates)[rows], texts.of(flat)
        hits, most = np.zeros(len(rows)), np.zeros((2, len(rows)))
        for bags in texts.bags(self.order):
            hits += bags.shared(candidates, references)
            most += bags.totals[candidates], bags.totals[references]
        longer = most.max(axis=0)
        # By answer, then by falling score; the sort is stable, so that of equal references the first is first.
        best_first = np.lexsort((-ratio(hits, longer), rows))
        _, first = np.unique(rows[best_first], return_index=True)
        best = best_first[first]
        return np.column_stack([hits[best], longer[best]])

    def combine(self, sums: Floats) -> Floats:
        return ratio(sums[..., 0], sums[..., 1])


register("gleu", "GLEU", Gleu, family="Generated questions")
