"""The longest common subsequence of two texts, many words at a time."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where each word stands in a text: bit i of its number is set where it is word i.

    Attributes
    ----------
    of_word : mapping of hashable to int
        Every word of the text.
    length : int
        Words in the text.
    """

    of_word: Mapping[Hashable, int]
    length: int


def places(words: Sequence[Hashable]) -> Places:
    """Note where each word stands, once for a text that is compared with many.

    Parameters
    ----------
    words : sequence of hashable
        The text.

    Returns
    -------
    Places
        Its words and where they stand.

    Examples
    --------
    >>> places("aba").of_word
    {'a': 5, 'b': 2}
    """
    of_word: dict[Hashable, int] = {}
    bit = 1
    for word in words:
        of_word[word] = of_word.get(word, 0) | bit
        bit <<= 1
    return Places(of_word=of_word, length=len(words))


def lcs_length(words: Iterable[Hashable], other: Places) -> int:
    """Compute the length of the longest common subsequence of two texts.

    The row of the usual table is one whole number, of which a bit is cleared where the table rises; each word of the
    first text makes the next row by four operations.

    Parameters
    ----------
    words : iterable of hashable
        A text.
    other : Places
        Another, as `places` notes it.

    Returns
    -------
    int
        Words that both have in the same order, not necessarily side by side.

    References
    ----------
    H. Hyyrö (2004), Bit-parallel LCS-length computation revisited, AWOCA.

    Examples
    --------
    >>> lcs_length("the cat sat on the mat".split(), places("on the mat sat the cat".split()))
    3
    """
    everywhere = (1 << other.length) - 1
    row = everywhere
    for where in map(other.of_word.get, words):
        if where:
            met = row & where
            row = (row + met) | (row - met)
    return other.length - (row & everywhere).bit_count()


def occurs(run: Sequence[Hashable], words: Sequence[Hashable]) -> bool:
    """Say whether some words stand in a text side by side and in their order.

    Parameters
    ----------
    run : sequence of hashable
        The words, such as those of a name; none at all occur nowhere.
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
