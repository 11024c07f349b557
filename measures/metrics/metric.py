"""The base of metrics: settings, required columns, and statistics of answers that add up to a corpus score."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from measures.patterns import Floats

Texts = Sequence[str]


class Broken(RuntimeError):
    """A metric failed while it was computed; the message is for its user."""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Columns of candidate answers and of what belongs to each; all columns given have the same length.

    Attributes
    ----------
    candidates : sequence of str
        The answers to score.
    references : sequence of sequence of str
        The references of each.
    question_types : sequence of str
        "yes-no", "entity", "description", "other", or "" if unknown.
    opinions : sequence of str
        The opinion label of the answer to a yes-no question, such as "Yes"; "" without one.
    reference_opinions : sequence of sequence of str
        The opinion label of each reference.
    entities : sequence of sequence of str
        The gold entities of each question.
    passages, questions : sequence of str
        The passage and the question of each answer.
    """

    candidates: Texts
    references: Sequence[Texts] = ()
    question_types: Texts = ()
    opinions: Texts = ()
    reference_opinions: Sequence[Texts] = ()
    entities: Sequence[Texts] = ()
    passages: Texts = ()
    questions: Texts = ()

    def __post_init__(self) -> None:
        for name, column in self.columns():
            if isinstance(column, str):
                raise TypeError(f"{name} must be a sequence of texts, not one text.")
            if len(column) != len(self):
                raise ValueError(f"{name} has {len(column)} rows, candidates {len(self)}.")
        for name in ("references", "reference_opinions", "entities"):
            if any(isinstance(each, str) for each in getattr(self, name)):
                raise TypeError(f"Each row of {name} must be a list of texts, not one text.")
        if self.reference_opinions and any(
            len(texts) != len(labels) for texts, labels in zip(self.references, self.reference_opinions, strict=True)
        ):
            raise ValueError("Each row of reference_opinions needs one label per reference.")

    def __len__(self) -> int:
        return len(self.candidates)

    def columns(self) -> list[tuple[str, Sequence[Any]]]:
        """Return the columns that were given, with their names."""
        named = [(each.name, getattr(self, each.name)) for each in fields(self)]
        return [(name, column) for name, column in named if name == "candidates" or len(column)]

    def against(self, which: str) -> "Answers":
        """Return the same answers with only the references to compare them with: see `AGAINST`."""
        if which == "all" or not self.references:
            return self
        last = 1 if which == "first" else None
        kept = [
            [at for at, text in enumerate(texts) if text.strip() != candidate.strip()][:last]
            for candidate, texts in zip(self.candidates, self.references, strict=True)
        ]
        return self.with_references(kept)

    def with_references(self, kept: Sequence[Sequence[int]]) -> "Answers":
        """Return the same answers with only these of the references of each, by their places."""
        columns = {
            name: [[row[at] for at in places] for row, places in zip(column, kept, strict=True)]
            for name, column in self.columns()
            if name in {"references", "reference_opinions"}
        }
        return Answers(**{**dict(self.columns()), **columns})

    def only(self, rows: Sequence[int] | slice) -> "Answers":
        """Return the same columns with only these rows."""
        if isinstance(rows, slice):
            return Answers(**{name: column[rows] for name, column in self.columns()})
        return Answers(**{name: [column[row] for row in rows] for name, column in self.columns()})


AGAINST = {
    "all": "all references of the question",
    "others": "references other than the answer itself",
    "first": "first reference other than the answer itself",
}
"""Which references an answer is compared with. A human-written answer may be both a reference and a candidate; compared
with itself its score would be perfect."""


def setting(
    default: Any, meaning: str, *, choices: Iterable[str] | Mapping[str, str] = (), low: float = 0, high: float = 0
) -> Any:
    """Return a dataclass field for a setting: one of `choices`, a number from `low` to `high`, a boolean or a text.

    Parameters
    ----------
    default : str, int, float or bool
        The default, which also decides the type.
    meaning : str
        What the setting does, for the help text of a form.
    choices : iterable of str, or mapping of str to str
        The allowed values; as a mapping, with the meaning of each.
    low, high : float
        Bounds of a number, both included; a `high` of 0 means that there are none.

    Returns
    -------
    dataclasses.Field
        With these arguments as its metadata.

    Examples
    --------
    >>> setting("max", "which references count", choices=("max", "pooled")).metadata["choices"]
    ('max', 'pooled')
    >>> setting("max", "which references count", choices={"max": "the best of them"}).metadata["meanings"]["max"]
    'the best of them'
    """
    meanings = dict(choices) if isinstance(choices, Mapping) else {}
    metadata = {"meaning": meaning, "choices": tuple(choices), "meanings": meanings, "low": low, "high": high}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """A configured automatic metric; its fields, declared by `setting`, are its settings.

    `count` computes statistics of each answer that can be added up, and `combine` the score of their sum: from the
    statistics of one answer its own score, from their sum over answers the score of the corpus. `MeanMetric` is the
    simple kind, whose corpus score is the mean of the answers' scores.
    """

    against: str = setting("all", "references that an answer is compared with", choices=AGAINST)

    needs: ClassVar[tuple[str, ...]] = ("references",)
    """Columns of `Answers` that are required to score an answer."""
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    """The range of its scores; infinite without a bound."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Libraries that its scores depend on; their versions are stored with each run."""
    weights: ClassVar[tuple[str, ...]] = ()
    """Settings that are weights of the statistics: `count_once` scores other weights without counting again."""
    batch_size: ClassVar[int] = 2_000
    """Answers per batch; progress is reported, and a cancellation noticed, between two batches."""

    def __post_init__(self) -> None:
        for each in fields(self):
            _check(each.name, getattr(self, each.name), each.default, each.metadata)

    @property
    def variant(self) -> str:
        """What distinguishes it from other forms of the same name, in a few words."""
        return ""

    @property
    def held_out(self) -> str:
        """The dataset that a trained metric has not learned from; empty for a metric that is not trained."""
        return ""

    @property
    def tokenisation(self) -> str:
        """How texts are split into words; empty for a metric of whole texts."""
        return str(getattr(self, "tokeniser", ""))

    @property
    def signature(self) -> str:
        """The signature of the library that computes it, with its version; empty for our own code."""
        return ""

    def settings(self) -> dict[str, Any]:
        """Return the settings by name. An integer for a decimal setting becomes a float: 1 and 1.0 are the same run."""
        given = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return {name: float(value) if isinstance(default, float) else value for name, (value, default) in given.items()}

    def with_weights(self, **weights: float) -> Self:
        """Return the same metric with other values for some of its `weights`. Raises ValueError for other settings."""
        if strange := sorted(weights.keys() - set(self.weights)):
            raise ValueError(f"“{strange[0]}” is not a weight. Weights: {', '.join(self.weights) or 'none'}.")
        given: dict[str, Any] = dict(weights)
        return replace(self, **given)

    def count_once(self, answers: Answers) -> Callable[..., Floats]:
        """Count once, and return a function from `weights` to the score of each answer."""
        counts = self.count(answers)
        return lambda **weights: self.with_weights(**weights).combine(counts)

    def list_packages(self) -> tuple[str, ...]:
        """Return the libraries that scores with these settings depend on."""
        return self.packages

    def lacks(self) -> str:
        """Return what it needs and this machine lacks, as a clause; empty if nothing is missing."""
        return ""

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Context in which columns are scored; processes and models are opened and closed here."""
        yield

    @property
    def reads_all(self) -> bool:
        """Whether the score of an answer depends on the other answers of the run, as weights by frequency do."""
        return False

    def read_all(self, parts: Iterable[Answers], on_wait: Callable[[], None]) -> None:  # noqa: B027 - few metrics need it
        """Read all answers of a run, within `ready()` and before the first is scored; called if `reads_all`.

        The parts come one after another, with references as `against` chose them, and are not kept: they may not fit
        into memory. `on_wait` is to be called every few seconds; it may raise to stop.
        """

    def identify(self) -> Mapping[str, str]:
        """Return what its scores depend on beside settings and packages, as short texts by name; called within
        `ready()`.

        Such as a hash of a model, or the device that computes. It is stored with the run and part of its signature.
        """
        return {}

    def choose_references(self, answers: Answers) -> Answers:
        """Return the answers without the references that the metric can't read, except where it can read none."""
        return answers

    def refuse(self, answers: Answers) -> list[str]:
        """Return for each answer why it cannot be scored, as a clause; empty if it can."""
        given = dict(answers.columns())
        missing = [name for name in self.needs if name not in given]
        if missing:
            return [_ABSENT[missing[0]]] * len(answers)
        columns = [(name, given[name]) for name in self.needs]
        return [
            next((_ABSENT[name] for name, column in columns if not _has_text(column[row])), "")
            for row in range(len(answers))
        ]

    def notes(self, counts: Floats) -> Mapping[str, int]:
        """Return counts for the report of a run, such as how many answers had a bonus, from the rows of `count`."""
        return {}

    @abstractmethod
    def count(self, answers: Answers) -> Floats:
        """Return the statistics of each answer, shape (n, k): finite, and such that they can be added up."""

    @abstractmethod
    def combine(self, sums: Floats) -> Floats:
        """Compute the scores of sums of statistics, shape (..., k) to (...)."""


@dataclass(frozen=True, kw_only=True)
class MeanMetric(Metric):
    """A metric whose corpus score is the mean of the answers' scores."""

    @abstractmethod
    def score_each(self, answers: Answers) -> Floats:
        """Return the score of each answer, shape (n,)."""

    def count(self, answers: Answers) -> Floats:
        scores = np.asarray(self.score_each(answers), dtype=np.float64)
        if scores.shape != (len(answers),):
            raise ValueError(
                f"{type(self).__name__} gave scores of the shape {scores.shape} for {len(answers)} answers."
            )
        return np.stack([scores, np.ones_like(scores)], axis=-1)

    def combine(self, sums: Floats) -> Floats:
        return sums[..., 0] / sums[..., 1]


NO_REFERENCE = "no reference"
_ABSENT = {
    "candidates": "no answer",
    "references": NO_REFERENCE,
    "question_types": "no question type",
    "opinions": "no opinion label",
    "reference_opinions": "no opinion labels of the references",
    "entities": "no entities",
    "passages": "no passage",
    "questions": "no question",
}


def _has_text(cell: str | Texts) -> bool:
    return bool(cell)


def _check(name: str, value: Any, default: Any, allowed: Mapping[str, Any]) -> None:
    if choices := allowed.get("choices"):
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}.")
    elif high := allowed.get("high"):
        is_whole = isinstance(default, int)
        is_number = isinstance(value, int if is_whole else int | float) and not isinstance(value, bool)
        if not (is_number and allowed["low"] <= value <= high):
            kind = "a whole number" if is_whole else "a number"
            raise ValueError(f"{name} must be {kind} from {allowed['low']:g} to {high:g}, not {value!r}.")
    elif isinstance(default, bool) and not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, not {value!r}.")
    elif isinstance(default, str) and not isinstance(value, str):
        raise ValueError(f"{name} must be a text, not {value!r}.")
