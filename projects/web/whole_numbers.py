"""Whole numbers that addresses and forms name."""

NUMBER_DIGITS = 9
"""So many fit PostgreSQL's integer, which raises an error for more."""
ID_DIGITS = 18
"""So many fit a bigint."""


def parse_whole_number(text: str, *, most_digits: int = NUMBER_DIGITS) -> int | None:
    """Return the number that a text of ASCII digits is; None for any other text, and for more digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= most_digits else None
