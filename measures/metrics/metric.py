"""What a metric is: settings, what it needs of an answer, and statistics of each answer that add up to a score."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from measures.patterns import Floats

Texts = Sequence[str]


class Broken(RuntimeError):
    """A metric could not go on, for a reason that its user may read."""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """A column of candidate answers, and what is known of each; every column that is given has the same length.

    Attributes
    ----------
    candidates : sequence of str
        The answers to be scored.
    references : sequence of sequence of str
        The right answers of each.
    question_types : sequence of str
        "yes-no", "entity", "description", "other", or "" where it is not said.
    opinions : sequence of str
        The label of a yes-no answer, such as "Yes"; "" where it has none.
    reference_opinions : sequence of sequence of str
        The label of each reference.
    entities : sequence of sequence of str
        The gold entities of each question.
    passages, questions : sequence of str
        The texts that the answers are about.
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
                raise TypeError(f"{name} is one text, not a column of them.")
            if len(column) != len(self):
                raise ValueError(f"{name} has {len(column)} rows, candidates {len(self)}.")
        for name in ("references", "reference_opinions", "entities"):
            if any(isinstance(each, str) for each in getattr(self, name)):
                raise TypeError(f"Each row of {name} is a list of texts, not one text.")
        if self.reference_opinions and any(
            len(texts) != len(labels) for texts, labels in zip(self.references, self.reference_opinions, strict=True)
        ):
            raise ValueError("A row of reference_opinions has not as many labels as there are references.")

    def __len__(self) -> int:
        return len(self.candidates)

    def columns(self) -> list[tuple[str, Sequence[Any]]]:
        """Those that are given, by name."""
        named = [(each.name, getattr(self, each.name)) for each in fields(self)]
        return [(name, column) for name, column in named if name == "candidates" or len(column)]

    def against(self, which: str) -> "Answers":
        """The same answers, each with the references that are to be compared with it: see `AGAINST`."""
        if which == "all" or not self.references:
            return self
        last = 1 if which == "first" else None
        kept = [
            [at for at, text in enumerate(texts) if text.strip() != candidate.strip()][:last]
            for candidate, texts in zip(self.candidates, self.references, strict=True)
        ]
        columns = {
            name: [[row[at] for at in places] for row, places in zip(column, kept, strict=True)]
            for name, column in self.columns()
            if name in {"references", "reference_opinions"}
        }
        return Answers(**{**dict(self.columns()), **columns})

    def only(self, rows: Sequence[int] | slice) -> "Answers":
        """The same columns with these rows."""
        if isinstance(rows, slice):
            return Answers(**{name: column[rows] for name, column in self.columns()})
        return Answers(**{name: [column[row] for row in rows] for name, column in self.columns()})


AGAINST = {
    "all": "every reference of the question",
    "others": "those that are not the answer itself",
    "first": "the first of those that are not the answer itself",
}
"""Which references an answer is compared with. What people answered may be a reference and be judged as an answer too:
against itself it would be perfect."""


def setting(
    default: Any, meaning: str, *, choices: Iterable[str] | Mapping[str, str] = (), low: float = 0, high: float = 0
) -> Any:
    """Make a field of a metric that its user may set: one of `choices`, a number from `low` to `high`, or yes and no.

    Parameters
    ----------
    default : str, int, float or bool
        What it is where nothing is said.
    meaning : str
        What it decides, as a form says it.
    choices : iterable of str, or mapping of str to str
        The values that it may have; with what each means where it is a mapping.
    low, high : float
        Bounds of a number; a `high` of 0 means that it is none.

    Returns
    -------
    dataclasses.Field
        Its metadata hold what was given.

    Examples
    --------
    >>> setting("max", "which references count", choices=("max", "pooled")).metadata["choices"]
    ('max', 'pooled')
    >>> setting("max", "which references count", choices={"max": "the best of them"}).metadata["meanings"]["max"]
    'the best of them'
    """
    meanings = dict(choices) if isinstance(choices, Mapping) else {}
    said = {"meaning": meaning, "choices": tuple(choices), "meanings": meanings, "low": low, "high": high}
    return field(default=default, metadata=said)


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """A configured automatic metric; its fields, made by `setting`, are its settings.

    A metric says of each answer some statistics that may be added up (`count`), and the score of a sum
    (`combine`): the statistics of one answer give its own score, the sum of many that of the corpus. `MeanMetric` is
    the simple kind, whose corpus score is the mean of the answers' scores.
    """

    against: str = setting("all", "the references that an answer is compared with", choices=AGAINST)

    needs: ClassVar[tuple[str, ...]] = ("references",)
    """Columns of `Answers` without which an answer cannot be scored."""
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    """The range of its scores; infinite where there is no bound."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Libraries that its scores depend on: their versions are kept with each run."""
    weights: ClassVar[tuple[str, ...]] = ()
    """Settings that weigh what was counted: `count_once` gives the scores under others without a new count."""
    batch_size: ClassVar[int] = 2_000
    """Answers that are counted at a time; progress is told and a cancel heard between two batches."""

    def __post_init__(self) -> None:
        for each in fields(self):
            _check(each.name, getattr(self, each.name), each.default, each.metadata)

    @property
    def variant(self) -> str:
        """What sets it apart from other forms of the same name, in a few words."""
        return ""

    @property
    def tokenisation(self) -> str:
        """How texts become words; empty for a metric that sees whole texts."""
        return str(getattr(self, "tokeniser", ""))

    @property
    def signature(self) -> str:
        """What a library that computes it says of itself, with its version; empty where the code is our own."""
        return ""

    def settings(self) -> dict[str, Any]:
        """What it is set to; where decimals are allowed 1 is given as 1.0, so that both are one setting."""
        given = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return {name: float(value) if isinstance(default, float) else value for name, (value, default) in given.items()}

    def with_weights(self, **weights: float) -> Self:
        """The same metric with other values for some of its `weights`."""
        if strange := sorted(weights.keys() - set(self.weights)):
            raise ValueError(f"{strange[0]} is no weight; there are: {', '.join(self.weights) or 'none'}.")
        given: dict[str, Any] = dict(weights)
        return replace(self, **given)

    def count_once(self, answers: Answers) -> Callable[..., Floats]:
        """Count once for scores under many weights: a function of some `weights` that gives each answer's score."""
        counts = self.count(answers)
        return lambda **weights: self.with_weights(**weights).combine(counts)

    def lacks(self) -> str:
        """What it needs and this machine does not have, as a clause; empty where nothing is missing."""
        return ""

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Held while a column is scored: a process or a model is opened here and closed again."""
        yield

    def refuse(self, answers: Answers) -> list[str]:
        """Why each answer cannot be scored, as a clause; an empty text for one that can."""
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
        """What a report on a run says beside the scores, such as how many answers had a bonus, from `count`'s rows."""
        return {}

    @abstractmethod
    def count(self, answers: Answers) -> Floats:
        """The statistics of each answer, shape (n, k): finite, and such that they may be added up."""

    @abstractmethod
    def combine(self, sums: Floats) -> Floats:
        """The scores that sums of statistics come to, shape (..., k) to (...)."""


@dataclass(frozen=True, kw_only=True)
class MeanMetric(Metric):
    """A metric whose score over many answers is the mean of theirs."""

    @abstractmethod
    def score_each(self, answers: Answers) -> Floats:
        """The score of each answer, shape (n,)."""

    def count(self, answers: Answers) -> Floats:
        scores = np.asarray(self.score_each(answers), dtype=np.float64)
        return np.stack([scores, np.ones_like(scores)], axis=-1)

    def combine(self, sums: Floats) -> Floats:
        return sums[..., 0] / sums[..., 1]


_ABSENT = {
    "candidates": "no answer",
    "references": "no reference",
    "question_types": "no question type",
    "opinions": "no opinion",
    "reference_opinions": "no opinions of references",
    "entities": "no entities",
    "passages": "no passage",
    "questions": "no question",
}


def _has_text(cell: str | Texts) -> bool:
    return bool(cell)


def _check(name: str, value: Any, default: Any, allowed: Mapping[str, Any]) -> None:
    if choices := allowed.get("choices"):
        if value not in choices:
            raise ValueError(f"{name} is one of {', '.join(choices)}, not {value!r}.")
    elif high := allowed.get("high"):
        is_whole = isinstance(default, int)
        is_number = isinstance(value, int if is_whole else int | float) and not isinstance(value, bool)
        if not (is_number and allowed["low"] <= value <= high):
            kind = "a whole number" if is_whole else "a number"
            raise ValueError(f"{name} is {kind} from {allowed['low']:g} to {high:g}, not {value!r}.")
    elif isinstance(default, bool) and not isinstance(value, bool):
        raise ValueError(f"{name} is True or False, not {value!r}.")
