"""Counting n-grams of a whole column at once: texts as numbered tokens, and the n-grams that texts have in common."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from measures.metrics.tokenising import Tokeniser
from measures.patterns import Ints

LARGEST = 2**62
"""N-gram numbers are renumbered before the product of text and n-gram could exceed 64-bit integers."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tokenised:
    """Distinct texts, each split once, with their tokens numbered and laid end to end.

    Attributes
    ----------
    number : mapping of str to int
        The number of each text, from 0 to T - 1.
    lengths : ndarray of int64, shape (T,)
        Tokens of each text.
    tokens : ndarray of int64, shape (N,)
        The number of each token; the same token has the same number in all texts.
    n_types : int
        How many different tokens there are.
    """

    number: dict[str, int]
    lengths: Ints
    tokens: Ints
    n_types: int

    def of(self, texts: Iterable[str]) -> Ints:
        """Return the numbers of these texts. Raises KeyError for a text that was not given to `tokenise`."""
        return np.fromiter(map(self.number.__getitem__, texts), dtype=np.int64)

    def bags(self, order: int) -> "list[Bags]":
        """Return the bags of n-grams of each text, of order 1, 2 and so on up to `order`."""
        text = np.repeat(np.arange(len(self.lengths)), self.lengths)
        ends = np.cumsum(self.lengths)[text]
        place = np.arange(len(self.tokens))
        grams, width = self.tokens, self.n_types
        found = [_bags(text, grams, len(self.lengths))]
        for n in range(2, order + 1):
            # Only n-grams that end inside their text. Their number combines the first n - 1 tokens and the last one.
            goes_on = place + n <= ends
            place, text, ends, grams = place[goes_on], text[goes_on], ends[goes_on], grams[goes_on]
            if width * self.n_types * len(self.lengths) > LARGEST:
                distinct, grams = np.unique(grams, return_inverse=True)
                width = len(distinct)
            grams, width = grams * self.n_types + self.tokens[place + n - 1], width * self.n_types
            found.append(_bags(text, grams, len(self.lengths)))
        return found

    def skip_bag(self, max_gap: int, *, has_last: bool = True) -> "Bags":
        """Return bags of single tokens and of ordered pairs of tokens with at most `max_gap` tokens between them.

        `has_last`: whether the last token of a text counts as a single token.
        """
        text = np.repeat(np.arange(len(self.lengths)), self.lengths)
        ends = np.cumsum(self.lengths)[text]
        place = np.arange(len(self.tokens))
        is_counted = place + (not has_last) < ends
        texts, grams = [text[is_counted]], [self.tokens[is_counted]]
        for gap in range(1, max_gap + 2):
            first = place[place + gap < ends]
            texts.append(text[first])
            grams.append((self.tokens[first] + 1) * self.n_types + self.tokens[first + gap])
        return _bags(np.concatenate(texts), np.concatenate(grams), len(self.lengths))


@dataclass(frozen=True, kw_only=True, eq=False)
class Bags:
    """The n-grams of texts with their counts, sorted by text.

    Attributes
    ----------
    totals, sizes : ndarray of int64, shape (T,)
        The number of n-grams of each text, and of distinct ones.
    starts : ndarray of int64, shape (T,)
        Where the n-grams of each text begin.
    grams, counts : ndarray of int64, shape (E,)
        Each distinct n-gram of a text, and its count in that text.
    keys : ndarray of int64, shape (E,)
        Text and n-gram combined as ``text * width + gram``, ascending.
    width : int
        See `keys`.
    """

    totals: Ints
    sizes: Ints
    starts: Ints
    grams: Ints
    counts: Ints
    keys: Ints
    width: int

    def shared(self, texts: Ints, others: Ints) -> Ints:
        """Return the number of n-grams that each pair of texts has in common: the sum of the smaller counts."""
        return self.clipped(texts, np.arange(len(texts)), others)

    def clipped(self, texts: Ints, rows: Ints, references: Ints, *, over: np.ufunc = np.maximum) -> Ints:
        """Return the number of n-grams of each text that match its references, clipped at their counts.

        Parameters
        ----------
        texts : ndarray of int64, shape (n,)
            The candidates' numbers.
        rows : ndarray of int64, shape (m,)
            The candidate, 0 to n - 1, that each reference belongs to.
        references : ndarray of int64, shape (m,)
            The references' numbers.
        over : ufunc
            `maximum` clips the matches of an n-gram at its largest count in one reference; `add` at the sum of its
            counts.

        Returns
        -------
        ndarray of int64, shape (n,)
            0 for a candidate without references.
        """
        sizes = self.sizes[texts]
        entries = _ranges(self.starts[texts], sizes)
        # Look up each n-gram of a candidate in each of its references. All lookups are one search in `keys`.
        pairs = _ranges((np.cumsum(sizes) - sizes)[rows], sizes[rows])
        wanted = np.repeat(references * self.width, sizes[rows]) + self.grams[entries[pairs]]
        available = np.zeros(len(entries), dtype=np.int64)
        over.at(available, pairs, self._count(wanted))
        hits = np.minimum(self.counts[entries], available)
        return np.bincount(np.repeat(np.arange(len(texts)), sizes), hits, len(texts)).astype(np.int64)

    def _count(self, keys: Ints) -> Ints:
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.int64)
        # A key beyond the last one would be found outside the array; compared with the last key it counts 0.
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.counts[place], 0)


def tokenise(split: Tokeniser, *columns: Iterable[str]) -> Tokenised:
    """Split each distinct text of some columns once and number its tokens.

    Parameters
    ----------
    split : callable
        One of `measures.metrics.tokenising.TOKENISERS`.
    *columns : iterable of str
        The texts.

    Returns
    -------
    Tokenised
        The texts in the order in which they first occur.

    Examples
    --------
    >>> texts = tokenise(str.split, ["a b a", "b c"], ["a b a"])
    >>> texts.lengths, texts.tokens, texts.of(["b c", "a b a"])
    (array([3, 2]), array([0, 1, 0, 1, 2]), array([1, 0]))
    """
    # Candidates and references repeat across a column, and are split only once.
    distinct = dict.fromkeys(chain.from_iterable(columns))
    lengths: list[int] = []
    words: list[str] = []
    for text in distinct:
        found = split(text)
        lengths.append(len(found))
        words.extend(found)
    # A new word gets the number of distinct words before it.
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    tokens = np.fromiter(map(numbers.__getitem__, words), dtype=np.int64, count=len(words))
    return Tokenised(
        number=dict(zip(distinct, range(len(distinct)), strict=True)),
        lengths=np.array(lengths, dtype=np.int64),
        tokens=tokens,
        n_types=len(numbers),
    )


def flatten(lists: Sequence[Sequence[str]]) -> tuple[Ints, list[str]]:
    """Concatenate lists of texts.

    Parameters
    ----------
    lists : sequence of sequence of str
        Such as the references of each answer.

    Returns
    -------
    rows : ndarray of int64, shape (m,)
        The list that each text was in.
    texts : list of str
        The texts.

    Examples
    --------
    >>> flatten([["a", "b"], [], ["c"]])
    (array([0, 0, 2]), ['a', 'b', 'c'])
    """
    sizes = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    return np.repeat(np.arange(len(lists)), sizes), list(chain.from_iterable(lists))


def _bags(text: Ints, grams: Ints, n_texts: int) -> Bags:
    width = int(grams.max(initial=0)) + 1
    keys, counts = np.unique(text * width + grams, return_counts=True)
    sizes = np.bincount(keys // width, minlength=n_texts)
    return Bags(
        totals=np.bincount(text, minlength=n_texts),
        sizes=sizes,
        starts=np.cumsum(sizes) - sizes,
        grams=keys % width,
        counts=counts,
        keys=keys,
        width=width,
    )


def _ranges(starts: Ints, sizes: Ints) -> Ints:
    """Concatenate the ranges that begin at each start and have these sizes."""
    return np.arange(sizes.sum()) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
