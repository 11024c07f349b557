"""The longest common subsequence of two texts, many words at a time."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Positions:
    """The positions of each word in a text, as bit masks: bit i is set if the word is word i.

    Attributes
    ----------
    masks : mapping of hashable to int
        The mask of every word of the text.
    length : int
        Words in the text.
    """

    masks: Mapping[Hashable, int]
    length: int


def find_positions(words: Sequence[Hashable]) -> Positions:
    """Find the positions of each word, once for a text that is compared with many.

    Parameters
    ----------
    words : sequence of hashable
        The text.

    Returns
    -------
    Positions
        The positions of its words.

    Examples
    --------
    >>> find_positions("aba").masks
    {'a': 5, 'b': 2}
    """
    masks: dict[Hashable, int] = {}
    bit = 1
    for word in words:
        masks[word] = masks.get(word, 0) | bit
        bit <<= 1
    return Positions(masks=masks, length=len(words))


def lcs_length(words: Iterable[Hashable], other: Positions) -> int:
    """Compute the length of the longest common subsequence of two texts.

    A row of the usual dynamic programming table is one integer, in which a bit is cleared where the table increases.
    Each word of the first text gives the next row by four operations on integers.

    Parameters
    ----------
    words : iterable of hashable
        A text.
    other : Positions
        The other text, as `find_positions` returns it.

    Returns
    -------
    int
        The number of words in the longest sequence that occurs in both texts in order, not necessarily contiguously.

    References
    ----------
    H. Hyyrö (2004), Bit-parallel LCS-length computation revisited, AWOCA.

    Examples
    --------
    >>> lcs_length("the cat sat on the mat".split(), find_positions("on the mat sat the cat".split()))
    3
    """
    everywhere = (1 << other.length) - 1
    row = everywhere
    for where in map(other.masks.get, words):
        if where:
            met = row & where
            row = (row + met) | (row - met)
    return other.length - (row & everywhere).bit_count()


def occurs(run: Sequence[Hashable], words: Sequence[Hashable]) -> bool:
    """Return whether a sequence of words occurs contiguously in a text.

    Parameters
    ----------
    run : sequence of hashable
        The words, such as those of a name; an empty sequence does not occur.
    words : sequence of hashable
        The text, of the same type of sequence.

    Returns
    -------
    bool
        Whether they do.

    Examples
    --------
    >>> occurs(["New", "York"], ["in", "New", "York"]), occurs(["New", "York"], ["New", "in", "York"])
    (True, False)
    """
    size = len(run)
    return size > 0 and any(words[at : at + size] == run for at in range(len(words) - size + 1))
