"""Text files: their encoding, their lines, and the position of an invalid byte."""

import codecs
from collections.abc import Iterator
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import cast

from projects.importing.limits import Limits
from projects.importing.report import Broken, Notes

ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-16": "UTF-16",
    "windows-1252": "Windows, western Europe (windows-1252)",
    "iso-8859-1": "Latin-1 (iso-8859-1)",
    "iso-8859-15": "Latin-9 (iso-8859-15)",
    "windows-1250": "Windows, central Europe (windows-1250)",
    "windows-1251": "Windows, Cyrillic (windows-1251)",
    "mac-roman": "Mac Roman",
    "gb18030": "Chinese (GB 18030)",
    "shift_jis": "Japanese (Shift JIS)",
}
"""The encodings that can be chosen. None is guessed: a wrong guess would store wrong characters without an error."""

OFFERED = ("windows-1252", "iso-8859-1", "iso-8859-15", "windows-1250", "windows-1251", "mac-roman")


def detect_encoding(head: bytes, chosen: str, notes: Notes) -> str:
    """Return the codec from the byte order mark or the choice. Raises Broken if they contradict each other."""
    if chosen and chosen not in ENCODINGS:
        raise Broken(f"unknown encoding “{chosen}”; choose one of {', '.join(ENCODINGS)}")
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise Broken("the file is UTF-32; save it as UTF-8")
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        if chosen not in ("", "utf-16"):
            raise Broken(
                f"the file starts with a UTF-16 byte order mark, so it is not {chosen}",
                offers={"encoding": ("utf-16",)},
            )
        notes.warn("The file is read as UTF-16.")
        return "utf-16"
    if head.startswith(codecs.BOM_UTF8) and chosen in ("", "utf-8"):
        return "utf-8-sig"
    if chosen == "utf-16":
        return "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
    # Without a mark, UTF-16 decodes as UTF-8 with a NUL beside each letter, and the error about that says less.
    if b"\0" in head and len(head) > 3 and (head[1:4:2] == b"\0\0" or head[0:3:2] == b"\0\0"):
        raise Broken("the file looks like UTF-16 without a byte order mark", line=1, offers={"encoding": ("utf-16",)})
    return chosen or "utf-8"


def open_text(path: Path, encoding: str) -> TextIOWrapper:
    return TextIOWrapper(path.open("rb", buffering=1 << 18), encoding=encoding, errors="strict", newline="")


def byte_position(stream: TextIOWrapper) -> int:
    """Return how many bytes were read; the text stream's own `tell` is slow, and not allowed while iterating."""
    buffer = cast(BufferedReader, stream.buffer)
    return buffer.tell()


def iterate_lines(stream: TextIOWrapper, limits: Limits) -> Iterator[str]:
    """Yield physical lines with their ends. Only LF, CR and CRLF end a line, unlike in `str.splitlines`.

    Raises Broken for a line that is too long.
    """
    cap = limits.row_chars
    readline = stream.readline
    number = 0
    while line := readline(cap):
        number += 1
        if len(line) == cap and line[-1] not in "\r\n":
            raise Broken(f"the line is longer than {cap:,} characters", line=number)
        yield line


def bad_byte(path: Path, encoding: str) -> Broken:
    """Return the error for the first invalid byte with its line; reads the file again to find it."""
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    line, after_return = 1, False
    with path.open("rb") as file:
        while True:
            chunk = file.read(1 << 18)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                before = error.object[: error.start].decode(encoding, "replace")
                line += _line_ends(before, after_return)
                byte = f"byte 0x{error.object[error.start]:02x}"
                name = encoding.removesuffix("-sig").upper()
                offers: dict[str, tuple[str, ...]] = {"encoding": OFFERED} if encoding.startswith("utf-8") else {}
                return Broken(
                    f"invalid {name}: {byte}; save the file as UTF-8 or choose its encoding", line=line, offers=offers
                )
            if not chunk:
                return Broken(f"the file cannot be read as {encoding}")
            line += _line_ends(text, after_return)
            after_return = text.endswith("\r")


def _line_ends(text: str, after_return: bool) -> int:
    split = 1 if after_return and text.startswith("\n") else 0
    return text.count("\n") + text.count("\r") - text.count("\r\n") - split
