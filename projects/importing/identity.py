"""Who is who within a file: ids, and for rows without one the hash of their exact text."""

from dataclasses import dataclass, field
from hashlib import blake2b


def text_id(*parts: str) -> str:
    """The external id of a row that has none: the same text is the same id, in every file."""
    return "text-" + blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


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
    passage: int
    digest: bytes
    about: bytes
    line: int
    n_references: int = 0
    references: bytes = b""

    def has(self, reference: bytes) -> bool:
        """Whether a reference's digest is among those kept, one after another to save room."""
        kept, size = self.references, len(reference)
        return any(kept[start : start + size] == reference for start in range(0, len(kept), size))

    def keep(self, reference: bytes) -> int:
        """Keep a digest; the reference's position is returned."""
        self.references += reference
        self.n_references += 1
        return self.n_references - 1


@dataclass(slots=True)
class SeenDataset:
    """What a file has said about one dataset so far."""

    name: str
    number: int
    kind: str
    passages_by_id: dict[str, SeenPassage] = field(default_factory=dict)
    passages_by_text: dict[bytes, SeenPassage] = field(default_factory=dict)
    questions_by_id: dict[str, SeenQuestion] = field(default_factory=dict)
    questions_by_text: dict[bytes, SeenQuestion] = field(default_factory=dict)
    candidate_lines: dict[str, int] = field(default_factory=dict)
    passages: int = 0
    questions: int = 0
    references: int = 0
    candidates: int = 0
    judgments: int = 0
    minimal_pairs: int = 0

    def counts(self) -> dict[str, int]:
        names = ("passages", "questions", "references", "candidates", "judgments", "minimal_pairs")
        return {name: getattr(self, name) for name in names}
