"""Degrading: replace words of a good answer by an unrelated phrase, so that careful annotators score it lower."""

import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from measures.outcome import Undefined
from measures.token_overlap import token_f1

LEAST_DROP = 0.1
"""The token F1 of a degraded answer with its original is at most 1 minus this. Otherwise the random phrase may repeat
nearly the same words, and even a careful annotator would see no difference."""
MOST_INSERTED = 6
"""From 20 words on, a quarter of the words is replaced by a phrase of at most this length (Graham et al. 2017)."""
N_TRIES = 20
"""Random draws before an answer, or a phrase of another passage, is given up."""
_TABLE = ((3, 1), (5, 2), (7, 3), (14, 4), (19, 5))
"""Words of an answer up to which this many are replaced (Graham et al. 2017; see `n_replaced`)."""
_WORD = re.compile(r"\S+")
_CLOSING = re.compile(r"[.,;:!?…\"')\]]*$")


@dataclass(frozen=True)
class PhraseBook:
    """The inner words of references, from which phrases are drawn.

    Attributes
    ----------
    passages : tuple of Hashable
        The passage of each reference that has inner words.
    words : tuple of tuple of str
        Its words without the first and the last, longest first.
    """

    passages: tuple[Hashable, ...]
    words: tuple[tuple[str, ...], ...]
    _lengths: np.ndarray = field(repr=False, compare=False)

    @classmethod
    def of(cls, references: Iterable[tuple[Hashable, str]]) -> "PhraseBook":
        """Build a phrase book from references.

        Parameters
        ----------
        references : iterable of (Hashable, str)
            The passage and the text of each reference; those of fewer than three words have no inner words.

        Returns
        -------
        PhraseBook
            Sorted by length, so that the references long enough for a phrase are the first ones.

        Examples
        --------
        >>> book = PhraseBook.of([("p1", "He sat on the mat."), ("p2", "Paris")])
        >>> book.passages, book.words
        (('p1',), (('sat', 'on', 'the'),))
        """
        rows = [(passage, tuple(text.split()[1:-1])) for passage, text in references]
        rows = sorted((row for row in rows if row[1]), key=lambda row: (-len(row[1]), row[1]))
        lengths = np.array([-len(words) for _, words in rows], dtype=np.int64)
        return cls(tuple(row[0] for row in rows), tuple(row[1] for row in rows), lengths)

    def draw(self, n_words: int, passage: Hashable, rng: np.random.Generator) -> str | None:
        """Draw a phrase of a given length from a reference of another passage.

        Parameters
        ----------
        n_words : int
            Number of consecutive words.
        passage : Hashable
            The passage that the phrase must not come from.
        rng : numpy.random.Generator
            The source of randomness.

        Returns
        -------
        str or None
            None if no reference of another passage is long enough.

        Examples
        --------
        >>> book = PhraseBook.of([("p1", "He sat on the mat."), ("p2", "Paris")])
        >>> book.draw(3, "p2", np.random.default_rng(0)), book.draw(1, "p1", np.random.default_rng(0))
        ('sat on the', None)
        """
        # References are sorted by length, so those with enough inner words come first.
        n_long = int(np.searchsorted(self._lengths, -n_words, side="right"))
        for _ in range(N_TRIES if n_long else 0):
            index = int(rng.integers(n_long))
            if self.passages[index] != passage:
                return self._cut(index, n_words, rng)
        # Nearly all long references may be of this very passage: then the others are listed, which takes longer.
        others = [index for index in range(n_long) if self.passages[index] != passage]
        return self._cut(others[int(rng.integers(len(others)))], n_words, rng) if others else None

    def _cut(self, index: int, n_words: int, rng: np.random.Generator) -> str:
        words = self.words[index]
        start = int(rng.integers(len(words) - n_words + 1))
        return " ".join(words[start : start + n_words])


@dataclass(frozen=True, kw_only=True)
class DegradedText:
    """A degraded answer.

    Attributes
    ----------
    text : str
        The degraded answer.
    n_words, n_replaced, n_inserted : int
        Words of the original, of the run that was replaced, and of the phrase inserted.
    f1 : float
        Token F1 with the original, 0 to 1.
    """

    text: str
    n_words: int
    n_replaced: int
    n_inserted: int
    f1: float


@dataclass(frozen=True, kw_only=True)
class Yield:
    """How many answers of one length can be degraded.

    Attributes
    ----------
    n_words : int
        The length in words.
    n_tried, n_made : int
        Answers tried, and those with a usable result.
    reasons : Mapping[str, int]
        The number of the other answers by reason.
    """

    n_words: int
    n_tried: int
    n_made: int
    reasons: Mapping[str, int]

    @property
    def share(self) -> float | Undefined:
        """The share of answers with a usable result, 0 to 1; undefined if none of this length was tried."""
        return self.n_made / self.n_tried if self.n_tried else Undefined(reason="no answer of this length")


def n_replaced(n_words: int) -> int:
    """Return how many words of an answer are replaced.

    Parameters
    ----------
    n_words : int
        Words of the answer, at least 1.

    Returns
    -------
    int
        1 of 1 to 3 words, 2 of 4 or 5, 3 of 6 or 7, 4 of 8 to 14, 5 of 15 to 19; from 20 on a quarter, rounded down.

    Raises
    ------
    ValueError
        The answer has no word.

    References
    ----------
    Y. Graham, T. Baldwin, A. Moffat and J. Zobel (2017), Can machine translation systems be evaluated by the crowd
    alone, Natural Language Engineering 23, 3-30, the table of words to replace in degraded references.

    Examples
    --------
    >>> [n_replaced(n) for n in (1, 3, 4, 5, 6, 7, 8, 14, 15, 19, 20, 43)]
    [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 10]
    """
    if n_words < 1:
        raise ValueError("An answer without words cannot be degraded.")
    return next((n for most, n in _TABLE if n_words <= most), n_words // 4)


def degrade(
    text: str,
    *,
    references: Sequence[str],
    phrases: PhraseBook,
    passage: Hashable,
    rng: np.random.Generator,
    least_drop: float = LEAST_DROP,
) -> DegradedText | Undefined:
    """Replace consecutive words of an answer by a phrase from the references of other passages.

    The first and the last word are never replaced; an answer of one word is replaced as a whole, and of two words the
    second is. Closing punctuation stays, and a replaced first word keeps its capital. As a project may have several
    languages, the phrase shares a script with the answer.

    Parameters
    ----------
    text : str
        A good answer.
    references : sequence of str
        The references of its question; a result with the same words as one of them is not used.
    phrases : PhraseBook
        The source of phrases.
    passage : Hashable
        The passage of the answer; its own references are not used for phrases.
    rng : numpy.random.Generator
        The source of randomness.
    least_drop : float
        How far below 1 the token F1 with the original must be.

    Returns
    -------
    DegradedText or Undefined
        Undefined, with the last reason, if twenty draws give no usable result.

    References
    ----------
    Y. Graham et al. (2017), as in `n_replaced`; the rejection of results is our own.

    Examples
    --------
    >>> book = PhraseBook.of([("other", "the small red boat sank")])
    >>> made = degrade("Paris.", references=["Paris"], phrases=book, passage="here", rng=np.random.default_rng(1))
    >>> made.text in {"Small.", "Red.", "Boat."}, made.f1
    (True, 0.0)
    """
    spans = [found.span() for found in _WORD.finditer(text)]
    if not spans:
        return Undefined(reason="the answer has no words")
    n_out = n_replaced(len(spans))
    # The table's answers, of up to 19 words, keep their length; longer ones may become shorter.
    n_in = min(n_out, MOST_INSERTED) if len(spans) > _TABLE[-1][0] else n_out
    reason = "no reference of another passage has a phrase of this length"
    for _ in range(N_TRIES):
        phrase = phrases.draw(n_in, passage, rng)
        if phrase is None:
            break
        if not _may_stand_together(phrase, text):
            reason = "no phrase of this length is in the script of the answer"
            continue
        result = _replace(text, spans, _start(len(spans), n_out, rng), n_out, phrase)
        f1 = token_f1(result, text)
        if any(_has_same_words(result, other) for other in (text, *references)):
            reason = "the result has the same words as the original or a reference"
        # The tolerance is for F1 computed from a fraction: exactly 0.9 must pass.
        elif f1 > 1 - least_drop + 1e-9:
            reason = "the result keeps nearly all words of the original"
        else:
            return DegradedText(text=result, n_words=len(spans), n_replaced=n_out, n_inserted=n_in, f1=f1)
    return Undefined(reason=reason)


def measure_yields(
    answers: Iterable[tuple[str, Sequence[str], Hashable]],
    *,
    phrases: PhraseBook,
    rng: np.random.Generator,
    lengths: Sequence[int] = (1, 3, 8),
    least_drop: float = LEAST_DROP,
) -> tuple[Yield, ...]:
    """Report how many answers of some lengths can be degraded.

    Parameters
    ----------
    answers : iterable of (str, sequence of str, Hashable)
        For each answer its text, the references of its question and its passage.
    phrases, rng, least_drop
        As in `degrade`.
    lengths : sequence of int
        The lengths to report, in words; answers of other lengths are left out.

    Returns
    -------
    tuple of Yield
        One for each of `lengths`, in their order.

    Examples
    --------
    >>> book = PhraseBook.of([("other", "the small red boat sank")])
    >>> answers = [("Paris", ["Paris"], "here"), ("red", ["red"], "other"), ("in the north", ["north"], "here")]
    >>> [(y.n_words, y.n_tried, y.n_made) for y in measure_yields(answers, phrases=book, rng=np.random.default_rng(1))]
    [(1, 2, 1), (3, 1, 1), (8, 0, 0)]
    """
    tried: dict[int, int] = dict.fromkeys(lengths, 0)
    reasons: dict[int, dict[str, int]] = {n: {} for n in lengths}
    for text, references, passage in answers:
        n_words = len(text.split())
        if n_words not in tried:
            continue
        tried[n_words] += 1
        result = degrade(text, references=references, phrases=phrases, passage=passage, rng=rng, least_drop=least_drop)
        if isinstance(result, Undefined):
            reasons[n_words][result.reason] = reasons[n_words].get(result.reason, 0) + 1
    return tuple(
        Yield(n_words=n, n_tried=tried[n], n_made=tried[n] - sum(reasons[n].values()), reasons=reasons[n])
        for n in lengths
    )


def _may_stand_together(phrase: str, text: str) -> bool:
    """Return whether a phrase shares a script with the answer: Arabic among Latin words would give itself away."""
    of_phrase, of_text = _find_scripts(phrase), _find_scripts(text)
    return not of_phrase or not of_text or not of_phrase.isdisjoint(of_text)


def _find_scripts(text: str) -> set[str]:
    """Return the scripts of the letters, by the first word of their names, such as LATIN; those of Japanese are one."""
    names = {unicodedata.name(letter, "").partition(" ")[0] for letter in set(text) if letter.isalpha()}
    return {"CJK" if name in ("HIRAGANA", "KATAKANA") else name for name in names}


def _start(n_words: int, n_out: int, rng: np.random.Generator) -> int:
    """Return the index of the first word to replace: inside the answer if it has more than two words."""
    if n_words <= 2:
        return n_words - 1
    return int(rng.integers(1, n_words - n_out))


def _replace(text: str, spans: Sequence[tuple[int, int]], start: int, n_out: int, phrase: str) -> str:
    begin, end = spans[start][0], spans[start + n_out - 1][1]
    run = text[begin:end]
    closing = _match(_CLOSING, run)
    # The phrase loses its own closing punctuation, unless it has nothing else, and gets that of the run.
    phrase = phrase[: len(phrase) - len(_match(_CLOSING, phrase))] or phrase
    if start == 0 and run[:1].isupper():
        phrase = phrase[:1].upper() + phrase[1:]
    return text[:begin] + phrase + closing + text[end:]


def _match(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[0] if match else ""


def _has_same_words(text: str, other: str) -> bool:
    return text.split() == other.split() or token_f1(text, other) == 1.0
