"""Detecting the format of a file by its first bytes and its name."""

from pathlib import Path, PurePosixPath

from projects.importing.check_report import Broken
from projects.importing.import_options import FORMATS
from projects.language.names import shorten_name

HEAD_BYTES = 4096
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "csv",
    ".xlsx": "xlsx",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
BINARY = {
    b"PK\x03\x04": "a ZIP archive (or an Excel file)",
    b"PK\x05\x06": "an empty ZIP archive",
    b"\x1f\x8b": "gzip; unpack it first",
    b"BZh": "bzip2; unpack it first",
    b"\xfd7zXZ": "xz; unpack it first",
    b"\x28\xb5\x2f\xfd": "zstandard; unpack it first",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"%PDF": "a PDF",
    b"PAR1": "Parquet",
    b"PARE": "encrypted Parquet",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"SQLite format 3": "an SQLite database",
    b"\x7fELF": "a program",
    b"MZ": "a program",
    b"ARROW1": "an Arrow file",
    b"{\\rtf": "an RTF document",
}
PEER_KEYS = {
    "potato": (b'"label_annotations"',),
    "dureader": (b'"paragraphs"', b'"fact_or_opinion"'),
    "label_studio": (b'"annotations"', b'"completed_by"'),
    "argilla": (b'"fields"', b'"responses"'),
}
"""Keys that tell an export of another tool from an ordinary file of objects."""
OLD_OFFICE = b"\xd0\xcf\x11\xe0"
MARKUP = (b"<!doctype", b"<html", b"<?xml", b"<svg", b"<head", b"<body", b"<script", b"<table")


def detect_format(path: Path, name: str, chosen: str) -> str:
    """Return the format of a file. Raises Broken if it is unknown, or if content and name disagree."""
    if chosen and chosen not in FORMATS:
        raise Broken(f"unknown format “{shorten_name(chosen)}”; choose one of {', '.join(FORMATS)}")
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise Broken("the file is empty")
    if head.startswith(OLD_OFFICE):
        raise Broken("the file is an old Excel or Word file; open it there and save it as .xlsx or .csv")
    suffix = PurePosixPath(name).suffix.lower()
    wanted = chosen or SUFFIXES.get(suffix, "")
    if not wanted:
        known = ", ".join(sorted(SUFFIXES))
        raise Broken(
            f"unknown file extension “{shorten_name(suffix)}” (known: {known}); rename the file or choose its format"
        )
    _check_binary(head, wanted)
    if wanted in ("json", "jsonl") and not chosen and (peer := _recognise(head)):
        return peer
    # An object at the top level of a JSON file can only be MOCHA's format: our own is a list.
    if wanted == "json" and first_character(head) == "{":
        return "mocha"
    return wanted


def _recognise(head: bytes) -> str:
    """Return the tool whose export begins like this, or an empty text; its keys are together in no other file."""
    return next((peer for peer, keys in PEER_KEYS.items() if all(key in head for key in keys)), "")


def first_character(head: bytes) -> str:
    """Return the first character that is not a space, after any byte order mark; empty if there is none."""
    for encoding in ("utf-8-sig", "utf-16"):
        if encoding == "utf-16" and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
            continue
        text = head[: len(head) // 2 * 2].decode(encoding, "replace").lstrip(" \t\r\n")
        if text and text[0] != "\ufffd":
            return text[0]
    return ""


def _check_binary(head: bytes, wanted: str) -> None:
    if wanted == "parquet":
        if not head.startswith((b"PAR1", b"PARE")):
            raise Broken("not a Parquet file: it does not start with PAR1")
        if head.startswith(b"PARE"):
            raise Broken("the Parquet file is encrypted")
        return
    if wanted == "xlsx" and head.startswith(b"PK\x03\x04"):
        return
    for start, kind in BINARY.items():
        # Two bytes such as “MZ” may begin a text as well; a NUL in the head tells a binary file.
        if head.startswith(start) and (len(start) > 2 or b"\0" in head):
            raise Broken(f"the file is {kind}, not {wanted.upper()}")
    if wanted == "xlsx":
        raise Broken("the file is not an Excel file (.xlsx)")
    bare = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:20].lower()
    if bare.startswith(MARKUP):
        raise Broken(f"the file is HTML or XML, not {wanted.upper()}")
