"""ROUGE-N and ROUGE-SU4: the n-grams or skip-bigrams that an answer shares with its references."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from measures.metrics.counting import Bags, Tokenised, flatten, tokenise
from measures.metrics.matches import Matches, f_measure
from measures.metrics.metric import Answers, MeanMetric, setting
from measures.metrics.registry import register
from measures.metrics.stemming import StemmingMetric
from measures.metrics.tokenising import MEANINGS
from measures.patterns import Floats

POLICIES = {
    "max": "the best reference",
    "pooled": "all references as one bag, which can reward repetition",
    "per_reference": "matches and lengths summed over references, as in ROUGE-1.5.5",
}
_POLICIES_IN_SHORT = {
    "max": "best reference",
    "pooled": "references pooled",
    "per_reference": "summed over references",
}
MEASURES = {
    "f1": "harmonic mean of precision and recall",
    "recall": "share of the reference that is in the answer",
    "precision": "share of the answer that is in the reference",
}
UNIGRAMS = {"all": "all words", "rouge155": "all words but the last, as in ROUGE-1.5.5"}
MAX_GAP = 4
"""The 4 of ROUGE-SU4: the most words between the two words of a skip-bigram."""


@dataclass(frozen=True, kw_only=True)
class Rouge(StemmingMetric, MeanMetric):
    """The n-grams or skip-bigrams (units) that an answer shares with its references.

    With H the bag of units of the answer and R_1 to R_K those of its references: `max` is the best score with a single
    reference; `pooled` compares with the sum of the bags, with recall |H ∩ ΣR_k| / |ΣR_k|, which rewards an answer that
    repeats what two references say; `per_reference` divides Σ|H ∩ R_k| by Σ|R_k| for recall and by K|H| for precision,
    as ROUGE-1.5.5 does. The score of a text too short to have a unit is 0.

    References
    ----------
    C.-Y. Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries, ACL workshop Text Summarization
    Branches Out. H. Daumé III (2008), a post on ROUGE and redundancy, for `pooled`.
    """

    tokeniser: str = setting("alnum", "how texts are split into words", choices=MEANINGS)
    policy: str = setting("max", "how several references are combined", choices=POLICIES)
    measure: str = setting("f1", "which measure is the score", choices=MEASURES)

    @property
    def variant(self) -> str:
        return f"{self.measure}, {_POLICIES_IN_SHORT[self.policy]}"

    @abstractmethod
    def bags(self, texts: Tokenised) -> Bags:
        """Return the units of each text with their counts."""

    def score_each(self, answers: Answers) -> Floats:
        matches = self.matches(answers)
        if self.policy == "per_reference":
            matches = matches.summed()
        if self.measure == "recall":
            return matches.best(matches.recall)
        if self.measure == "precision":
            return matches.best(matches.precision)
        return matches.best(f_measure(matches.precision, matches.recall))

    def matches(self, answers: Answers) -> Matches:
        """Return the units in common with each reference, or with all references pooled."""
        rows, flat = flatten(answers.references)
        texts = tokenise(self.split, answers.candidates, flat)
        candidates, references = texts.of(answers.candidates), texts.of(flat)
        bags = self.bags(texts)
        if self.policy == "pooled":
            n_common = bags.clipped(candidates, rows, references, over=np.add)
            n_reference = np.bincount(rows, bags.totals[references], len(answers))
            answer = np.arange(len(answers))
        else:
            n_common, n_reference, answer = bags.shared(candidates[rows], references), bags.totals[references], rows
        return Matches(
            n_common=n_common.astype(np.float64),
            n_candidate=bags.totals[candidates[answer]].astype(np.float64),
            n_reference=n_reference.astype(np.float64),
            answer=answer,
        )


@dataclass(frozen=True, kw_only=True)
class RougeN(Rouge):
    """ROUGE-N, of n-grams.

    References
    ----------
    C.-Y. Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries, section 2.
    """

    n: int = setting(1, "length of the n-grams", low=1, high=9)

    def bags(self, texts: Tokenised) -> Bags:
        return texts.bags(self.n)[-1]


@dataclass(frozen=True, kw_only=True)
class RougeSU4(Rouge):
    """ROUGE-SU4, of skip-bigrams (two words in order, with at most four between them) and single words.

    References
    ----------
    C.-Y. Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries, section 5.
    """

    unigrams: str = setting("all", "which single words count", choices=UNIGRAMS)

    @property
    def variant(self) -> str:
        return ", ".join([super().variant, *(["ROUGE-1.5.5's unigrams"] if self.unigrams == "rouge155" else [])])

    def bags(self, texts: Tokenised) -> Bags:
        return texts.skip_bag(MAX_GAP, has_last=self.unigrams == "all")


register("rouge_1", "ROUGE-1", RougeN, family="ROUGE", n=1)
register("rouge_2", "ROUGE-2", RougeN, family="ROUGE", n=2)
register("rouge_su4", "ROUGE-SU4", RougeSU4, family="ROUGE")
