"""The guard against formulas, as an expression of SQL; `projects.database.csv` says what it guards against."""

from projects.database.csv import FORMULA_STARTS, PLAIN_NUMBER, unguarded

__all__ = ["FORMULA_STARTS", "guarded", "unguarded"]

_SQL_STARTS = ", ".join(
    {"\t": r"E'\t'", "\r": r"E'\r'", "\n": r"E'\n'"}.get(start, f"'{start}'") for start in FORMULA_STARTS
)


def guarded(expression: str) -> str:
    """SQL that guards a text expression of SQL (never a value: values are bound)."""
    return (
        f"CASE WHEN left(ltrim({expression}, ''''), 1) = ANY (ARRAY[{_SQL_STARTS}]) "
        f"AND {expression} !~ '{PLAIN_NUMBER}' THEN '''' || {expression} ELSE {expression} END"
    )
