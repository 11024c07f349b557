"""Text files: their encoding, their lines, and the position of an invalid byte."""

import codecs
import re
from collections.abc import Iterator
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import cast

from projects.importing.check_report import Broken, Notes
from projects.importing.limits import Limits

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
"""The encodings that can be chosen."""

OFFERED = tuple(each for each in ENCODINGS if not each.startswith("utf"))
READ_AS_1252 = (
    "The file is not UTF-8. It is read as Windows, western Europe (windows-1252): check letters such as ä and é, and "
    "choose another encoding if they are wrong."
)
GUESSED = "windows-1252"
_CHUNK = 1 << 18
_WINDOW = 1 << 20
# No western European word has three accented letters in a row; Cyrillic or Chinese read as windows-1252 is full of
# them.
_NOT_WESTERN = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]|[\xc0\xc1][\x80-\xbf]")
"""A surrogate or an overlong sequence: wrong UTF-8, but UTF-8."""
_ACCENTED = re.compile("[À-ÖØ-öø-ÿ]+")


def detect_encoding(path: Path, chosen: str, notes: Notes, *, guesses: bool = False) -> str:
    """Return the codec by the choice, the byte order mark, or the bytes. Raises Broken if mark and choice contradict.

    If it `guesses`, a file that can't be UTF-8 and reads like a western European language is taken for windows-1252,
    with a warning. Any other file is left to the reading, which reports its first wrong byte.
    """
    with path.open("rb") as file:
        head = file.read(4)
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
    if chosen:
        return chosen
    # Without a mark, UTF-16 decodes as UTF-8 with a NUL beside each letter.
    if len(head) == 4 and (head[1::2] == b"\0\0" or head[0::2] == b"\0\0") and head.strip(b"\0"):
        notes.warn("The file has no byte order mark and is read as UTF-16.")
        return "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
    if guesses and _is_western(path):
        notes.warn(READ_AS_1252)
        return GUESSED
    return "utf-8"


def _is_western(path: Path) -> bool:
    """Return whether the file is not UTF-8, not even damaged UTF-8, and reads like windows-1252."""
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            try:
                text = decoder.decode(chunk)
            except UnicodeDecodeError as error:
                window, error_bytes = error.object + file.read(_WINDOW), error.object[error.start :]
                break
            if not text.isascii():
                return False
        else:
            return False
    # A UTF-8 file with a few damaged bytes has more whole characters than damaged ones; in windows-1252 they are rare.
    if _NOT_WESTERN.match(error_bytes):
        return False
    replaced = window.decode("utf-8", "replace")
    n_damaged = replaced.count("\ufffd")
    if len(replaced) - len(replaced.encode("ascii", "ignore")) - n_damaged > n_damaged:
        return False
    try:
        western = window.decode(GUESSED)
    except UnicodeDecodeError:
        return False
    runs = [len(run) for run in _ACCENTED.findall(western)]
    return sum(n for n in runs if n > 2) <= sum(runs) // 10


def open_text(path: Path, encoding: str) -> TextIOWrapper:
    return TextIOWrapper(path.open("rb", buffering=1 << 18), encoding=encoding, errors="strict", newline="")


def byte_position(stream: TextIOWrapper) -> int:
    """Return how many bytes were read; the text stream's own `tell` is slow, and not allowed while iterating."""
    buffer = cast(BufferedReader, stream.buffer)
    return buffer.tell()


def iterate_lines(stream: TextIOWrapper, limits: Limits) -> Iterator[str]:
    """Yield physical lines with their ends. Only LF, CR and CRLF end a line, unlike in `str.splitlines`.

    Raises Broken for a line that is too long, and for too many.
    """
    cap, most = limits.row_chars, limits.lines
    readline = stream.readline
    number = 0
    while line := readline(cap):
        number += 1
        if len(line) == cap and line[-1] not in "\r\n":
            raise Broken(f"the line is longer than {cap:,} characters", line=number)
        if number > most:
            raise Broken(f"more than {most:,} lines; split the file into smaller ones", line=number)
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
                offers = {"encoding": tuple(each for each in OFFERED if each != encoding)}
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
