"""Degrading: a good answer made worse by a phrase from elsewhere, for items that a careful annotator scores lower."""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from measures.outcome import Undefined
from measures.tokens import token_f1

LEAST_DROP = 0.1
"""The token F1 of a degraded answer with its source is at most 1 minus this."""
MOST_INSERTED = 6
"""Long answers lose a quarter of their words and get a phrase of at most so many."""
N_TRIES = 20
_TABLE = ((3, 1), (5, 2), (7, 3), (14, 4), (19, 5))
_WORD = re.compile(r"\S+")
_CLOSING = re.compile(r"[.,;:!?…\"')\]]*$")


@dataclass(frozen=True)
class PhraseBook:
    """The inner words of references, to draw phrases from.

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
        """Make a book of references, each with its passage.

        Parameters
        ----------
        references : iterable of (Hashable, str)
            The passage and the text of each reference; those of fewer than three words have no inner words.

        Returns
        -------
        PhraseBook

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
        """Draw a phrase of so many words from a reference of another passage.

        Parameters
        ----------
        n_words : int
            Words in a row.
        passage : Hashable
            The passage that the phrase must not come from.
        rng : Generator
            Where chance comes from.

        Returns
        -------
        str or None
            None where no reference of another passage is long enough.

        Examples
        --------
        >>> book = PhraseBook.of([("p1", "He sat on the mat."), ("p2", "Paris")])
        >>> book.draw(3, "p2", np.random.default_rng(0)), book.draw(1, "p1", np.random.default_rng(0))
        ('sat on the', None)
        """
        n_long = int(np.searchsorted(self._lengths, -n_words, side="right"))
        for _ in range(N_TRIES if n_long else 0):
            index = int(rng.integers(n_long))
            if self.passages[index] != passage:
                return self._cut(index, n_words, rng)
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
        What is shown.
    n_words, n_replaced, n_inserted : int
        Words of the source, of the run that went, and of the phrase that came.
    f1 : float
        Token F1 with the source.
    """

    text: str
    n_words: int
    n_replaced: int
    n_inserted: int
    f1: float


@dataclass(frozen=True, kw_only=True)
class Yield:
    """How many answers of one length could be degraded.

    Attributes
    ----------
    n_words : int
        The length.
    n_tried, n_made : int
        Answers tried, and degraded ones accepted.
    reasons : Mapping[str, int]
        Why the others were not, with numbers.
    """

    n_words: int
    n_tried: int
    n_made: int
    reasons: Mapping[str, int]

    @property
    def share(self) -> float | Undefined:
        """Accepted of tried, 0 to 1; undefined where nothing of this length was tried."""
        return self.n_made / self.n_tried if self.n_tried else Undefined(reason="no answer of this length")


def n_replaced(n_words: int) -> int:
    """Say how long the run is that is replaced in an answer.

    Parameters
    ----------
    n_words : int
        Words of the answer, at least 1.

    Returns
    -------
    int
        1 of 1 to 3 words, 2 of 4 or 5, 3 of 6 or 7, 4 of 8 to 14, 5 of 15 to 19, else a quarter, rounded down.

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
    """Replace a run of words by a phrase from the references of other passages.

    The run never starts at the first word and never takes in the last; an answer of one word is replaced, and of two
    words the second. Punctuation that closes the run stays, and a first word keeps its capital.

    Parameters
    ----------
    text : str
        A good answer.
    references : sequence of str
        The references of its question; what reads like one of them is no degraded answer.
    phrases : PhraseBook
        Where phrases come from.
    passage : Hashable
        The passage of the answer, whose own references give no phrase.
    rng : Generator
        Where chance comes from.
    least_drop : float
        How far below 1 the token F1 with the source must lie.

    Returns
    -------
    DegradedText or Undefined
        Undefined, with the last reason, where twenty draws give nothing that can be used.

    References
    ----------
    Y. Graham et al. (2017), as in `n_replaced`; the rejections are our own.

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
    n_in = min(n_out, MOST_INSERTED) if len(spans) >= 20 else n_out
    reason = "no reference of another passage has a phrase of this length"
    for _ in range(N_TRIES):
        phrase = phrases.draw(n_in, passage, rng)
        if phrase is None:
            break
        made = _replace(text, spans, _start(len(spans), n_out, rng), n_out, phrase)
        f1 = token_f1(made, text)
        if any(_reads_like(made, other) for other in (text, *references)):
            reason = "the result reads like the source or a reference"
        elif f1 > 1 - least_drop + 1e-9:
            reason = "the result has nearly all words of the source"
        else:
            return DegradedText(text=made, n_words=len(spans), n_replaced=n_out, n_inserted=n_in, f1=f1)
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
        As for `degrade`.
    lengths : sequence of int
        The lengths in words to report; other answers are left out.

    Returns
    -------
    tuple of Yield
        One for each length, in order.

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
        made = degrade(text, references=references, phrases=phrases, passage=passage, rng=rng, least_drop=least_drop)
        if isinstance(made, Undefined):
            reasons[n_words][made.reason] = reasons[n_words].get(made.reason, 0) + 1
    return tuple(
        Yield(n_words=n, n_tried=tried[n], n_made=tried[n] - sum(reasons[n].values()), reasons=reasons[n])
        for n in lengths
    )


def _start(n_words: int, n_out: int, rng: np.random.Generator) -> int:
    """Where the run starts, from 0: after the first word and before the last, where there is room."""
    if n_words <= 2:
        return n_words - 1
    return int(rng.integers(1, n_words - n_out))


def _replace(text: str, spans: Sequence[tuple[int, int]], start: int, n_out: int, phrase: str) -> str:
    begin, end = spans[start][0], spans[start + n_out - 1][1]
    run = text[begin:end]
    closing = _found(_CLOSING, run)
    phrase = phrase[: len(phrase) - len(_found(_CLOSING, phrase))] or phrase
    if start == 0 and run[:1].isupper():
        phrase = phrase[:1].upper() + phrase[1:]
    return text[:begin] + phrase + closing + text[end:]


def _found(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[0] if match else ""


def _reads_like(text: str, other: str) -> bool:
    return text.split() == other.split() or token_f1(text, other) == 1.0
