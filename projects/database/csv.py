"""The guard against formulas: what a spreadsheet would take for one gets an apostrophe in front.

A plain number such as -5 is left as it is. Only text from outside is guarded, never our own numbers and ids.
"""

import re

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
PLAIN_NUMBER = "^-?[0-9]+([.][0-9]+)?$"


def guarded_text(text: str) -> str:
    """The text as a spreadsheet can safely open it; nothing is lost, as `unguarded` gives it back."""
    if text.lstrip("'").startswith(FORMULA_STARTS) and not re.match(PLAIN_NUMBER, text):
        return f"'{text}"
    return text


def unguarded(text: str) -> str:
    """The text as it was before the guard."""
    if text.startswith("'") and text.lstrip("'").startswith(FORMULA_STARTS) and not re.match(PLAIN_NUMBER, text):
        return text[1:]
    return text


_SQL_STARTS = ", ".join(
    {"\t": r"E'\t'", "\r": r"E'\r'", "\n": r"E'\n'"}.get(start, f"'{start}'") for start in FORMULA_STARTS
)


def guarded_sql(expression: str) -> str:
    """SQL that guards a text expression of SQL (never a value: values are bound)."""
    return (
        f"CASE WHEN left(ltrim({expression}, ''''), 1) = ANY (ARRAY[{_SQL_STARTS}]) "
        f"AND {expression} !~ '{PLAIN_NUMBER}' THEN '''' || {expression} ELSE {expression} END"
    )
