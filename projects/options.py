"""Types of the options of commands. Commands that start before Django is ready use them too."""

import argparse
from collections.abc import Callable
from typing import TypeVar

from projects.errors import Refused

T = TypeVar("T")

MOST_PORT = 65_535


def reader(read: Callable[[str], T]) -> Callable[[str], T]:
    """Return an option type; a text that `read` refuses is a usage error, so the command exits with 2."""

    def parse(text: str) -> T:
        try:
            return read(text)
        except Refused as refusal:
            raise argparse.ArgumentTypeError(refusal.message) from refusal

    return parse


def whole_number(*, least: int, most: int | None = None) -> Callable[[str], int]:
    """Return an option type for whole numbers; others are usage errors."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise Refused(f"must be a whole number, not {text!r}") from None
        if number < least:
            raise Refused(f"must be at least {least}")
        if most is not None and number > most:
            raise Refused(f"must be at most {most}")
        return number

    return reader(read)
