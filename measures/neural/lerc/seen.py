"""Which answers a model has learned from, as hashes: a model is judged on answers that it has not seen."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from measures.neural.lerc.rows import Row

TRAINING, TUNING = "training", "tuning"
REASONS = {TRAINING: "seen in training", TUNING: "used to choose the learning rate"}
_LENGTH = 32
"""Hexadecimal digits of 128 bits: no two texts share them by chance."""


def hash_answer(passage: str, question: str, candidate: str) -> str:
    """Return the hash by which an answer is recognised in every project, of its passage, its question and its text.

    Examples
    --------
    >>> hash_answer("p", "who?", "a cat") == hash_answer("p", "who?", "a cat "), len(hash_answer("", "", ""))
    (True, 32)
    """
    # Spaces at the ends do not make another answer.
    text = "\0".join(each.strip() for each in (passage, question, candidate))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_LENGTH]


@dataclass(frozen=True)
class Seen:
    """The answers of training, and those of tuning, by which rate and epoch were chosen."""

    training: frozenset[str]
    tuning: frozenset[str]

    @classmethod
    def of(cls, train: Iterable[Row], dev: Iterable[Row]) -> "Seen":
        return cls(
            *(frozenset(hash_answer(row.passage, row.question, row.candidate) for row in rows) for rows in (train, dev))
        )

    def as_dict(self) -> dict[str, list[str]]:
        return {TRAINING: sorted(self.training), TUNING: sorted(self.tuning)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Sequence[str]]) -> "Seen":
        return cls(frozenset(stored.get(TRAINING, ())), frozenset(stored.get(TUNING, ())))

    def find(self, passage: str, question: str, candidate: str) -> str:
        """Return `TRAINING` or `TUNING` for an answer that the model has seen; otherwise an empty text."""
        found = hash_answer(passage, question, candidate)
        return TRAINING if found in self.training else TUNING if found in self.tuning else ""
