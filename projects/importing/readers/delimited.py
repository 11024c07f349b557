"""CSV and TSV."""

import csv
from collections.abc import Iterator
from io import TextIOWrapper

from projects.importing.check_report import Broken
from projects.importing.delimiters import (
    DELIMITERS,
    SAMPLE_CHARS,
    Quoting,
    detect_decimal,
    detect_delimiter,
    read_declared,
)
from projects.importing.limits import DEFAULT_LIMITS
from projects.importing.readers.base import IS_TITLE, Reader, Record, checked_header, fit_row, trim_header
from projects.importing.text import byte_position, detect_encoding, iterate_lines, open_text

# The limit holds for the whole process. Its default of 128 kB would refuse long passages.
csv.field_size_limit(DEFAULT_LIMITS.cell_bytes)


class DelimitedReader(Reader):
    """Reads rows of cells under a header, with quotes as in RFC 4180, or with quotes that are ordinary characters."""

    _stream: TextIOWrapper

    def open(self) -> None:
        self.encoding = detect_encoding(self.path, self.options.encoding, self.notes, guesses=True)
        self._quoting: Quoting = csv.QUOTE_NONE if self.options.quotes == "none" else csv.QUOTE_MINIMAL
        self._look_ahead()
        if self.delimiter not in DELIMITERS:
            raise Broken(f"unknown delimiter “{self.delimiter}”; choose comma, semicolon, tab or pipe")
        self._stream = open_text(self.path, self.encoding)
        for _ in range(self._n_skipped):
            self._stream.readline()
        self._pending: list[str] = []  # the lines of the current row, from which errors are explained
        self._rows = csv.reader(self._lines(), delimiter=self.delimiter, quoting=self._quoting, strict=True)
        while True:
            header = self._next_row()
            if header is None:
                raise Broken("the file contains only blank lines")
            if any(cell.strip() for cell in header):
                break
            self.leave_out(self._next_line() - 1)  # a blank line before the header
        header = trim_header(header, self.notes)
        self.columns = checked_header(header, self.limits, self.notes, self._next_line() - 1)
        self._first_line = self._next_line()

    def records(self) -> Iterator[Record]:
        columns, n_columns = self.columns, len(self.columns)
        rows, pending, before = self._rows, self._pending, self._n_skipped + 1
        start = self._first_line
        while True:
            try:
                for row in rows:
                    pending.clear()
                    if not any(row):
                        self.leave_out_blank(start)
                    elif len(row) == n_columns:
                        yield start, dict(zip(columns, row, strict=True))
                    elif wrong := fit_row(row, columns):
                        self.notes.problem(start, "", wrong)
                        self.leave_out(start)
                    else:
                        yield start, dict(zip(columns, row, strict=True))
                    start = rows.line_num + before
            except csv.Error as error:
                raise self._explain(error, start) from error
            return

    def position(self) -> int:
        return byte_position(self._stream)

    def close(self) -> None:
        self._stream.close()

    def hint(self) -> tuple[str, dict[str, tuple[str, ...]]]:
        """See Reader. The offer is another delimiter that the single cell of the header contains."""
        if len(self.columns) == 1:
            for delimiter, name in DELIMITERS.items():
                if delimiter != self.delimiter and delimiter in self.columns[0]:
                    return f"; the delimiter seems to be a {name}: choose it", {"delimiter": (delimiter,)}
            return IS_TITLE, {}
        return "", {}

    def _look_ahead(self) -> None:
        """Find the lines before the table, the delimiter and the decimal mark: as chosen, declared, or detected."""
        with open_text(self.path, self.encoding) as stream:
            sample = stream.read(SAMPLE_CHARS)
        first, _end, _rest = sample.partition("\n")
        declared = read_declared(first)
        found = self.options.delimiter or declared
        if not found:
            found = detect_delimiter(sample, "\t" if self.format == "tsv" else ",", self._quoting)
        self._n_skipped, self.delimiter = (1 if declared else 0), found
        self.decimal = detect_decimal(sample, found, self._quoting) if found in DELIMITERS else "point"

    def _next_line(self) -> int:
        return self._n_skipped + self._rows.line_num + 1

    def _lines(self) -> Iterator[str]:
        pending, most, n = self._pending, self.limits.row_chars, 0
        for line in iterate_lines(self._stream, self.limits):
            n = n + len(line) if pending else len(line)
            if n > most:
                problem = f"the row is longer than {most:,} characters"
                raise _explain_long(problem, self._next_line(), n_lines=len(pending) + 1)
            pending.append(line)
            yield line

    def _next_row(self) -> list[str] | None:
        start = self._next_line()
        try:
            row = next(self._rows, None)
        except csv.Error as error:
            raise self._explain(error, start) from error
        self._pending.clear()
        return row

    def _explain(self, error: csv.Error, start: int) -> Broken:
        reason = str(error)
        if "field larger" in reason:
            large = f"a cell is larger than {self.limits.cell_bytes // 1024:,} kB or its quotation mark is never closed"
            return _explain_long(large, start, n_lines=len(self._pending))
        opened = start + self._line_of_open_quote()
        if "unexpected end" in reason:
            return _explain_quote("the quotation mark opened here is never closed", opened)
        if "expected after" in reason:
            return _explain_quote("the quotation mark opened here is closed in the middle of a cell", opened)
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


def _explain_long(problem: str, line: int, *, n_lines: int) -> Broken:
    # Only within quotation marks does a row have several lines.
    return _explain_quote(problem, line) if n_lines > 1 else Broken(problem, line=line)


def _explain_quote(problem: str, line: int) -> Broken:
    # Many TSV files of the field are written without quoting.
    advice = "if quotation marks don’t enclose the cells of this file, read them as ordinary characters"
    return Broken(f"{problem}; {advice}", line=line, offers={"quotes": ("none",)})
