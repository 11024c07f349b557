"""Tokenisers: the ways in which a text becomes words."""

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
        The text as it stands.

    Returns
    -------
    list of str
        Every character but white space.

    Examples
    --------
    >>> split_characters("大学 在都柏林")
    ['大', '学', '在', '都', '柏', '林']
    """
    return list("".join(text.split()))


def has_words(tokeniser: str, text: str) -> bool:
    """Whether a tokeniser finds any word in a text.

    Parameters
    ----------
    tokeniser : str
        One of `TOKENISERS`.
    text : str
        The text as it stands.

    Returns
    -------
    bool
        What splitting the text would say, mostly without doing so.

    Examples
    --------
    >>> has_words("squad", "the cat"), has_words("squad", "the"), has_words("alnum", "都柏林")
    (True, False, False)
    """
    # Only SQuAD's rules drop a word of plain letters.
    return bool((tokeniser != "squad" and _LETTER.search(text)) or TOKENISERS[tokeniser](text))


def cannot_read(tokeniser: str, text: str) -> bool:
    """Whether a text is in a script of which a tokeniser reads nothing.

    Parameters
    ----------
    tokeniser : str
        One of `TOKENISERS`.
    text : str
        The text as it stands.

    Returns
    -------
    bool
        True where it has letters or digits, the tokeniser finds no word in it, and did not leave them out on purpose,
        as "squad" does with articles.

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
    "alnum": "runs of a–z and 0–9, in lower case",
    "words": "words and punctuation marks",
    "spaces": "split at spaces",
    "mocha": "split at spaces, without ?, . and !",
    "characters": "each character, as for Chinese",
}
"""What a word is to each of them, as a form says it. `squad` deletes ASCII punctuation and a, an, the; `words` are runs
of letters and digits. Case is kept unless it is said."""
