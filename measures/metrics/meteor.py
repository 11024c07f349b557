"""METEOR in two forms: 1.5, which needs a Java program, and that of 2005, which does not."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from measures.metrics.lexical import LexicalMetric
from measures.metrics.matches import ratio
from measures.metrics.meteor_jar import MeteorProcess, find_java, find_meteor, one_line
from measures.metrics.metric import Answers, MeanMetric, Metric, setting
from measures.metrics.registry import register
from measures.metrics.stemming import stem_word
from measures.metrics.tokenising import TOKENISERS
from measures.metrics.wordnet import Synonyms, find_wordnet, read_wordnet
from measures.patterns import Floats

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
"""The parameters of METEOR 1.5 for English: weight of recall, shape and weight of the penalty, content words."""

STAGES = np.array([1.0, 0.6, 0.8, 0.6])
"""The weights of exact, stem, synonym and paraphrase matches."""


@dataclass(frozen=True, kw_only=True)
class Meteor15(Metric):
    """METEOR 1.5 for English: words aligned by form, stem, synonym and paraphrase, with more weight on content words.

    The Java program aligns the texts and chooses the best of several references; its counts are combined here by the
    published formula. As in the program, the corpus score comes from the summed counts, and is not the mean of the
    answers' scores.

    References
    ----------
    M. Denkowski and A. Lavie (2014), Meteor Universal: Language Specific Translation Evaluation for Any Target
    Language, WMT.
    """

    tokeniser: str = setting(
        "meteor",
        "how texts are split into words",
        choices={
            "meteor": "METEOR's own normalisation",
            "mocha": "?, . and ! deleted, then METEOR's own normalisation",
        },
    )

    variant: ClassVar[str] = "English, best reference"
    packages: ClassVar[tuple[str, ...]] = ("pycocoevalcap",)
    batch_size: ClassVar[int] = 100
    process: ClassVar[MeteorProcess | None] = None
    """The program, which runs while columns are scored."""

    def lacks(self) -> str:
        missing = ["Java"] if not find_java() else []
        if find_meteor() is None:
            missing.append("the METEOR 1.5 jar (make meteor)")
        return " and ".join(missing)

    @contextmanager
    def ready(self) -> Iterator[None]:
        process = MeteorProcess.start()
        object.__setattr__(self, "process", process)
        try:
            yield
        finally:
            object.__delattr__(self, "process")
            process.close()

    def refuse(self, answers: Answers) -> list[str]:
        reasons = super().refuse(answers)
        for row, reason in enumerate(reasons):
            if not reason and not any(map(one_line, map(self.prepared, answers.references[row]))):
                reasons[row] = "no reference has a word"
        return reasons

    def prepared(self, text: str) -> str:
        return text if self.tokeniser == "meteor" else " ".join(TOKENISERS[self.tokeniser](text))

    def count(self, answers: Answers) -> Floats:
        """Return weighted matches of answer and reference, their weighted lengths, chunks and matched words, (n, 6)."""
        assert self.process is not None, "count() must be called within ready()"
        pairs = [
            (self.prepared(text), list(map(self.prepared, references)))
            for text, references in zip(answers.candidates, answers.references, strict=True)
        ]
        counts = np.array(self.process.statistics(pairs)).reshape(len(pairs), -1)
        # The columns: words, then function words, of answer and reference; for each stage the matched content words,
        # then the matched function words, of both; chunks; matched words of both.
        n_words, n_function = counts[:, 0:2], counts[:, 2:4]
        matched = counts[:, 4:20].reshape(-1, 4, 2, 2)
        chunks, n_matched = counts[:, 20], counts[:, 21:23]
        weight = np.array([DELTA, 1 - DELTA])
        weighted = np.einsum("nskt,s,k->nt", matched, STAGES, weight)
        lengths = DELTA * (n_words - n_function) + (1 - DELTA) * n_function
        # Two texts that match completely, in one chunk, have no penalty.
        is_whole = (matched.sum(axis=(1, 2)) == n_words).all(axis=-1) & (chunks == 1)
        fragments = np.stack([np.where(is_whole, 0.0, chunks), n_matched.mean(axis=-1)], axis=-1)
        return np.concatenate([weighted, lengths, fragments], axis=-1)

    def combine(self, sums: Floats) -> Floats:
        precision, recall = ratio(sums[..., 0], sums[..., 2]), ratio(sums[..., 1], sums[..., 3])
        mean = ratio(precision * recall, ALPHA * precision + (1 - ALPHA) * recall)
        return mean * (1 - GAMMA * ratio(sums[..., 4], sums[..., 5]) ** BETA)


@dataclass(frozen=True, kw_only=True)
class Meteor2005(LexicalMetric, MeanMetric):
    """METEOR as first published: words aligned by form, stem and, as an option, synonyms of WordNet.

    Computed by nltk with alpha 0.9, beta 3 and gamma 0.5, with the best reference. nltk pairs repeated words greedily,
    so it can count more chunks than necessary. It looks up stems instead of words in WordNet, so it misses synonyms of
    words that differ from their stems.

    References
    ----------
    S. Banerjee and A. Lavie (2005), METEOR: An Automatic Metric for MT Evaluation with Improved Correlation with
    Human Judgments, ACL workshop on Intrinsic and Extrinsic Evaluation Measures.
    """

    synonyms: str = setting(
        "none",
        "synonyms that match",
        choices={"none": "no synonyms", "wordnet": "those of WordNet, if its data is on this machine"},
    )

    packages: ClassVar[tuple[str, ...]] = ("nltk",)

    @property
    def variant(self) -> str:
        stages = "form and stem" if self.synonyms == "none" else "form, stem and WordNet synonym"
        return f"by {stages}, best reference"

    @property
    def signature(self) -> str:
        return f"nltk {version('nltk')}, alpha=0.9 beta=3 gamma=0.5"

    def lacks(self) -> str:
        missing = [super().lacks()]
        if self.synonyms == "wordnet" and find_wordnet() is None:
            missing.append("WordNet (nltk's data “wordnet”, or the system's package wordnet-base)")
        return " and ".join(filter(None, missing))

    def score_each(self, answers: Answers) -> Floats:
        from nltk.translate.meteor_score import meteor_score

        words = cache(self.split)
        synonyms: Any = read_wordnet() if self.synonyms == "wordnet" else Synonyms()
        return np.array(
            [
                meteor_score(list(map(words, references)), words(text), stemmer=_Stemmer, wordnet=synonyms)
                for text, references in zip(answers.candidates, answers.references, strict=True)
            ],
            dtype=np.float64,
        )


class _Stemmer:
    stem = staticmethod(stem_word)


register("meteor_1_5", "METEOR 1.5", Meteor15, family="METEOR")
register("meteor_2005", "METEOR (2005)", Meteor2005, family="METEOR")
