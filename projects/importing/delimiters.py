"""Detecting what separates the cells of a text file."""

import csv
import io
import re
from collections import Counter
from typing import Literal

from projects.importing.fields import FURTHER_REFERENCE, JUDGMENT_SYNONYMS, SYNONYMS, normal_name

Quoting = Literal[0, 3]
"""csv.QUOTE_MINIMAL, or csv.QUOTE_NONE where quotation marks are ordinary characters."""
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
SAMPLE_CHARS = 1 << 16
SAMPLE_ROWS = 100
"""How much of the beginning of a file is read to detect its delimiter."""
_DECLARED = re.compile(r'"?sep=(?P<delimiter>[,;\t|])"?[\r\n]*', re.IGNORECASE)
# Not three digits after one to three others, which may be thousands.
_WITH_COMMA = re.compile(r"-?(?:0,[0-9]+|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,15}))")
# Where numbers have commas, a 1.234 may be thousands, as 1,234 may be where they have points.
_WITH_CLEAR_POINT = re.compile(r"-?(?:0[.][0-9]+|[0-9]+[.](?:[0-9]{1,2}|[0-9]{4,15}))")
_WITH_POINT = re.compile(r"-?[0-9]{1,15}[.][0-9]{1,15}")
_KNOWN = {name for synonyms in (SYNONYMS, JUDGMENT_SYNONYMS) for names in synonyms.values() for name in names}


def read_declared(line: str) -> str:
    r"""Return the delimiter that a first line such as `sep=;` declares, as Excel writes it; empty for any other line.

    >>> read_declared("sep=;\r\n"), read_declared("separator;text")
    (';', '')
    """
    found = _DECLARED.fullmatch(line)
    return found["delimiter"] if found else ""


def detect_delimiter(sample: str, default: str, quoting: Quoting = csv.QUOTE_MINIMAL) -> str:
    """Return the delimiter under which the rows of a sample look most like a table; `default` if none makes columns.

    Names of fields in the header count most, then how many rows have as many cells as the header, then the number of
    columns.

    >>> detect_delimiter("question;answer, given\\nWho, when?;A\\n", ",")
    ';'
    """
    best, best_rank = default, (0, 0.0, 0)
    for delimiter in (default, *(each for each in DELIMITERS if each != default)):
        rows = _read_rows(sample, delimiter, quoting)
        if not rows or len(rows[0]) < 2:
            continue
        widths = Counter(len(row) for row in rows[1:])
        share = widths[len(rows[0])] / max(1, len(rows) - 1)
        n_known = sum(_is_known(name) for name in rows[0])
        rank = (n_known, share, len(rows[0]))
        if rank > best_rank:
            best, best_rank = delimiter, rank
    return best


def detect_decimal(sample: str, delimiter: str, quoting: Quoting = csv.QUOTE_MINIMAL) -> str:
    """Return the decimal mark of the numbers in a sample: comma, point, or either if they don't tell.

    >>> detect_decimal("a;b\\n7,5;x\\n1,234;y\\n", ";"), detect_decimal("a;b\\n1,234;x\\n", ";")
    ('comma', 'either')
    >>> detect_decimal("a;b\\n7,5;x\\n1.234;y\\n", ";"), detect_decimal("a;b\\n1.234;x\\n", ";")
    ('comma', 'point')
    """
    if delimiter == ",":
        return "point"
    cells = [cell for row in _read_rows(sample, delimiter, quoting) for cell in row]
    has_commas = any(map(_WITH_COMMA.fullmatch, cells))
    has_points = any(map((_WITH_CLEAR_POINT if has_commas else _WITH_POINT).fullmatch, cells))
    if has_commas == has_points:
        return "either"
    return "comma" if has_commas else "point"


def _read_rows(sample: str, delimiter: str, quoting: Quoting) -> list[list[str]]:
    rows = []
    try:
        for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, quoting=quoting):
            if row:
                rows.append(row)
            if len(rows) > SAMPLE_ROWS:
                break
    except csv.Error:
        # A cell beyond the limit of the csv module: the rows before it are enough.
        pass
    # The last row of a cut sample is cut too.
    return rows[:-1] if len(sample) >= SAMPLE_CHARS and len(rows) > 1 else rows


def _is_known(name: str) -> bool:
    normal = normal_name(name)
    return normal in _KNOWN or FURTHER_REFERENCE.fullmatch(normal) is not None
