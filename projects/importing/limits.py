"""Limits of an import file."""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits that keep one file from using all memory or time; a file beyond one is refused with a sentence."""

    file_bytes: int = 2048 * MIB
    cell_bytes: int = MIB
    row_chars: int = 8 * MIB
    columns: int = 200
    rows: int = 1_000_000
    # Blank lines and rows that can't be read cost time too. A sheet of Excel has as many rows, and a CSV file made from
    # it may have them all as blank lines.
    rows_left_out: int = 1_048_576
    # Cells may hold several lines each.
    lines: int = 20_000_000
    # Of one entry. An empty list has two characters in a file and 70 bytes in memory; lists of tokens stay below this.
    json_values: int = 200_000
    # Parquet and XLSX are compressed, so the size of the file says little about the memory that it needs.
    decoded_bytes: int = 1024 * MIB
    archive_bytes: int = 256 * MIB
    # The XLSX reader keeps all shared texts of a file in memory at once.
    shared_text_bytes: int = 48 * MIB
    archive_entries: int = 1_000
    # Real tables compress far less than this; a ZIP bomb compresses more.
    archive_ratio: int = 200
    list_entries: int = 1_000
    # Their reasons are held in memory.
    rows_skipped: int = 100_000
    problems_shown: int = 100
    lines_shown: int = 5
    # Different ones; some name what they warn of.
    warnings: int = 200
    takes_nan: bool = False
    """Accept NaN and Infinity, which are not valid JSON but which Python writes. Used for files of metric scores."""


DEFAULT_LIMITS = Limits()
