"""Tables of figures: columns and rows, which templates show and `writing` turns into files.

A cell is a text, a number, an estimate with its interval, an interval, or undefined with its reason; each file format
shows that in its own way, and none shows a zero for it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress
from typing import Literal, Self

from projects.language.amounts import write_decimal
from projects.tables.notes import Notes

FORM_NAMES = {"csv": "CSV", "tex": "LaTeX", "md": "Markdown"}


class Wording(str):
    """A text of the files that pages word in another way.

    Frozen sets hold the tables of evaluations, so the same figures have to give the same words in every version. As a
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


class Name(str):
    """A text that pages show with a link, a badge or an entry of the glossary; in files it is the text alone."""

    __slots__ = ("badge", "hint", "url")
    url: str
    badge: str
    hint: str

    def __new__(cls, text: str, *, url: str = "", badge: str = "", hint: str = "") -> Self:
        name = super().__new__(cls, text)
        name.url, name.badge, name.hint = url, badge, hint
        return name


@dataclass(frozen=True)
class Interval:
    """The ends of an interval, with a note where they need one."""

    low: float
    high: float
    note: str = ""


@dataclass(frozen=True)
class Estimate:
    """A number with its interval; the ends are None where there is no interval, and the note may say why."""

    value: float
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Missing:
    """What is undefined, and why."""

    reason: str


Value = str | int | float | Estimate | Interval | Missing | None
ColumnKind = Literal["text", "count", "number", "estimate", "interval", "p"]

NO_NUMBER = Missing("not a number")
USUAL_INTERVAL = "95 % CI"
MOST_AT_ONCE = 60
"""Rows that a page shows in full, which fill about two screens; more of them scroll in a frame."""
LONGEST_IN_CELL = 28
"""The longest reason that pages show in its cell. Of a table with a longer one, all are below, each with a letter."""
MOST_REPEATED = 2
"""How often a row may have the same reason in its cells, before all are below."""


@dataclass(frozen=True)
class Column:
    """A column: key, title in files, kind of its values, and digits after the point."""

    key: str
    title: str
    kind: ColumnKind = "text"
    digits: int = 3
    hint: str = ""
    """The entry of the glossary that explains the column on pages."""
    interval: str = USUAL_INTERVAL
    """The heading of an estimate's interval, where it has a column of its own."""
    is_signed: bool = False
    """Whether pages show a plus sign, as for a difference."""
    on_page: bool = True
    """Whether pages show it; files have every column."""

    @property
    def heading(self) -> str:
        """The title on pages."""
        return word_for_page(self.title)

    @property
    def shown_interval(self) -> str:
        """What pages say of the interval below the title; nothing of one that is like the others."""
        return self.interval if self.kind == "estimate" and self.interval != USUAL_INTERVAL else ""

    @property
    def is_number(self) -> bool:
        return self.kind != "text"


@dataclass(frozen=True)
class Cell:
    """A cell as a page shows it."""

    column: Column
    value: Value
    mark: str = ""
    """The letter of its reason or note, where that is below the table."""

    @property
    def text(self) -> str:
        """The number with a real minus sign, or the text; empty where undefined."""
        if isinstance(self.value, Wording):
            return self.value.page
        if self.column.kind == "interval":
            return self.ends
        text = format_cell(self.value, self.column)
        if self.column.is_signed and text and text[0].isdigit() and text.strip("0.,"):
            text = f"+{text}"
        return text.replace("-", "\u2212") if self.column.is_number else text

    @property
    def ends(self) -> str:
        return format_interval(self.value, self.column).replace("-", "\u2212")

    @property
    def reason(self) -> str:
        return self.value.reason if isinstance(self.value, Missing) else ""

    @property
    def note(self) -> str:
        return self.value.note if isinstance(self.value, Estimate | Interval) else ""

    @property
    def url(self) -> str:
        return self.value.url if isinstance(self.value, Name) else ""

    @property
    def badge(self) -> str:
        return self.value.badge if isinstance(self.value, Name) else ""

    @property
    def hint(self) -> str:
        return self.value.hint if isinstance(self.value, Name) else ""

    @property
    def sort_key(self) -> str:
        """The unrounded number that the browser sorts by; empty where there is none."""
        number = self.value
        if isinstance(number, Estimate):
            number = number.value
        elif isinstance(number, Interval):
            number = number.low
        return "" if number is None or isinstance(number, str | Missing) else repr(float(number))


@dataclass(frozen=True)
class Table:
    """Figures in rows. Pages show the title, files the caption."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    caption: str = ""
    """One sentence that says what the figures are, of how many units, and by which method."""
    n_keys: int = 1
    """Columns, from the first on, that identify a row."""
    foot: Sequence[Sequence[Value]] = ()
    """Rows that stay below the others in every order, such as a total."""
    notes: Sequence[str] = ()
    """Sentences below the table in files, such as the settings of metrics."""
    label: str = ""
    """What LaTeX refers to the table by; otherwise its name."""

    # Without an annotation, so that the dataclass takes it for no field.
    forms = tuple(FORM_NAMES.items())

    @property
    def page_columns(self) -> list[Column]:
        return [column for column in self.columns if column.on_page]

    @property
    def is_long(self) -> bool:
        return len(self.rows) > MOST_AT_ONCE

    @cached_property
    def page_notes(self) -> Notes:
        """The reasons and notes that pages show below the table: all in reading order, or none.

        None are below where all are short, and no row repeats one more than twice.
        """
        shown = [column.on_page for column in self.columns]
        rows = [list(filter(None, map(read_note, compress(row, shown)))) for row in self.all_rows]
        notes = Notes()
        if any(len(note) > LONGEST_IN_CELL or row.count(note) > MOST_REPEATED for row in rows for note in row):
            for note in chain.from_iterable(rows):
                notes.mark(note)
        return notes

    @property
    def body(self) -> list[tuple[list[Cell], list[Cell]]]:
        """Each row as the cells that identify it, and the others."""
        return [self._make_cells(row) for row in self.rows]

    @property
    def foot_cells(self) -> list[tuple[list[Cell], list[Cell]]]:
        return [self._make_cells(row) for row in self.foot]

    @property
    def all_rows(self) -> list[list[Value]]:
        """The rows and those of the foot, without numbers that are none."""
        return [[mark_undefined(value) for value in row] for row in [*self.rows, *self.foot]]

    def _make_cells(self, row: Sequence[Value]) -> tuple[list[Cell], list[Cell]]:
        pairs = zip(self.columns, row, strict=True)
        cells = [self._make_cell(column, mark_undefined(value)) for column, value in pairs if column.on_page]
        return cells[: self.n_keys], cells[self.n_keys :]

    def _make_cell(self, column: Column, value: Value) -> Cell:
        return Cell(column, value, self.page_notes.find(read_note(value)))


def mark_undefined(value: Value) -> Value:
    """Return the value, or that it is undefined where a number is infinite or none at all."""
    if isinstance(value, float):
        return value if math.isfinite(value) else NO_NUMBER
    if isinstance(value, Estimate):
        if not math.isfinite(value.value):
            return NO_NUMBER
        ends = (value.low, value.high)
        return value if all(end is None or math.isfinite(end) for end in ends) else Estimate(value.value)
    if isinstance(value, Interval) and not (math.isfinite(value.low) and math.isfinite(value.high)):
        return NO_NUMBER
    return value


def read_note(value: Value) -> str:
    """Return why a figure is undefined, or the note on one that is not."""
    if isinstance(value, Missing):
        return value.reason
    return value.note if isinstance(value, Estimate | Interval) else ""


def format_cell(value: Value, column: Column) -> str:
    """Return a figure with the digits of its column, and a hyphen for a minus."""
    if value is None or isinstance(value, Missing):
        return ""
    if isinstance(value, Interval):
        return format_interval(value, column)
    number = value.value if isinstance(value, Estimate) else value
    if isinstance(number, str):
        return number
    if column.kind == "count":
        return f"{number:,.0f}"
    if column.kind == "p" and number < 10**-column.digits:
        return f"< {10**-column.digits:.{column.digits}f}"
    return write_decimal(number, column.digits)


def format_interval(value: Value, column: Column) -> str:
    """Return the ends of an interval with as many digits; empty where there is none."""
    if not isinstance(value, Estimate | Interval) or value.low is None or value.high is None:
        return ""
    return f"[{write_decimal(value.low, column.digits)}, {write_decimal(value.high, column.digits)}]"
