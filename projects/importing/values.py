"""Single values: what is accepted as text, id, number, list or time.

An id may be a whole number in JSON. A number may be a text of digits, without spaces, with the decimal mark of the
file; `-0` is 0. Any other value of the wrong type is refused with its line.
"""

import datetime
import json
import re
from collections.abc import Mapping
from typing import Any

from projects.importing.check_report import Notes
from projects.importing.import_options import normal_label
from projects.importing.limits import Limits
from projects.importing.readers.json_values import DECODER
from projects.language.characters import find_forbidden
from projects.language.names import shorten_name

ID_LENGTH = 200
# Digits beyond these would not survive a float or an integer column.
PLAIN_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")
COMMA_NUMBER = re.compile(r"-?[0-9]{1,15}(?:,[0-9]{1,15})?")
MAYBE_THOUSANDS = re.compile(r"-?[1-9][0-9]{0,2},[0-9]{3}")
PLAIN_WHOLE = re.compile(r"-?[0-9]{1,9}")
# Joiners are part of the spelling of Persian, of the scripts of India and Mongolia, and of emoji.
_JOINED = "\u0600-\u1fff\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
INVISIBLE = re.compile(
    "[\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
    f"|(?<![{_JOINED}])[\u200c\u200d]"
)
SHEET_ERROR = re.compile(r"#(?:N/?A|NV|[A-ZÀ-Þ]+[!?]|DIV/0!)")
FORMULA = re.compile(r"=[^=\s]")
MARKUP = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*(?:\s[^<>]*)?/?>|&(?:[a-z]{2,8}|#[0-9]{2,6});")
HAS_SHEET_ERROR = "A cell contains an error of the spreadsheet, such as #NAME?."
HAS_FORMULA = "A text starts like a formula, such as =A1. It is imported as text and not calculated."
HAS_MARKUP = "A text contains markup, such as <b> or &amp;. It is shown as written."
READ_COMMAS = "Numbers with a comma, such as 7,5, are read as decimals."
LOOKS_EMPTY = "A text contains only spaces."
HAS_INVISIBLE = "A text contains invisible control characters."


class Values:
    """Reads single values from records; problems and warnings are added to the notes.

    A method returns an empty value both for a missing value and for one that was refused, so that the rest of the row
    is checked as well; callers compare the number of problems before and after.
    """

    def __init__(self, limits: Limits, notes: Notes) -> None:
        self.limits = limits
        self.notes = notes
        self.decimal = "point"
        """The decimal mark of numbers in texts: point, comma, both, or either if that isn't known."""
        self.labels: Mapping[str, float | None] = {}
        self._problem = notes.problem
        self._short = limits.cell_bytes // 4  # a character has at most four bytes: no shorter text is encoded to count

    def text(self, value: Any, column: str, line: int, most: int = 0) -> str:
        """Return a text unchanged, "" if it is missing or refused; `most` is its maximum length."""
        if value is None or value == "":
            return ""
        if type(value) is not str:
            self._problem(line, column, f"must be text, not {describe_type(value)}")
            return ""
        if found := find_forbidden(value):
            self._problem(line, column, found.problem)
            return ""
        if most and len(value) > most:
            self._problem(line, column, f"is longer than {most} characters")
            return ""
        if len(value) > self._short and len(value.encode("utf-8", "replace")) > self.limits.cell_bytes:
            self._problem(line, column, f"is larger than {self.limits.cell_bytes // 1024:,} kB")
            return ""
        if value[0] == "#" or value[0] == "=" or "<" in value or "&" in value:
            self._warn_of_spreadsheet(value, line)
        # Most texts are plain ASCII, for which the searches below are not needed.
        if not value.isascii() or "\x7f" in value:
            self._warn_of_invisible(value, line)
        if value.isspace():
            self.notes.warn(LOOKS_EMPTY, line)
        return value

    def _warn_of_spreadsheet(self, value: str, line: int) -> None:
        if SHEET_ERROR.fullmatch(value):
            self.notes.warn(HAS_SHEET_ERROR, line)
        elif FORMULA.match(value):
            self.notes.warn(HAS_FORMULA, line)
        elif MARKUP.search(value):
            self.notes.warn(HAS_MARKUP, line)

    def _warn_of_invisible(self, value: str, line: int) -> None:
        if INVISIBLE.search(value):
            self.notes.warn(HAS_INVISIBLE, line)

    def identity(self, value: Any, column: str, line: int) -> str:
        """Return an id as exact text, "" if it is missing or refused; a whole number becomes its digits."""
        if type(value) is int:
            return str(value)
        text = self.text(value, column, line, ID_LENGTH)
        if text and text.isspace():
            self._problem(line, column, "is an ID that contains only spaces")
            return ""
        return text

    def rating(self, value: Any, column: str, line: int) -> float | None:
        """Return the points of a number or a label, None if it is missing or was refused."""
        if type(value) is str:
            label = normal_label(value)
            if label in self.labels:
                return self.labels[label]
            if label and not any(character.isdecimal() for character in label):
                self._problem(
                    line,
                    column,
                    f"must be a number, not “{shorten_name(value, 30)}”; to read it as points, add a label such as "
                    "Excellent=5",
                )
                return None
        return self.number(value, column, line)

    def number(self, value: Any, column: str, line: int) -> float | None:
        """Return a number, None if it was refused."""
        # `type` rather than isinstance: True and False are integers in Python. Adding 0.0 turns -0 into 0.
        if type(value) is int or type(value) is float:
            return value + 0.0
        if type(value) is str:
            if self.decimal != "comma" and PLAIN_NUMBER.fullmatch(value):
                return float(value) + 0.0
            if COMMA_NUMBER.fullmatch(value):
                return self._read_comma(value, column, line)
        what = f"“{shorten_name(value, 30)}”" if type(value) is str else describe_type(value)
        self._problem(line, column, f"must be a number (digits, with a decimal {self._name_decimal()}), not {what}")
        return None

    def _read_comma(self, value: str, column: str, line: int) -> float | None:
        if self.decimal == "point":
            self._problem(
                line,
                column,
                f"must be a number: “{value}” has a comma; choose comma as the decimal mark, or use a decimal point",
            )
            return None
        if self.decimal == "either":
            if MAYBE_THOUSANDS.fullmatch(value):
                plain = value.replace(",", "")
                reason = (
                    f"must be a number: “{value}” may be {value.replace(',', '.')} or {plain}; choose the decimal mark"
                )
                self._problem(line, column, reason)
                return None
            self.notes.warn(READ_COMMAS, line)
        return float(value.replace(",", ".")) + 0.0

    def _name_decimal(self) -> str:
        return "comma" if self.decimal == "comma" else "point"

    def whole(self, value: Any, column: str, line: int) -> int | None:
        """Return a whole number that fits an integer column, None if it was refused."""
        if type(value) is int and abs(value) < 10**9:
            return value
        if type(value) is str and PLAIN_WHOLE.fullmatch(value):
            return int(value)
        what = f"“{shorten_name(value, 30)}”" if type(value) is str else describe_type(value)
        self._problem(line, column, f"must be a whole number, not {what}")
        return None

    def entries(self, value: Any, column: str, line: int, separators: str = "") -> list[Any]:
        """Return the entries of a list, of a JSON list in a text, of a text with separators, or of a single value.

        Of `separators` the first that occurs in the text is used.
        """
        if value is None or value == "":
            return []
        entries: list[Any]
        if type(value) is list:
            entries = value
        elif type(value) is str and value.lstrip().startswith("["):
            entries = self._from_json(value, column, line)
        elif type(value) is str:
            separator = next((each for each in separators if each in value), "")
            entries = [each.strip(" ") for each in value.split(separator)] if separator else [value]
        else:
            entries = [value]
        if len(entries) > self.limits.list_entries:
            self._problem(line, column, f"is a list of more than {self.limits.list_entries:,} entries")
            return []
        return entries

    def texts(self, value: Any, column: str, line: int, separators: str = "") -> list[str]:
        """Return a list of texts; an empty entry is a problem, as are those that are refused for another reason."""
        entries = self.entries(value, column, line, separators)
        if any(entry is None or entry == "" for entry in entries):
            self._problem(line, column, "is a list with an empty entry")
        return [self.text(entry, column, line) for entry in entries]

    def documents(self, value: Any, column: str, line: int) -> list[dict[str, str]]:
        """Return documents from objects with `title` and `text`, from pairs of the two, or from texts."""
        documents = []
        title: Any
        text: Any
        for entry in self.entries(value, column, line):
            if type(entry) is str:
                title, text = "", entry
            elif type(entry) is dict and set(entry) <= {"title", "text"}:
                title, text = entry.get("title"), entry.get("text")
            elif type(entry) is list and len(entry) == 2:
                title, text = entry
            else:
                self._problem(line, column, "must be a list of documents with title and text")
                return []
            documents.append({"title": self.text(title, column, line), "text": self.text(text, column, line)})
        return documents

    def scores(self, record: dict[str, Any], column: str, names_column: str, line: int) -> list[tuple[int, Any, str]]:
        """Return the scores of a list as (position from 1, score, annotator); the annotator is "" if none is named."""
        entries = self.entries(record.get(column), column, line, "|;")
        names = [
            self.identity(name, names_column, line)
            for name in self.entries(record.get(names_column), names_column, line, "|;")
        ]
        if not names:
            names = [""] * len(entries)
        elif len(names) != len(entries):
            self._problem(line, names_column, f"has {len(names)} annotators for {len(entries)} scores")
            return []
        elif not all(names) or len(set(names)) != len(names):
            self._problem(line, names_column, "contains a duplicate or empty annotator")
            return []
        scored = zip(range(1, len(entries) + 1), entries, names, strict=True)
        return [(position, entry, name) for position, entry, name in scored if entry is not None and entry != ""]

    def time(self, value: Any, column: str, line: int) -> str:
        """Return an ISO 8601 time as text in UTC, "" if it is missing or refused; without a zone it is taken as UTC."""
        text = self.text(value, column, line, 40)
        if not text:
            return ""
        try:
            moment = datetime.datetime.fromisoformat(text)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=datetime.UTC)
            return moment.astimezone(datetime.UTC).isoformat()
        except (ValueError, OverflowError):
            self._problem(line, column, f"must be a time such as 2026-03-01T12:00:00Z, not “{shorten_name(text, 40)}”")
            return ""

    def _from_json(self, value: str, column: str, line: int) -> list[Any]:
        try:
            entries: list[Any] = DECODER.decode(value)
        except (json.JSONDecodeError, RecursionError, ValueError):
            self._problem(line, column, "starts like a JSON list but is not valid")
            return []
        return entries


def describe_type(value: object) -> str:
    """Return the type of a value in words, for an error."""
    if value is None:
        return "null"
    names = {
        str: "a text",
        int: "a number",
        float: "a number",
        bool: "true or false",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), "something else")
