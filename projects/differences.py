"""What changed between two versions of a text, line by line."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

AROUND = 1
"""Unchanged lines shown on each side of a change."""


@dataclass(frozen=True)
class Line:
    """One line: the same in both versions, removed, added, or a gap where unchanged lines are left out."""

    kind: str
    text: str = ""


def compare(before: Sequence[str], after: Sequence[str]) -> list[Line]:
    """The changed lines, with a few around them; empty where nothing has changed."""
    before, after = _told(before), _told(after)
    lines: list[Line] = []
    for group in SequenceMatcher(None, before, after).get_grouped_opcodes(AROUND):
        if lines:
            lines.append(Line("gap"))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [Line("same", line) for line in before[i1:i2]]
            else:
                lines += [Line("removed", line) for line in before[i1:i2]]
                lines += [Line("added", line) for line in after[j1:j2]]
    return [] if all(line.kind == "same" for line in lines) else lines


def _told(lines: Sequence[str]) -> list[str]:
    """Lines with words in them, without the space around them, which Markdown does not show."""
    return [line.strip() for line in lines if line.strip()]
