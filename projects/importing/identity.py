"""Who is who within a file: ids, and for rows without one the hash of their exact text."""

from array import array
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

DIGEST = 16


def make_text_id(*parts: str) -> str:
    """The external id of a row that has none: the same text is the same id, in every file."""
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
    """What has been said of each question so far, in columns: a file may hold a million of them."""

    def __init__(self) -> None:
        self._digests = bytearray()
        self._passages = array("i")
        self._lines = array("i")
        self._references: list[bytes] = []
        self._about: dict[int, bytes] = {}

    def add(self, passage: int, mark: bytes, about: bytes, line: int) -> int:
        """Keep a new question; its key is returned."""
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
        return any(kept[start : start + DIGEST] == mark for start in range(0, len(kept), DIGEST))

    def add_reference(self, key: int, mark: bytes) -> int:
        """Keep a reference's digest; its position is returned."""
        self._references[key] += mark
        return self.n_references(key) - 1


class SeenIds:
    """The ids of candidates by their hashes, in the order of the rows."""

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
        """The rows whose hash another row has too."""
        hashes = np.array(self._hashes, dtype=np.int64)
        order = np.argsort(hashes, kind="stable")
        is_same = hashes[order[1:]] == hashes[order[:-1]]
        return set(order[1:][is_same].tolist()) | set(order[:-1][is_same].tolist())


@dataclass(slots=True)
class SeenDataset:
    """What a file has said about one dataset so far."""

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
