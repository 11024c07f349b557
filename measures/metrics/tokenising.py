"""Tokenisers: functions that split a text into words."""

import re
from collections.abc import Callable

from measures.tokens import tokens

Tokeniser = Callable[[str], list[str]]

_ALNUM = re.compile(r"[a-z0-9]+")
_LETTER = re.compile(r"[A-Za-z0-9]")
_WORDS = re.compile(r"\w+|[^\w\s]")
_STOPS = str.maketrans("", "", "?.!")


def split_characters(text: str) -> list[str]:
    """Split a text into characters, for texts without spaces between words, such as Chinese ones.

    Parameters
    ----------
    text : str
        The text, unchanged.

    Returns
    -------
    list of str
        Every character except white space.

    Examples
    --------
    >>> split_characters("大学 在都柏林")
    ['大', '学', '在', '都', '柏', '林']
    """
    return list("".join(text.split()))


def has_words(tokeniser: str, text: str) -> bool:
    """Return whether a tokeniser finds a word in a text.

    Parameters
    ----------
    tokeniser : str
        One of `TOKENISERS`.
    text : str
        The text, unchanged.

    Returns
    -------
    bool
        The same as splitting the text would give, usually without splitting it.

    Examples
    --------
    >>> has_words("squad", "the cat"), has_words("squad", "the"), has_words("alnum", "都柏林")
    (True, False, False)
    """
    # A letter or digit of ASCII is always a word or part of one, except for the articles that SQuAD's rules delete.
    return bool((tokeniser != "squad" and _LETTER.search(text)) or TOKENISERS[tokeniser](text))


def cannot_read(tokeniser: str, text: str) -> bool:
    """Return whether a text is in a script that a tokeniser can't read.

    Parameters
    ----------
    tokeniser : str
        One of `TOKENISERS`.
    text : str
        The text, unchanged.

    Returns
    -------
    bool
        True if it has letters or digits but the tokeniser finds no word in it, unless they are left out on purpose, as
        "squad" does with articles.

    Examples
    --------
    >>> cannot_read("alnum", "都柏林"), cannot_read("alnum", "Dublin"), cannot_read("alnum", "?!")
    (True, False, False)
    """
    is_dropped_on_purpose = tokeniser == "squad" or text.isascii()
    return not is_dropped_on_purpose and any(map(str.isalnum, text)) and not has_words(tokeniser, text)


TOKENISERS: dict[str, Tokeniser] = {
    "squad": tokens,
    "alnum": lambda text: _ALNUM.findall(text.lower()),
    "words": _WORDS.findall,
    "spaces": str.split,
    "mocha": lambda text: text.translate(_STOPS).split(),
    "characters": split_characters,
}

MEANINGS = {
    "squad": "lower case, no punctuation, no articles",
    "alnum": "runs of a–z and 0–9, lower case",
    "words": "words and punctuation marks",
    "spaces": "split at white space",
    "mocha": "?, . and ! deleted, then split at white space",
    "characters": "every character, for Chinese and similar scripts",
}
"""What each tokeniser does, for forms. `squad` deletes ASCII punctuation and a, an, the; `words` are runs of letters
and digits. Case is kept unless stated."""
