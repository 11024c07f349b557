"""Running a model over texts: in batches of similar length, and each text once."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from measures.neural.environment import load_torch
from measures.neural.loading import Loaded
from measures.patterns import Ints

Vectors = npt.NDArray[np.float32]

TOKENS_AT_ONCE = {"cpu": 4_096, "cuda": 65_536}
"""Tokens of a batch with its padding: on a processor larger batches are no faster."""
KEPT_BYTES = 256 * 2**20
"""The vectors of texts that are kept for the next batches of answers."""


class Tokens(NamedTuple):
    """A text, or two in one input, as a model reads it."""

    ids: list[int]
    types: list[int]


class EncodedRows(NamedTuple):
    """The output of a model for some rows, whose ids are padded at their ends; the mask is 1 where they are not."""

    rows: Ints
    output: Any
    ids: Any
    mask: Any


def plan_batches(lengths: Sequence[int], most: int) -> Iterator[Ints]:
    """Divide rows into batches of similar length, the longest rows first.

    Parameters
    ----------
    lengths : sequence of int
        The tokens of each row.
    most : int
        The tokens of a batch, padding included; a longer row is a batch of its own.

    Returns
    -------
    iterator of ndarray of int64
        The rows of each batch. If the first batch fits into memory, all do.

    Examples
    --------
    >>> [batch.tolist() for batch in plan_batches([3, 9, 4, 4, 30], 12)]
    [[4], [1], [2, 3, 0]]
    """
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    start = 0
    while start < len(order):
        size = max(1, most // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


class Runner:
    """A model that reads texts.

    Parameters
    ----------
    loaded : Loaded
        As `measures.neural.loading` returns it.
    limit : int
        The most tokens of an input, special ones included; 0 for as many as the model can read.
    tokens_at_once : int
        The tokens of a batch; 0 for as many as suit the device.
    """

    def __init__(self, loaded: Loaded, *, limit: int = 0, tokens_at_once: int = 0) -> None:
        self.loaded, self.model, self.tokeniser = loaded, loaded.model, loaded.tokeniser
        self.limit = min(limit or loaded.limit, loaded.limit)
        on_device = TOKENS_AT_ONCE.get(loaded.device.partition(":")[0], TOKENS_AT_ONCE["cpu"])
        self.tokens_at_once = tokens_at_once or on_device

    def tokenise(
        self, texts: Sequence[str], others: Sequence[str] | None = None, *, is_whole: bool = False
    ) -> list[Tokens]:
        """Return the tokens of each text, or of each pair of texts, the longer of which is cut first.

        `is_whole` leaves out special tokens and cuts nothing. The name of a special token within a text is text.
        """
        if not texts:
            return []
        limits = {} if is_whole else {"truncation": "longest_first", "max_length": self.limit}
        found = self.tokeniser(
            list(texts),
            None if others is None else list(others),
            add_special_tokens=not is_whole,
            split_special_tokens=True,
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=True,
            verbose=False,
            **limits,
        )
        return [Tokens(*pair) for pair in zip(found["input_ids"], found["token_type_ids"], strict=True)]

    def run(self, rows: Sequence[Tokens], model: Any = None, *, tokens_at_once: int = 0) -> Iterator[EncodedRows]:
        """Yield the output of the model, or of a part of it, for each batch of rows."""
        torch = load_torch()
        model = model or self.model
        padding = self.tokeniser.pad_token_id or 0
        for chosen in plan_batches([len(row.ids) for row in rows], tokens_at_once or self.tokens_at_once):
            longest = len(rows[chosen[0]].ids)
            ids = np.full((len(chosen), longest), padding, dtype=np.int64)
            mask, types = np.zeros_like(ids), np.zeros_like(ids)
            for place, row in enumerate(chosen):
                length = len(rows[row].ids)
                ids[place, :length], types[place, :length] = rows[row]
                mask[place, :length] = 1
            inputs = {"input_ids": ids, "attention_mask": mask}
            if "token_type_ids" in self.tokeniser.model_input_names:
                inputs["token_type_ids"] = types
            tensors = {name: torch.from_numpy(column).to(self.loaded.device) for name, column in inputs.items()}
            with torch.inference_mode():
                output = model(**tensors)
            yield EncodedRows(chosen, output, tensors["input_ids"], tensors["attention_mask"])


class Sized(Protocol):
    """What is kept of a text: an array, or some arrays."""

    @property
    def nbytes(self) -> int: ...


T = TypeVar("T", bound=Sized)


class Kept(Generic[T]):
    """What was computed of texts, the most recently used up to `most_bytes`, so that each is encoded once."""

    def __init__(self, compute: Callable[[list[str]], Iterable[T]], most_bytes: int = KEPT_BYTES) -> None:
        self._compute, self._most_bytes = compute, most_bytes
        self._found: OrderedDict[str, T] = OrderedDict()
        self._n_bytes = 0

    def fetch(self, texts: Iterable[str]) -> dict[str, T]:
        """Return what is computed of these texts, each only if it is not kept."""
        wanted = dict.fromkeys(texts)
        missing = [text for text in wanted if text not in self._found]
        for text, each in zip(missing, self._compute(missing) if missing else (), strict=True):
            self._found[text] = each
            self._n_bytes += each.nbytes
        for text in wanted:
            self._found.move_to_end(text)
        found = {text: self._found[text] for text in wanted}
        while self._n_bytes > self._most_bytes:
            _text, each = self._found.popitem(last=False)
            self._n_bytes -= each.nbytes
        return found
