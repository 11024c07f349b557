"""Texts from outside, as the Markdown files of a set hold them."""


def flatten(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def escape_cell(text: str) -> str:
    """Return a text that a cell of a table can hold."""
    return flatten(text).replace("|", "\\|")
