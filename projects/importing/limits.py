"""How much of a file is read before it is refused."""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Caps that keep one file from filling memory or time; every one of them ends in a sentence."""

    file_bytes: int = 2048 * MIB
    cell_bytes: int = MIB
    row_chars: int = 8 * MIB
    columns: int = 200
    rows: int = 1_000_000
    decoded_bytes: int = 1024 * MIB
    archive_bytes: int = 256 * MIB
    shared_text_bytes: int = 48 * MIB
    archive_entries: int = 1_000
    archive_ratio: int = 200
    list_entries: int = 1_000
    problems_shown: int = 100
    lines_shown: int = 5
    takes_nan: bool = False
    """Python writes NaN and Infinity into JSON, which has no such numbers: let them through instead of refusing."""


DEFAULT_LIMITS = Limits()
