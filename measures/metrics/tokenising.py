"""Tokenisers: functions that split a text into words."""

import re
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

from measures.token_overlap import split_squad_words

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


def split_jieba(text: str) -> list[str]:
    """Split a Chinese text into words with jieba.

    Parameters
    ----------
    text : str
        The text, unchanged.

    Returns
    -------
    list of str
        Words and punctuation marks, without white space; words that are not in jieba's dictionary are guessed by its
        hidden Markov model.

    Raises
    ------
    ModuleNotFoundError
        jieba is not installed (see `has_jieba`).

    References
    ----------
    https://github.com/fxsjy/jieba, version 0.42.1, in its precise mode.

    Examples
    --------
    >>> split_jieba("来到 北京") if has_jieba() else ["来到", "北京"]
    ['来到', '北京']
    """
    return [word for word in _load_jieba().cut(text) if not word.isspace()]


def has_jieba() -> bool:
    """Return whether jieba is installed.

    Examples
    --------
    >>> has_jieba() in (True, False)
    True
    """
    return find_spec("jieba") is not None


@cache
def _load_jieba() -> Any:
    """Return jieba's tokeniser with its dictionary, which takes about a second to load."""
    import jieba

    # By itself jieba would keep the dictionary in a file of the shared temporary folder and read it from there, whoever
    # wrote it.
    tokeniser = jieba.Tokenizer()
    tokeniser.FREQ, tokeniser.total = tokeniser.gen_pfdict(tokeniser.get_dict_file())
    tokeniser.initialized = True
    return tokeniser


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
    "squad": split_squad_words,
    "alnum": lambda text: _ALNUM.findall(text.lower()),
    "words": _WORDS.findall,
    "spaces": str.split,
    "mocha": lambda text: text.translate(_STOPS).split(),
    "characters": split_characters,
    "jieba": split_jieba,
}

MEANINGS = {
    "squad": "lower case, no punctuation, no articles",
    "alnum": "runs of a–z and 0–9, lower case",
    "words": "words and punctuation marks",
    "spaces": "split at white space",
    "mocha": "?, . and ! deleted, then split at white space",
    "characters": "every character, for Chinese and similar scripts",
    "jieba": "Chinese words, by jieba (installed by make chinese)",
}
"""What each tokeniser does, for forms. `squad` deletes ASCII punctuation and a, an, the; `words` are runs of letters
and digits. Case is kept unless stated."""
