"""Tables of figures: columns and rows, which templates show and `writing` turns into files.

A cell is a text, a number, an estimate with its interval, or undefined with its reason; each file format shows that in
its own way, and none shows a zero for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

FORM_NAMES = {"csv": "CSV", "tex": "LaTeX", "md": "Markdown"}


class Wording(str):
    """A text of the files that pages word in another way.

    Frozen sets hold the tables of evaluations, so the same figures have to give the same bytes in every version. As a
    string this is the text of the files; `page` is what pages show.
    """

    __slots__ = ("page",)
    page: str

    def __new__(cls, text: str, *, page: str) -> Self:
        wording = super().__new__(cls, text)
        wording.page = page
        return wording


def word_for_page(text: str) -> str:
    """Return the text as pages show it."""
    return text.page if isinstance(text, Wording) else text


@dataclass(frozen=True)
class Estimate:
    """A number with its interval; the ends are None where there is no interval."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Missing:
    """What is undefined, and why."""

    reason: str


Value = str | int | float | Estimate | Missing | None
ColumnKind = Literal["text", "count", "number", "estimate", "p"]


@dataclass(frozen=True)
class Column:
    """A column: key, title in files, kind of its values, and digits after the point."""

    key: str
    title: str
    kind: ColumnKind = "text"
    digits: int = 3

    @property
    def heading(self) -> str:
        """The title on pages."""
        return word_for_page(self.title)

    @property
    def is_number(self) -> bool:
        return self.kind != "text"


@dataclass(frozen=True)
class Cell:
    """A cell as a page shows it."""

    column: Column
    value: Value

    @property
    def text(self) -> str:
        """The number with a real minus sign, or the text; empty where undefined."""
        if isinstance(self.value, Wording):
            return self.value.page
        text = format_cell(self.value, self.column)
        return text.replace("-", "\u2212") if self.column.is_number else text

    @property
    def ends(self) -> str:
        return format_interval(self.value, self.column).replace("-", "\u2212")

    @property
    def reason(self) -> str:
        return self.value.reason if isinstance(self.value, Missing) else ""


@dataclass(frozen=True)
class Table:
    """Figures in rows. Pages show the title, files the caption."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    caption: str = ""
    n_keys: int = 1
    """Columns, from the first on, that identify a row."""

    # Without an annotation, so that the dataclass takes it for no field.
    forms = tuple(FORM_NAMES.items())

    @property
    def cells(self) -> list[tuple[list[Cell], list[Cell]]]:
        """Each row as the cells that identify it, and the others."""
        rows = [[Cell(*pair) for pair in zip(self.columns, row, strict=True)] for row in self.rows]
        return [(row[: self.n_keys], row[self.n_keys :]) for row in rows]


def read_value(stored: Any) -> Value:
    """Return a figure of a stored result: an object with a reason is undefined, one with a value an estimate."""
    if isinstance(stored, Mapping):
        # A stored interval may lie around an undefined value, hence both tests.
        if "reason" in stored:
            return Missing(stored["reason"])
        if isinstance(stored["value"], Mapping):
            return Missing(stored["value"]["reason"])
        return Estimate(stored["value"], stored.get("low"), stored.get("high"))
    value: Value = stored
    return value


def read_number(stored: Any) -> Value:
    """Return a stored number without an interval, or the reason why it is undefined."""
    if isinstance(stored, Mapping):
        return Missing(stored["reason"])
    value: float | None = stored
    return value


def read_ceiling(stored_ceiling: Mapping[str, Any]) -> Value:
    """Return a stored human ceiling as a cell."""
    if "reason" in stored_ceiling:
        return read_value(stored_ceiling)
    return Estimate(stored_ceiling["r"], stored_ceiling["low"], stored_ceiling["high"])


def format_cell(value: Value, column: Column) -> str:
    """Return a figure with the digits of its column, and a hyphen for a minus."""
    if value is None or isinstance(value, Missing):
        return ""
    number = value.value if isinstance(value, Estimate) else value
    if isinstance(number, str):
        return number
    if column.kind == "count":
        return f"{number:,.0f}"
    if column.kind == "p" and number < 10**-column.digits:
        return f"< {10**-column.digits:.{column.digits}f}"
    return _round(number, column.digits)


def format_interval(value: Value, column: Column) -> str:
    """Return the ends of an interval with as many digits; empty where there is none."""
    if not isinstance(value, Estimate) or value.low is None or value.high is None:
        return ""
    return f"[{_round(value.low, column.digits)}, {_round(value.high, column.digits)}]"


def _round(number: float, digits: int) -> str:
    text = f"{number:.{digits}f}"
    # A small negative number would otherwise read as -0.000.
    return text.removeprefix("-") if float(text) == 0 else text
