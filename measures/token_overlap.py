"""Tokens: the words of an answer, and the overlap of two answers."""

import re
from collections import Counter
from string import punctuation

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", punctuation)


def split_squad_words(text: str) -> list[str]:
    """Split an answer into words as SQuAD's evaluation does.

    Parameters
    ----------
    text : str
        The answer, unchanged.

    Returns
    -------
    list of str
        The words in lower case, without ASCII punctuation and without the articles a, an and the.

    References
    ----------
    P. Rajpurkar et al. (2016), SQuAD: 100,000+ Questions for Machine Comprehension of Text, EMNLP;
    its evaluation script.

    Examples
    --------
    >>> split_squad_words("The cat's hat, on a mat.")
    ['cats', 'hat', 'on', 'mat']
    """
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def token_f1(text: str, other: str) -> float:
    """Compute the F1 of the words that two answers share.

    Parameters
    ----------
    text, other : str
        The answers, in either order.

    Returns
    -------
    float
        0 to 1; 1 where neither has a word, 0 where only one has.

    References
    ----------
    P. Rajpurkar et al. (2016), SQuAD: 100,000+ Questions for Machine Comprehension of Text, EMNLP, section 6.1.

    Examples
    --------
    >>> token_f1("On the mat.", "on a red mat")
    0.8
    >>> token_f1("", "the"), token_f1("", "mat")
    (1.0, 0.0)
    """
    mine, theirs = split_squad_words(text), split_squad_words(other)
    if not mine or not theirs:
        return float(mine == theirs)
    n_common = sum((Counter(mine) & Counter(theirs)).values())
    return 2 * n_common / (len(mine) + len(theirs))
