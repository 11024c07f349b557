"""Characters that no text may contain, and texts that show nothing.

Forbidden is what XML 1.0 forbids: it is invisible, and no chart can show it. Tab, line feed and carriage return are
allowed. So are DEL and the controls from U+0080, which XML only discourages.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_LINE_END = re.compile("\r\n|\r|\n")
_SHAPELESS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and signs that are drawn as nothing: fillers, joiners, the empty Braille pattern."""
_NAMES = {"\x00": "NUL", "\x0b": "vertical tab", "\x0c": "form feed", "\x1b": "escape"}


@dataclass(frozen=True)
class Forbidden:
    """The first forbidden character of a text; its position, line and column count from 1."""

    character: str
    position: int
    line: int
    column: int

    @property
    def code(self) -> str:
        return f"U+{ord(self.character):04X}"

    @property
    def problem(self) -> str:
        """What is wrong with a text of a file, after the name of its column."""
        return f"contains {self.name} as character {self.position}, which cannot be stored; remove it"

    @property
    def name(self) -> str:
        """The code point and what it is, for a message in English."""
        if "\ud800" <= self.character <= "\udfff":
            kind = "an unpaired surrogate"
        elif self.character > "\x1f":
            kind = "a noncharacter"
        else:
            kind = _NAMES.get(self.character, "a control character")
        return f"{self.code} ({kind})"


def find_forbidden(text: str) -> Forbidden | None:
    """Return the first character of the text that may not be stored, None if there is none."""
    # Nearly every text without line breaks is printable, which is looked up much faster than it is searched.
    if text.isprintable() or (found := FORBIDDEN.search(text)) is None:
        return None
    before = _LINE_END.split(text[: found.start()])
    return Forbidden(found.group(), found.start() + 1, len(before), len(before[-1]) + 1)


def find_forbidden_within(value: Any) -> Forbidden | None:
    """Return the first forbidden character in the texts and keys of a JSON value, which may be nested deeply."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            if found := find_forbidden(value):
                return found
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
    return None


def remove_forbidden(text: str) -> str:
    """Return the text without them: for texts that are saved while they are typed, which nobody can correct."""
    return text if text.isprintable() else FORBIDDEN.sub("", text)


def replace_forbidden(text: str) -> str:
    """Return the text with � in their place: for showing what was stored before they were refused."""
    return text if text.isprintable() else FORBIDDEN.sub(_REPLACEMENT, text)


def is_blank(text: str) -> bool:
    """Return whether a text shows nothing: it is empty, or has only spaces and characters that are drawn as nothing."""
    if "!" <= text[:1] <= "~":
        return False  # nearly all texts, without a look at their characters
    return not any(unicodedata.category(each)[0] not in "ZC" and each not in _SHAPELESS for each in text)
