"""CSV and TSV."""

import csv
from collections.abc import Iterator
from io import TextIOWrapper

from projects.importing.limits import DEFAULT_LIMITS
from projects.importing.readers.base import Reader, Record, check_shape, checked_header
from projects.importing.report import Broken
from projects.importing.text import byte_position, detect_encoding, iterate_lines, open_text

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}

# The limit holds for the whole process. Its default of 128 kB would refuse long passages.
csv.field_size_limit(DEFAULT_LIMITS.cell_bytes)


class DelimitedReader(Reader):
    """Reads rows of cells under a header, with quotes as in RFC 4180."""

    _stream: TextIOWrapper

    def open(self) -> None:
        self.encoding = detect_encoding(self.head(), self.options.encoding, self.notes)
        self.delimiter = self.options.delimiter or ("\t" if self.format == "tsv" else ",")
        if self.delimiter not in DELIMITERS:
            raise Broken(f"unknown delimiter “{self.delimiter}”; choose comma, semicolon, tab or pipe")
        self._stream = open_text(self.path, self.encoding)
        self._pending: list[str] = []  # the lines of the current row, from which errors are explained
        self._rows = csv.reader(self._lines(), delimiter=self.delimiter, strict=True)
        header: list[str] = []
        while not header:  # blank lines before the header
            row = self._next_row()
            if row is None:
                raise Broken("the file contains only blank lines")
            header = row
        self.columns = checked_header(header, self.limits, self.notes, self._rows.line_num)
        self._first_line = self._rows.line_num + 1

    def records(self) -> Iterator[Record]:
        columns, n_columns = self.columns, len(self.columns)
        notes, rows, pending = self.notes, self._rows, self._pending
        start = self._first_line
        while True:
            try:
                for row in rows:
                    pending.clear()
                    if len(row) == n_columns:
                        yield start, dict(zip(columns, row, strict=True))
                    elif row:
                        notes.problem(start, "", check_shape(row, n_columns) or "")
                    else:
                        notes.warn("Blank lines are skipped.", start)
                    start = rows.line_num + 1
            except csv.Error as error:
                raise self._explain(error, start) from error
            return

    def position(self) -> int:
        return byte_position(self._stream)

    def close(self) -> None:
        self._stream.close()

    def hint(self) -> tuple[str, dict[str, tuple[str, ...]]]:
        """Return a hint and an offer if the header is a single cell that contains another delimiter."""
        if len(self.columns) == 1:
            for delimiter, name in DELIMITERS.items():
                if delimiter != self.delimiter and delimiter in self.columns[0]:
                    return f"; the delimiter seems to be a {name}: choose it", {"delimiter": (delimiter,)}
        return "", {}

    def _lines(self) -> Iterator[str]:
        keep = self._pending.append
        for line in iterate_lines(self._stream, self.limits):
            keep(line)
            yield line

    def _next_row(self) -> list[str] | None:
        start = self._rows.line_num + 1
        try:
            row = next(self._rows, None)
        except csv.Error as error:
            raise self._explain(error, start) from error
        self._pending.clear()
        return row

    def _explain(self, error: csv.Error, start: int) -> Broken:
        reason = str(error)
        if "field larger" in reason:
            return Broken(
                f"a cell is larger than {self.limits.cell_bytes // 1024:,} kB or its quotation mark is never closed",
                line=start,
            )
        opened = start + self._line_of_open_quote()
        if "unexpected end" in reason:
            return Broken("the quotation mark opened here is never closed", line=opened)
        if "expected after" in reason:
            return Broken("the quotation mark opened here is closed in the middle of a cell", line=opened)
        return Broken(f"the row cannot be read: {reason}", line=start)

    def _line_of_open_quote(self) -> int:
        """Return on which line of the unfinished row its last quoted cell starts.

        The csv module only says that something is wrong, by then perhaps thousands of lines after the open quotation
        mark. So the lines of the row are kept, and this walks through them.
        """
        inside, at_start, opened, line = False, True, 0, 0
        text = "".join(self._pending)
        for place, character in enumerate(text):
            if character == "\n" or (character == "\r" and text[place + 1 : place + 2] != "\n"):
                line += 1
            if inside:
                inside = character != '"'
                at_start = False
            elif character == '"':
                # A quotation mark right after a closing one continues the same cell.
                if at_start:
                    opened = line
                inside = at_start or (place > 0 and text[place - 1] == '"')
                at_start = False
            else:
                at_start = character == self.delimiter or character in "\r\n"
        return opened
