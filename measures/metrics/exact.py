"""Exact match and token F1: whether an answer equals a reference, and how many words it shares with one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from measures.metrics.counting import flatten, tokenise
from measures.metrics.lexical import LexicalMetric
from measures.metrics.metric import Answers, MeanMetric, setting
from measures.metrics.registry import register
from measures.metrics.tokenising import MEANINGS
from measures.patterns import Floats


@dataclass(frozen=True, kw_only=True)
class ExactMatch(LexicalMetric, MeanMetric):
    """1 if the words of an answer equal those of any reference, also if neither has a word; else 0.

    References
    ----------
    P. Rajpurkar et al. (2016), SQuAD: 100,000+ Questions for Machine Comprehension of Text, EMNLP, section 6.1.
    """

    tokeniser: str = setting("squad", "how texts are split into words", choices=MEANINGS)

    variant: ClassVar[str] = "best reference"
    compares_texts_without_words: ClassVar[bool] = True

    def score_each(self, answers: Answers) -> Floats:
        split = self.split
        distinct = {*answers.candidates, *(text for references in answers.references for text in references)}
        words = {text: split(text) for text in distinct}
        return np.array(
            [
                any(words[text] == words[reference] for reference in references)
                for text, references in zip(answers.candidates, answers.references, strict=True)
            ],
            dtype=np.float64,
        )


@dataclass(frozen=True, kw_only=True)
class TokenF1(LexicalMetric, MeanMetric):
    """The F1 of the words that an answer shares with a reference, counted with multiplicity; the best reference.

    Precision is the share of the answer's words that match, recall that of the reference's words. If both texts have no
    word, the script of SQuAD 1.1 gives 0, although they match exactly; that of SQuAD 2.0 gives 1.

    References
    ----------
    P. Rajpurkar et al. (2016), SQuAD: 100,000+ Questions for Machine Comprehension of Text, EMNLP, section 6.1;
    P. Rajpurkar et al. (2018), Know What You Don't Know: Unanswerable Questions for SQuAD, ACL; their scripts.
    """

    tokeniser: str = setting("squad", "how texts are split into words", choices=MEANINGS)
    squad_version: str = setting(
        "1.1", "score of two texts without words: 0 in SQuAD 1.1, 1 in 2.0", choices=("1.1", "2.0")
    )

    compares_texts_without_words: ClassVar[bool] = True

    @property
    def variant(self) -> str:
        return f"SQuAD {self.squad_version}, best reference"

    def score_each(self, answers: Answers) -> Floats:
        rows, flat = flatten(answers.references)
        texts = tokenise(self.split, answers.candidates, flat)
        candidates, references = texts.of(answers.candidates)[rows], texts.of(flat)
        common = texts.bags(1)[0].shared(candidates, references)
        n_words = texts.lengths[candidates] + texts.lengths[references]
        without_words = float(self.squad_version == "2.0")
        f1 = np.where(n_words > 0, 2 * common / np.maximum(n_words, 1), without_words)
        best = np.zeros(len(answers))
        np.maximum.at(best, rows, f1)
        return best


register("exact_match", "Exact match", ExactMatch)
register("token_f1", "Token F1", TokenF1)
