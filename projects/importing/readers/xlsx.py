"""The reader of Excel files: the first sheet, with its cells as text."""

import datetime
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from openpyxl.cell.text import Text
from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.numbers import BUILTIN_FORMATS, BUILTIN_FORMATS_MAX_SIZE
from openpyxl.worksheet._reader import WorkSheetParser
from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS
from openpyxl.xml.functions import iterparse

from measures.rubric import format_plain_number
from projects.importing.check_report import Broken
from projects.importing.readers.base import IS_TITLE, Reader, Record, checked_header, trim_header
from projects.language.names import shorten_name

HAS_FORMULAS = (
    "The workbook contains formulas. Their last values are read; a formula that was never calculated is an empty cell."
)
READ_AS_VALUES = (
    "“{}” has dates or formatted numbers, which are read as their values, such as “{}”. To import them as they are "
    "displayed, save the sheet as CSV."
)
MERGED = "The value of a cell that is merged over several rows is read in each of them."
MERGED_ACROSS = "A cell is merged over several columns; its value is read in the first of them only."
FORMULA = re.compile(rb"<f[ >]")
_MERGED = re.compile(
    rb"""<(?:\w+:)?mergeCell\s[^<>]{0,200}?ref\s*=\s*["']([A-Z]{1,3})([0-9]{1,7}):([A-Z]{1,3})([0-9]{1,7})["']"""
)
_MOST_MERGED = 200_000
_LONGEST_TAG = 1_000
"""Up to this length, a tag that ends in the next piece is kept for it."""
_ZEROS = re.compile("(0{1,50})(?:;@)?")
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_PIECE = 1 << 20


class _Merged(NamedTuple):
    """A merged range: its first row and column, and its last."""

    first: int
    column: int
    last: int
    last_column: int


class _Workbook(ExcelReader):
    """Reads shared texts as they are written: the library's own reader would lose which underscores are escapes."""

    def read_strings(self) -> None:
        package: Any = self.package
        part = package.find(SHARED_STRINGS)
        if part is None:
            return
        with self.archive.open(part.PartName[1:]) as source:
            for _, node in iterparse(source):
                if node.tag == f"{{{SHEET_MAIN_NS}}}si":
                    text: Any = Text.from_tree(node)
                    self.shared_strings.append(text.content)
                    node.clear()


class XlsxReader(Reader):
    """Reads cells as texts: a whole number without `.0`, a date in ISO form, a formula as its last value.

    Of formats only the leading zeros of a number are read.
    """

    def open(self) -> None:
        self._check_archive()
        self._row = 0
        # Cells that are numbers come with a point; beside them, cells of text may have a comma.
        self.decimal = "either"
        # Given a path, the library judges by the extension, and uploads have none; given a file, by the content.
        self._stream = self.path.open("rb")
        try:
            workbook = _Workbook(self._stream, read_only=True, data_only=True, keep_links=False)
            workbook.read()
            self._book: Any = workbook.wb
            sheets = self._book.worksheets
        except MemoryError:
            raise
        except Exception as error:  # the library raises whatever its parsers raise
            self._stream.close()
            raise Broken(f"the Excel file cannot be read: {self._explain(error)}") from error
        try:
            self._open_sheet(sheets)
        except Broken:
            self.close()
            raise

    def _open_sheet(self, sheets: list[Any]) -> None:
        if not sheets:
            raise Broken("the Excel file has no sheet")
        if len(sheets) > 1:
            self.notes.warn(
                f"The file has {len(sheets)} sheets; only the first, “{shorten_name(sheets[0].title)}”, is read."
            )
        self._sheet = sheets[0]
        self._merged: list[_Merged] = []
        self._formats: dict[int, str] = {}
        self._formatted: list[int] = []
        self._examples: dict[str, str] = {}
        if self._search_sheet():
            self.notes.warn(HAS_FORMULAS)
        self._sheet.reset_dimensions()  # the size written in the file may be wrong and would cut off rows
        self._rows = self._read()
        header = next((cells for cells in self._rows if any(cells.values())), None)
        if header is None:
            raise Broken("the first sheet is empty")
        names = [header.get(place, "") for place in range(1, max(header) + 1)]
        self.columns = checked_header(trim_header(names, self.notes), self.limits, self.notes, self._row)

    def records(self) -> Iterator[Record]:
        names, n_columns = dict(enumerate(self.columns, start=1)), len(self.columns)
        last = self._row
        for cells in self._fill_merged(n_columns):
            if not cells:
                continue
            if self._row > last + 1:
                self.leave_out_blank(last + 1, self._row - last - 1)
            last = self._row
            filled = (place for place, text in cells.items() if place > n_columns and text.strip())
            if too_far := max(filled, default=0):
                self.notes.problem(self._row, "", f"too many cells: {too_far} instead of {n_columns}")
                self.leave_out(self._row)
                continue
            if self._formatted:
                self._warn_of_formats(cells, names)
            yield self._row, {name: cells.get(place, "") for place, name in names.items()}

    def hint(self) -> tuple[str, dict[str, tuple[str, ...]]]:
        """See Reader."""
        return (IS_TITLE, {}) if len(self.columns) == 1 else ("", {})

    def position(self) -> int:
        most = self._sheet.max_row or 0
        return min(self.size, self.size * self._row // most) if most else 0

    def close(self) -> None:
        self._book.close()
        self._stream.close()

    def _read(self) -> Iterator[dict[int, str]]:
        """Yield the rows as texts by the number of their column, without empty cells.

        The library's own rows would have an empty cell for each column before the last one, and an empty row for each
        number that a row skips: a cell may be in the last of 16,384 columns, and a row may claim to be the trillionth.
        """
        book, n_characters = self._book, 0
        try:
            with self._sheet._get_source() as source:
                parser = WorkSheetParser(
                    source,
                    self._sheet._shared_strings,
                    data_only=True,
                    epoch=book.epoch,
                    date_formats=book._date_formats,
                    timedelta_formats=book._timedelta_formats,
                )
                for number, row in parser.parse():
                    if number <= self._row:
                        continue
                    if number > self.limits.rows + 1:
                        most = f"{self.limits.rows:,}"
                        raise Broken(
                            f"more than {most} rows; split the file into smaller ones", line=self.limits.rows + 2
                        )
                    self._row = number
                    self._formatted = []
                    cells = {cell["column"]: self._as_text(cell) for cell in row if cell["value"] is not None}
                    # Cells may share one long text.
                    n_characters += sum(map(len, cells.values()))
                    if n_characters > self.limits.decoded_bytes:
                        most = f"{self.limits.decoded_bytes // 2**20:,}"
                        raise Broken(f"the decompressed file is larger than {most} MB; split it", line=number)
                    yield cells
        except (Broken, MemoryError):
            raise
        except Exception as error:
            raise Broken(
                f"the Excel file cannot be read further: {self._explain(error)}", line=self._row + 1
            ) from error

    def _fill_merged(self, n_columns: int) -> Iterator[dict[int, str]]:
        """Yield the rows below the header; a cell of a merged range that is empty in the file gets the range's value.

        A range goes on through rows that have a cell of their own, so that a long one adds no rows.
        """
        waiting = [each for each in sorted(self._merged, reverse=True) if self._row < each.first]
        open_ranges: dict[int, tuple[_Merged, str]] = {}
        for cells in self._rows:
            row = self._row
            while waiting and waiting[-1].first <= row:
                merged = waiting.pop()
                if merged.first == row and merged.column <= n_columns and (text := cells.get(merged.column, "")):
                    open_ranges[merged.column] = (merged, text)
                    if merged.last_column > merged.column:
                        self.notes.warn(MERGED_ACROSS, row)
            if open_ranges and any(cells.values()):
                ended = [column for column, (merged, _) in open_ranges.items() if merged.last < row]
                for column in ended:
                    del open_ranges[column]
                filled = {column: text for column, (_, text) in open_ranges.items() if not cells.get(column)}
                if filled:
                    cells.update(filled)
                    self.notes.warn(MERGED, row)
            yield cells

    def _explain(self, error: Exception) -> str:
        """Return the library's first sentence, without the path of the file here, which tells its owner nothing."""
        sentence = str(error).partition("\n")[0].replace(f" from {self.path}", "")
        return shorten_name(sentence.removeprefix("Unable to read workbook: ").removesuffix("."))

    def _search_sheet(self) -> bool:
        """Find the merged ranges, which follow the rows, and return whether a cell has a formula.

        No more than a piece of the sheet is unpacked at once.
        """
        has_formulas, found = False, set()
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(self._sheet._worksheet_path) as sheet:
                end = b""
                while piece := sheet.read(_PIECE):
                    piece = end + piece
                    has_formulas = has_formulas or FORMULA.search(piece) is not None
                    found.update(_MERGED.findall(piece))
                    if len(found) > _MOST_MERGED:
                        break
                    # A tag that isn't complete yet is searched with the next piece.
                    end = piece[piece.rfind(b"<") :][: _LONGEST_TAG + 1]
                    end = end if b">" not in end and len(end) <= _LONGEST_TAG else b""
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - a damaged sheet raises many kinds, and reading its rows reports it
            return False
        if len(found) > _MOST_MERGED:
            raise Broken(f"more than {_MOST_MERGED:,} merged cells; unmerge them, or save the sheet as CSV")
        # Columns beyond those that a file may have hold nothing that is read.
        ranges = (_Merged(int(first), _number(left), int(last), _number(right)) for left, first, right, last in found)
        self._merged = [each for each in ranges if each.column <= self.limits.columns]
        return has_formulas

    def _as_text(self, cell: dict[str, Any]) -> str:
        """Return the value of a cell as a text; note its column if the sheet displays it in another form."""
        value = cell["value"]
        if type(value) is str:
            return _unescape(value) if "_x" in value else value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return self._write_number(cell)
        self._formatted.append(cell["column"])
        if isinstance(value, datetime.datetime) and value.time() == datetime.time():
            value = value.date()
        if isinstance(value, datetime.datetime | datetime.date | datetime.time):
            return value.isoformat()
        return str(value)

    def _write_number(self, cell: dict[str, Any]) -> str:
        text, number_format = format_plain_number(cell["value"]), self._find_format(cell["style_id"])
        if number_format == "General":
            return text
        if (zeros := _ZEROS.fullmatch(number_format)) and text.removeprefix("-").isdecimal():
            return text.zfill(len(zeros[1]) + text.startswith("-"))
        if number_format != "@":
            self._formatted.append(cell["column"])
        return text

    def _find_format(self, style: int) -> str:
        if style not in self._formats:
            number, own = self._book._cell_styles[style].numFmtId, self._book._number_formats
            place = number - BUILTIN_FORMATS_MAX_SIZE
            self._formats[style] = own[place] if 0 <= place < len(own) else BUILTIN_FORMATS.get(number, "General")
        return self._formats[style]

    def _warn_of_formats(self, cells: Mapping[int, str], names: Mapping[int, str]) -> None:
        """Warn of texts and IDs that differ from what the sheet displays, with the first of each column."""
        for place in self._formatted:
            if (name := names.get(place, "")) in self.texts:
                example = self._examples.setdefault(name, shorten_name(cells[place]))
                self.notes.warn(READ_AS_VALUES.format(shorten_name(name), example), self._row)

    def _check_archive(self) -> None:
        """Check that the file is an Excel file of a reasonable unpacked size, before the library unpacks it."""
        limits = self.limits
        try:
            with zipfile.ZipFile(self.path) as archive:
                entries = archive.infolist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise Broken("the Excel file is damaged and cannot be unpacked") from error
        names = [entry.filename for entry in entries]
        if "[Content_Types].xml" not in names or not any(name.startswith("xl/") for name in names):
            raise Broken("the file is a ZIP archive, not an Excel file")
        # zipfile never returns more than the declared size of an entry, so the declared sizes are a reliable limit.
        total = sum(entry.file_size for entry in entries)
        shared = sum(entry.file_size for entry in entries if entry.filename.lower().endswith("sharedstrings.xml"))
        if len(entries) > limits.archive_entries or len(set(names)) != len(names):
            raise Broken("the Excel file contains too many parts or a duplicate part")
        if total > limits.archive_bytes or shared > limits.shared_text_bytes:
            raise Broken(f"the decompressed Excel file is too large ({total // 2**20:,} MB); save it as CSV")
        if total > limits.archive_ratio * max(self.size, 10_000):
            raise Broken("the decompressed Excel file is more than 200 times its compressed size; save it as CSV")


def _number(column: bytes) -> int:
    """Return the number of a column: 27 for AA."""
    number = 0
    for letter in column:
        number = 26 * number + letter - 64
    return number


def _unescape(text: str) -> str:
    """Return a text of Excel without its escapes: _x000D_ is a carriage return, _x005F_ an underscore."""
    plain = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    # Two escapes may be one character beyond U+FFFF. Half of one stays, and is refused like any forbidden character.
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
