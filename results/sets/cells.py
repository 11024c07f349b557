"""CSV as the database writes it: cells quoted where they must be, numbers without a needless point."""

import math
import re
from collections.abc import Iterable
from typing import IO

from projects.database.csv import guarded_text

Value = str | float | int | None


def format_number(number: float) -> int | float:
    """3.0 as 3, as JSON and CSV of the database have it."""
    return int(number) if float(number).is_integer() else number


def write_row(file: IO[bytes], values: Iterable[Value]) -> None:
    """One row. Texts from outside are guarded by the caller."""
    file.write((",".join(map(_cell, values)) + "\n").encode())


def guard_text(text: str | None) -> str | None:
    """A text from outside, so that no spreadsheet takes it for a formula."""
    return guarded_text(text) if text else text


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(format_number(value))
    text = str(value)
    if _QUOTED.search(text) or text == "\\.":
        return f'"{text.replace(chr(34), chr(34) * 2)}"'
    return text


_QUOTED = re.compile('[,"\r\n]')
