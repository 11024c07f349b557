"""The input of LERC: which texts it contains, in which order, and how a long one is cut to the limit of the encoder."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]

SEGMENTS = ("passage", "question", "reference", "candidate")
"""The texts of a row, in the order of the input."""
_LATE = frozenset({"reference", "candidate"})
"""Segments of token type 1, also where an earlier segment is dropped."""


def choose_inputs(names: Iterable[str]) -> tuple[str, ...]:
    """Return the segments of an input in their order.

    Parameters
    ----------
    names : iterable of str
        Some of `SEGMENTS`, in any order.

    Returns
    -------
    tuple of str
        The same names in the order of the input.

    Raises
    ------
    ValueError
        A name is unknown, or neither the reference nor the candidate is among them.

    Examples
    --------
    >>> choose_inputs(["candidate", "reference"])
    ('reference', 'candidate')
    """
    wanted = set(names)
    if unknown := sorted(wanted - set(SEGMENTS)):
        raise ValueError(f"“{unknown[0]}” is no input. Choose some of: {', '.join(SEGMENTS)}.")
    if not wanted & _LATE:
        raise ValueError("The inputs need the reference, the candidate, or both.")
    return tuple(name for name in SEGMENTS if name in wanted)


@dataclass(frozen=True)
class Layout:
    """How an encoder marks its input: its special tokens, its limit, and whether it has two types of token."""

    start: int
    separator: int
    pad: int
    max_length: int
    has_types: bool


def lay_out(parts: Sequence[tuple[str, Ids]], layout: Layout) -> tuple[Ids, Ids]:
    """Join segments to one input.

    Parameters
    ----------
    parts : sequence of (str, ndarray of int32)
        The name of each segment with the ids of its tokens, in the order of the input.
    layout : Layout
        Special tokens and limit of the encoder.

    Returns
    -------
    ids, types : ndarray of int32
        The start token and, after each segment, a separator. The type is 0 up to the question and 1 from the
        reference on. Too many tokens are cut as `count_kept_tokens` does.

    Examples
    --------
    >>> layout = Layout(start=101, separator=102, pad=0, max_length=7, has_types=True)
    >>> ids, types = lay_out([("passage", np.arange(5)), ("candidate", np.array([8, 9]))], layout)
    >>> ids.tolist(), types.tolist()
    ([101, 0, 1, 102, 8, 9, 102], [0, 0, 0, 0, 1, 1, 1])
    """
    room = layout.max_length - 1 - len(parts)
    lengths = count_kept_tokens({name: len(ids) for name, ids in parts}, room)
    joined, types = [np.array([layout.start], np.int32)], [np.zeros(1, np.int32)]
    for name, ids in parts:
        kept = np.append(ids[: lengths[name]], layout.separator).astype(np.int32)
        joined.append(kept)
        types.append(np.full(len(kept), int(name in _LATE), np.int32))
    return np.concatenate(joined), np.concatenate(types)


def count_kept_tokens(lengths: Mapping[str, int], room: int) -> dict[str, int]:
    """Return how many tokens of each segment are kept: the passage is cut first, then the longest of the others.

    Every segment is cut at its end.

    Parameters
    ----------
    lengths : mapping of str to int
        The tokens of each segment.
    room : int
        The tokens that fit, without special ones.

    Returns
    -------
    dict of str to int
        At most `room` tokens in all.

    Examples
    --------
    >>> count_kept_tokens({"passage": 90, "question": 5, "reference": 4, "candidate": 3}, 20)
    {'passage': 8, 'question': 5, 'reference': 4, 'candidate': 3}
    >>> count_kept_tokens({"passage": 90, "reference": 9, "candidate": 3}, 8)
    {'passage': 0, 'reference': 5, 'candidate': 3}
    """
    kept = dict(lengths)
    room = max(room, 0)
    if "passage" in kept:
        others = sum(kept.values()) - kept["passage"]
        kept["passage"] = min(kept["passage"], max(0, room - others))
    while (over := sum(kept.values()) - room) > 0:
        longest = max(kept, key=lambda name: kept[name])
        second = max([length for name, length in kept.items() if name != longest], default=0)
        # Down to the next longest at once; equal ones lose one token each in turn.
        kept[longest] -= min(over, max(1, kept[longest] - second))
    return kept


class Vocabulary:
    """Texts as ids: each text is tokenised once, and none is kept longer than an input can be.

    Parameters
    ----------
    tokenizer : tokenizer of transformers
        That of the encoder.
    layout : Layout
        Its limit bounds the memory of a text.
    """

    def __init__(self, tokenizer: Any, layout: Layout) -> None:
        self._tokenizer, self._layout = tokenizer, layout
        self._ids: dict[str, Ids] = {}

    def encode(self, text: str) -> Ids:
        """Return the ids of a text without special tokens; those of an empty text are none."""
        found = self._ids.get(text)
        if found is None:
            # A text of a special token, such as "[SEP]", must not end its segment.
            ids = self._tokenizer(
                text,
                add_special_tokens=False,
                truncation=True,
                max_length=self._layout.max_length,
                split_special_tokens=True,
                verbose=False,
            )["input_ids"]
            found = self._ids[text] = np.asarray(ids, np.int32)
        return found

    def lay_out(self, texts: Sequence[tuple[str, str]]) -> tuple[Ids, Ids]:
        """Return ids and types of one input, given its segments by name."""
        return lay_out([(name, self.encode(text)) for name, text in texts], self._layout)


class Inputs(Sequence[tuple[Ids, Ids]]):
    """The inputs of many rows, laid out when they are asked for, so that memory holds each text once.

    Parameters
    ----------
    rows : sequence of sequence of (str, str)
        The segments of each row, by name.
    vocabulary : Vocabulary
        Encodes them.
    """

    def __init__(self, rows: Sequence[Sequence[tuple[str, str]]], vocabulary: Vocabulary) -> None:
        self._rows, self._vocabulary = rows, vocabulary
        self.lengths = np.array([len(vocabulary.lay_out(row)[0]) for row in rows], np.int64)
        """The tokens of each."""

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> tuple[Ids, Ids]: ...
    @overload
    def __getitem__(self, at: slice) -> "Inputs": ...
    def __getitem__(self, at: int | slice) -> "tuple[Ids, Ids] | Inputs":
        if isinstance(at, slice):
            return Inputs(self._rows[at], self._vocabulary)
        return self._vocabulary.lay_out(self._rows[at])
