"""The guard against formulas: the one place that makes outside text safe for spreadsheets.

A cell that a spreadsheet would take for a formula gets an apostrophe in front; a plain number such as -5 is left as it
is. Nothing is lost: `unguarded` gives back the text. Only text from outside is guarded, never our own numbers and ids.
"""

import re

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_PLAIN_NUMBER = "^-?[0-9]+([.][0-9]+)?$"
_SQL_STARTS = ", ".join(
    {"\t": r"E'\t'", "\r": r"E'\r'", "\n": r"E'\n'"}.get(start, f"'{start}'") for start in FORMULA_STARTS
)


def guarded(expression: str) -> str:
    """SQL that guards a text expression of SQL (never a value: values are bound)."""
    return (
        f"CASE WHEN left(ltrim({expression}, ''''), 1) = ANY (ARRAY[{_SQL_STARTS}]) "
        f"AND {expression} !~ '{_PLAIN_NUMBER}' THEN '''' || {expression} ELSE {expression} END"
    )


def unguarded(text: str) -> str:
    """The text as it was before the guard."""
    if text.startswith("'") and text.lstrip("'").startswith(FORMULA_STARTS) and not re.match(_PLAIN_NUMBER, text):
        return text[1:]
    return text
