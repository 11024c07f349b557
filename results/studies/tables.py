"""Tables of figures: columns and rows as they are; templates show them, and `writing` makes files of them.

A cell is a text, a number, an estimate with its interval, or what is undefined with the reason; each form of file shows
that in its own way, and none shows a zero for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

FORM_NAMES = {"csv": "CSV", "tex": "LaTeX", "md": "Markdown"}


@dataclass(frozen=True)
class Estimate:
    """A number with its interval; without ends where there is none."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Missing:
    """What is undefined, and why."""

    reason: str


Value = str | int | float | Estimate | Missing | None
Share = Literal["text", "count", "number", "estimate", "p"]


@dataclass(frozen=True)
class Column:
    """A column by its key, its head, and what it holds; digits are those after the point."""

    key: str
    title: str
    kind: Share = "text"
    digits: int = 3

    @property
    def is_number(self) -> bool:
        return self.kind != "text"


@dataclass(frozen=True)
class Cell:
    """A cell as a page shows it."""

    column: Column
    value: Value

    @property
    def said(self) -> str:
        """The number or text, with a real minus sign; empty where it is undefined."""
        words = format_cell(self.value, self.column)
        return words.replace("-", "\u2212") if self.column.is_number else words

    @property
    def ends(self) -> str:
        return format_interval(self.value, self.column).replace("-", "\u2212")

    @property
    def reason(self) -> str:
        return self.value.reason if isinstance(self.value, Missing) else ""


@dataclass(frozen=True)
class Table:
    """Figures in rows, with the caption that says what they are of."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    caption: str = ""
    n_keys: int = 1
    """So many columns, from the first on, tell a row from the others."""

    forms = tuple(FORM_NAMES.items())

    @property
    def cells(self) -> list[tuple[list[Cell], list[Cell]]]:
        """Each row: the cells that name it, and the others."""
        rows = [[Cell(*pair) for pair in zip(self.columns, row, strict=True)] for row in self.rows]
        return [(row[: self.n_keys], row[self.n_keys :]) for row in rows]


def read_value(stored: Any) -> Value:
    """A figure out of a stored result: an object with a reason is undefined, one with a value an estimate."""
    if isinstance(stored, Mapping):
        if "reason" in stored:
            return Missing(stored["reason"])
        if isinstance(stored["value"], Mapping):
            return Missing(stored["value"]["reason"])
        return Estimate(stored["value"], stored.get("low"), stored.get("high"))
    value: Value = stored
    return value


def read_number(stored: Any) -> Value:
    """A stored number without an interval, or why there is none."""
    if isinstance(stored, Mapping):
        return Missing(stored["reason"])
    value: float | None = stored
    return value


def read_ceiling(stored_ceiling: Mapping[str, Any]) -> Value:
    """A stored human ceiling as a cell."""
    if "reason" in stored_ceiling:
        return read_value(stored_ceiling)
    return Estimate(stored_ceiling["r"], stored_ceiling["low"], stored_ceiling["high"])


def format_cell(value: Value, column: Column) -> str:
    """A figure in as many digits as its column gives, with a hyphen for a minus."""
    if value is None or isinstance(value, Missing):
        return ""
    number = value.value if isinstance(value, Estimate) else value
    if isinstance(number, str):
        return number
    if column.kind == "count":
        return f"{number:,.0f}"
    if column.kind == "p" and number < 10**-column.digits:
        return f"< {10**-column.digits:.{column.digits}f}"
    return _rounded(number, column.digits)


def format_interval(value: Value, column: Column) -> str:
    """The ends of an interval in as many digits; empty where there is none."""
    if not isinstance(value, Estimate) or value.low is None or value.high is None:
        return ""
    return f"[{_rounded(value.low, column.digits)}, {_rounded(value.high, column.digits)}]"


def _rounded(number: float, digits: int) -> str:
    text = f"{number:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text
