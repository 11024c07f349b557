"""chrF: the n-grams of characters that an answer shares with a reference, as sacrebleu counts them."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from measures.metrics.metric import Answers, Metric, setting
from measures.metrics.registry import register
from measures.patterns import Floats

if TYPE_CHECKING:
    from sacrebleu.metrics.chrf import CHRF


@dataclass(frozen=True, kw_only=True)
class Chrf(Metric):
    """The F score of n-grams of one to six characters, white space left out; the best reference's.

    Precisions and recalls are averaged over the orders that both texts have, and recall counts twice as much as
    precision. For a corpus the counts against the best reference of each answer are summed. An answer whose
    references have no character is refused.

    References
    ----------
    M. Popović (2015), chrF: character n-gram F-score for automatic MT evaluation, WMT; as sacrebleu has it by default.
    """

    word_order: int = setting(0, "the longest n-gram of words that counts too; 2 makes it chrF++", low=0, high=2)

    packages: ClassVar[tuple[str, ...]] = ("sacrebleu",)

    @property
    def variant(self) -> str:
        return "chrF2" + "+" * self.word_order

    @property
    def tokenisation(self) -> str:
        return "characters without white space"

    @property
    def signature(self) -> str:
        from sacrebleu.metrics.chrf import CHRFSignature

        return str(CHRFSignature({**vars(self._library()), "num_refs": -1}).format())

    def refuse(self, answers: Answers) -> list[str]:
        reasons = super().refuse(answers)
        for row, texts in enumerate(answers.references):
            if not reasons[row] and not any(map(str.strip, texts)):
                reasons[row] = "no reference has a character"
        return reasons

    def count(self, answers: Answers) -> Floats:
        library = self._library()
        # Its public functions count a reference anew for each answer and keep the counts to themselves.
        ngrams: dict[str, Any] = {}
        statistics = []
        for candidate, references in zip(answers.candidates, answers.references, strict=True):
            for text in references:
                if text not in ngrams:
                    ngrams[text] = library._extract_reference_info([text])["ref_ngrams"][0]
            known = [ngrams[text] for text in references if text.strip()]
            statistics.append(library._compute_segment_statistics(candidate, {"ref_ngrams": known}))
        return np.array(statistics, dtype=np.float64)

    def combine(self, sums: Floats) -> Floats:
        library = self._library()
        scores = [library._compute_f_score(row) for row in sums.reshape(-1, sums.shape[-1]).astype(np.int64).tolist()]
        return np.array(scores).reshape(sums.shape[:-1]) / 100

    def _library(self) -> "CHRF":
        return _library(self.word_order)


@cache
def _library(word_order: int) -> "CHRF":
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(word_order=word_order)


register("chrf", "chrF", Chrf)
