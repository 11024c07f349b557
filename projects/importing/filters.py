"""Pure functions on texts that filter and convert candidates during an import."""

import re
import string
from collections import Counter
from collections.abc import Sequence

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NUMBER = re.compile(r"[-+]?[$€£]?[-+]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)?(?:\.[0-9]+)?%?")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def normalise_as_squad(text: str) -> str:
    """Return the text as SQuAD compares answers: lower case, single spaces, without punctuation and articles.

    >>> normalise_as_squad("The  U.S. Army!")
    'us army'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def is_equal(candidate: str, references: Sequence[str], how: str) -> bool:
    """Return whether the candidate equals one of the references; `how` is `exact` or `normalised`."""
    if candidate in references:
        return True
    if how != "normalised":
        return False
    normal = normalise_as_squad(candidate)
    return any(normalise_as_squad(reference) == normal for reference in references)


def is_number(text: str) -> bool:
    """Return whether a text is only a number: digits with thousands commas, decimals, sign, currency or per cent.

    >>> [is_number(text) for text in ("1,234.5", "-7", "$3", "45%", "2 yards", "", "١")]
    [True, True, True, True, False, False, False]
    """
    bare = text.strip()
    return any(character in "0123456789" for character in bare) and _NUMBER.fullmatch(bare) is not None


def overlap(first: str, second: str) -> float:
    """Return the token F1 of two answers after SQuAD normalisation, between 0 and 1.

    >>> overlap("the red house", "a red car")
    0.5
    """
    one, two = normalise_as_squad(first).split(), normalise_as_squad(second).split()
    if not one or not two:
        return float(one == two)
    shared = sum((Counter(one) & Counter(two)).values())
    return 2 * shared / (len(one) + len(two))


def find_choice(choices: Sequence[str], choice: object) -> str | None:
    """Return the choice named by a letter (`A` is the first), a number from 0 or its own text; None if none matches.

    >>> find_choice(["red", "blue"], "B"), find_choice(["red", "blue"], 1), find_choice(["red", "blue"], "red")
    ('blue', 'blue', 'red')
    """
    if isinstance(choice, str):
        if choice in choices:
            return choice
        if len(choice) == 1 and choice.lower() in LETTERS:
            place = LETTERS.index(choice.lower())
        elif choice.isascii() and choice.isdigit() and len(choice) < 4:
            place = int(choice)
        else:
            return None
    elif isinstance(choice, int) and not isinstance(choice, bool):
        place = choice
    else:
        return None
    return choices[place] if 0 <= place < len(choices) else None
