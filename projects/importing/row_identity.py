"""Recognising rows of a file by their id, or by the hash of their exact text if they have none."""

from array import array
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise

DIGEST = 16
"""Bytes of a hash: with 128 bits two different texts never share one in practice."""


def make_text_id(*parts: str) -> str:
    """Return the external id of a row that has none: the same text has the same id in every file."""
    return "text-" + digest("\0".join(parts)).hex()


def digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=DIGEST).digest()


@dataclass(slots=True)
class SeenPassage:
    key: int
    external_id: str
    digest: bytes
    line: int
    split: str


@dataclass(slots=True)
class SeenQuestion:
    key: int
    external_id: str


class SeenQuestions:
    """The questions met so far, stored in arrays, because objects for a million of them would fill the memory."""

    def __init__(self) -> None:
        self._digests = bytearray()
        self._passages = array("i")
        self._lines = array("i")
        self._references: list[bytes] = []
        self._about: dict[int, bytes] = {}

    def add(self, passage: int, mark: bytes, about: bytes, line: int) -> int:
        """Add a question and return its key."""
        key = len(self._lines)
        self._digests += mark
        self._passages.append(passage)
        self._lines.append(line)
        self._references.append(b"")
        if about:
            self._about[key] = about
        return key

    def digest(self, key: int) -> bytes:
        return bytes(self._digests[key * DIGEST : (key + 1) * DIGEST])

    def passage(self, key: int) -> int:
        return self._passages[key]

    def line(self, key: int) -> int:
        return self._lines[key]

    def about(self, key: int) -> bytes:
        return self._about.get(key, b"")

    def n_references(self, key: int) -> int:
        return len(self._references[key]) // DIGEST

    def has_reference(self, key: int, mark: bytes) -> bool:
        kept = self._references[key]
        at = kept.find(mark)
        # Found across the border of two others, it is none of them.
        while at % DIGEST and at >= 0:
            at = kept.find(mark, at + 1)
        return at >= 0

    def add_reference(self, key: int, mark: bytes) -> int:
        """Add a reference by its digest and return its position."""
        self._references[key] += mark
        return self.n_references(key) - 1


class SeenIds:
    """The ids of candidates as 64-bit hashes in the order of the rows; a set of a million texts would be far larger."""

    def __init__(self) -> None:
        self._hashes = array("q")
        self._lines = array("i")

    def add(self, dataset: int, external_id: str, line: int) -> None:
        self._hashes.append(hash((dataset, external_id)))
        self._lines.append(line)

    def hash(self, key: int) -> int:
        return self._hashes[key]

    def line(self, key: int) -> int:
        return self._lines[key]

    def suspects(self) -> set[int]:
        """Return the rows whose hash occurs more than once."""
        # Sorted, equal hashes are neighbours. Loading numpy would take longer than this does for 400,000 rows.
        repeated = {one for one, other in pairwise(sorted(self._hashes)) if one == other}
        return {row for row, each in enumerate(self._hashes) if each in repeated} if repeated else set()


@dataclass(slots=True)
class SeenDataset:
    """The part of one dataset in the file that was read so far."""

    name: str
    number: int
    kind: str
    passages_by_id: dict[str, SeenPassage] = field(default_factory=dict)
    passages_by_text: dict[bytes, SeenPassage] = field(default_factory=dict)
    questions_by_id: dict[str, int] = field(default_factory=dict)
    questions_by_text: dict[bytes, int] = field(default_factory=dict)
    passages: int = 0
    questions: int = 0
    references: int = 0
    candidates: int = 0
    judgments: int = 0
    minimal_pairs: int = 0

    def counts(self) -> dict[str, int]:
        names = ("passages", "questions", "references", "candidates", "judgments", "minimal_pairs")
        return {name: getattr(self, name) for name in names}
