"""chrF: the character n-grams that an answer shares with a reference, with the same scores as sacrebleu."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from measures.metrics.counting import flatten, tokenise
from measures.metrics.metric import Answers, Metric
from measures.metrics.registry import register
from measures.metrics.tokenising import split_characters
from measures.patterns import Floats, Ints

if TYPE_CHECKING:
    from sacrebleu.metrics.chrf import CHRF


@dataclass(frozen=True, kw_only=True)
class Chrf(Metric):
    """The F score of n-grams of one to six characters, without white space, with the best reference.

    Precision and recall are averaged over the orders that both texts have, and recall has twice the weight of
    precision. For a corpus, the counts with the best reference of each answer are summed. An answer whose references
    have no character is refused. N-grams are counted here, for speed; the score is computed from the counts by
    sacrebleu, whose signature is stored.

    References
    ----------
    M. Popović (2015), chrF: character n-gram F-score for automatic MT evaluation, WMT; with the defaults of sacrebleu.
    """

    variant: ClassVar[str] = "best reference"
    packages: ClassVar[tuple[str, ...]] = ("sacrebleu",)
    batch_size: ClassVar[int] = 500

    @property
    def tokenisation(self) -> str:
        return "characters without white space"

    @property
    def signature(self) -> str:
        from sacrebleu.metrics.chrf import CHRFSignature

        return str(CHRFSignature({**vars(_library()), "num_refs": -1}).format())

    def refuse(self, answers: Answers) -> list[str]:
        reasons = super().refuse(answers)
        for row, texts in enumerate(answers.references):
            if not reasons[row] and not any(map(str.strip, texts)):
                reasons[row] = "no reference has a character"
        return reasons

    def count(self, answers: Answers) -> Floats:
        rows, flat = flatten([[text for text in texts if text.strip()] for texts in answers.references])
        texts = tokenise(split_characters, answers.candidates, flat)
        candidates, references = texts.of(answers.candidates)[rows], texts.of(flat)
        # For each order the n-grams of the answer, of the reference, and those in common. As in sacrebleu, n-grams of
        # the answer do not count if the reference is too short to have any.
        statistics: list[Ints] = []
        for bags in texts.bags(_library().char_order):
            n_reference = bags.totals[references]
            n_candidate = np.where(n_reference > 0, bags.totals[candidates], 0)
            statistics += [n_candidate, n_reference, bags.shared(candidates, references)]
        pairs = np.column_stack(statistics).astype(np.float64)
        # The pair with the highest score of each answer, the first one on a tie.
        best = np.lexsort((-self.combine(pairs), rows))
        return pairs[best[np.searchsorted(rows, np.arange(len(answers)))]]

    def combine(self, sums: Floats) -> Floats:
        compute = _library()._compute_f_score
        scores = [compute(row) for row in sums.reshape(-1, sums.shape[-1]).astype(np.int64).tolist()]
        return np.array(scores).reshape(sums.shape[:-1]) / 100


@cache
def _library() -> "CHRF":
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


register("chrf", "chrF", Chrf)
