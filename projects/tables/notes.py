"""What stands below a table in files: notes, and the reasons of undefined figures."""

import re

from projects.tables.tables import Table

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class Notes:
    """Reasons of undefined figures and notes on others, each with the letter by which cells refer to it."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def mark(self, note: str) -> str:
        """Return the letter of a note."""
        return self._letters.setdefault(note, _make_letter(len(self._letters)))

    def list_sentences(self, table: Table) -> list[str]:
        """Return the notes of the table, and then those of its cells."""
        cells = [f"({letter}) {end_sentence(note)}" for note, letter in self._letters.items()]
        return [*map(end_sentence, table.notes), *cells]


def end_sentence(text: str) -> str:
    """Return a text with one full stop; some end with a sentence that has it already, such as a scale's."""
    return f"{text.rstrip('. ')}."


def flatten_text(text: str) -> str:
    """Return a text on one line, without control characters."""
    return _CONTROLS.sub(" ", text)


def _make_letter(number: int) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return letters[number % 26] * (1 + number // 26)
