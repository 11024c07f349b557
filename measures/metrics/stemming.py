"""Stemming, so that “runs” and “running” are the same word to a metric."""

from dataclasses import dataclass
from functools import cache, lru_cache

from measures.metrics.lexical import LexicalMetric
from measures.metrics.metric import setting
from measures.metrics.tokenising import Tokeniser


@dataclass(frozen=True, kw_only=True)
class StemmingMetric(LexicalMetric):
    """A word-based metric with optional stemming, as in rouge-score: only words of more than three letters."""

    stem: bool = setting(False, "reduce words of more than three letters to their stems (Porter)")

    @property
    def tokenisation(self) -> str:
        return f"{self.tokeniser}, Porter stems" if self.stem else self.tokeniser

    @property
    def signature(self) -> str:
        return f"stems by nltk {_nltk_version()}" if self.stem else ""

    @property
    def split(self) -> Tokeniser:
        words = super().split
        return (lambda text: list(map(stem_word, words(text)))) if self.stem else words


@lru_cache(maxsize=100_000)
def stem_word(word: str) -> str:
    """Reduce a word to its stem.

    Parameters
    ----------
    word : str
        A word; one of up to three letters is returned unchanged.

    Returns
    -------
    str
        Its stem in lower case.

    References
    ----------
    M. F. Porter (1980), An algorithm for suffix stripping, Program 14(3), in the form of nltk.

    Examples
    --------
    >>> stem_word("running"), stem_word("was")
    ('run', 'was')
    """
    return str(_stemmer().stem(word)) if len(word) > 3 else word


@cache
def _stemmer():  # type: ignore[no-untyped-def]  # nltk has no types
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


def _nltk_version() -> str:
    from importlib.metadata import version

    return version("nltk")
