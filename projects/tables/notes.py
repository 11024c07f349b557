"""What is below a table: notes, and the reasons of undefined figures."""

import re
from collections.abc import Iterator, Sequence

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class Notes:
    """Reasons of undefined figures and notes on others, each with the letter by which cells refer to it."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def mark(self, note: str) -> str:
        """Return the letter of a note."""
        return self._letters.setdefault(note, _make_letter(len(self._letters)))

    def find(self, note: str) -> str:
        """Return the letter of a note that is marked already; empty for one that is not."""
        return self._letters.get(note, "")

    def __len__(self) -> int:
        return len(self._letters)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield each letter with its note as a sentence."""
        return ((letter, end_sentence(note)) for note, letter in self._letters.items())

    def list_sentences(self, of_table: Sequence[str]) -> list[str]:
        """Return the notes of the table, and then those of its cells."""
        return [*map(end_sentence, of_table), *(f"({letter}) {note}" for letter, note in self)]


def end_sentence(text: str) -> str:
    """Return a text with one full stop; some end with a sentence that has it already, such as a scale's."""
    return f"{text.rstrip('. ')}."


def flatten_text(text: str) -> str:
    """Return a text on one line, without control characters."""
    return _CONTROLS.sub(" ", text)


def _make_letter(number: int) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return letters[number % 26] * (1 + number // 26)
