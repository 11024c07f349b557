"""System-level correlation of metrics with human scores: over repeated draws of questions, and over all answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from measures.correlation import kendall, name_human_side, pearson, spearman
from measures.outcome import Undefined
from measures.patterns import Floats, Ints
from measures.rounding import IN_SUMS, ON_SCALE, merge_ties

Names = Sequence[object] | npt.NDArray[np.generic]


def take_mean(sums: Floats) -> Floats:
    """Divide sums of scores by their numbers.

    Parameters
    ----------
    sums : ndarray of float64, shape (..., 2)
        The sum of the scores, and their number, which is at least 1.

    Returns
    -------
    ndarray of float64, shape (...)
        The means.

    Examples
    --------
    >>> take_mean(np.array([[3.0, 2.0], [1.0, 4.0]])).tolist()
    [1.5, 0.25]
    """
    means: Floats = sums[..., 0] / sums[..., 1]
    return means


@dataclass(frozen=True, kw_only=True, eq=False)
class Additive:
    """A metric whose score of many answers is a function of sums over them.

    Attributes
    ----------
    counts : ndarray of float64, shape (n, k)
        The statistics of each answer, such as BLEU's matches and lengths; all finite.
    combine : callable
        Computes scores from sums of them, shape (..., k) to (...), as `measures.metrics.Metric.combine` does.
    """

    counts: Floats
    combine: Callable[[Floats], Floats]

    @classmethod
    def from_scores(cls, scores: Floats) -> "Additive":
        """Return a metric whose score of many answers is the mean of their scores."""
        scores = np.asarray(scores, np.float64)
        return cls(counts=np.stack([scores, np.ones_like(scores)], axis=-1), combine=take_mean)


@dataclass(frozen=True, kw_only=True)
class Lacking:
    """How many questions are not answered by every system; these are in no draw.

    Attributes
    ----------
    n_common, n_all : int
        Questions that every system has answered, and all questions.
    lacks : dict of str to int
        The number of questions without an answer of a system, for systems that have any.
    """

    n_common: int
    n_all: int
    lacks: dict[str, int]


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawnCorrelation:
    """The correlation of a metric with human scores of systems over repeated draws of questions.

    Attributes
    ----------
    systems : tuple of str
        The systems, in alphabetical order.
    human, metric : ndarray of float64, shape (n_draws, systems)
        The mean human score and the metric's score of each system in each draw: the points.
    pearson : float or Undefined
        Over all points. There is no p-value, because draws share questions and are not independent.
    n_questions : int
        Questions in a draw.
    """

    systems: tuple[str, ...]
    human: Floats
    metric: Floats
    pearson: float | Undefined
    n_questions: int


@dataclass(frozen=True, kw_only=True, eq=False)
class SystemCorrelation:
    """The correlation of a metric with human scores over systems: one point per system, from all its answers.

    Attributes
    ----------
    systems : tuple of str
        The systems, in alphabetical order.
    n_items : ndarray of int64, shape (systems,)
        Number of answers of each.
    human, metric : ndarray of float64, shape (systems,)
        The points.
    pearson, spearman, kendall : float or Undefined
        Over the systems; undefined for fewer than three, and if all scores of a side are equal.
    """

    systems: tuple[str, ...]
    n_items: Ints
    human: Floats
    metric: Floats
    pearson: float | Undefined
    spearman: float | Undefined
    kendall: float | Undefined


def find_lacking(questions: Names, systems: Names) -> Lacking:
    """Count the questions that every system has answered, and those that each system lacks.

    Parameters
    ----------
    questions, systems : sequence, shape (n,)
        The question and the system of each answer.

    Returns
    -------
    Lacking
        The counts.

    Raises
    ------
    ValueError
        Lengths differ.

    Examples
    --------
    >>> find_lacking([1, 2, 1, 3], ["a", "a", "b", "b"])
    Lacking(n_common=1, n_all=3, lacks={'a': 1, 'b': 1})
    """
    cells = _Cells(questions, systems)
    has = cells.n > 0
    lacks = {name: int(n) for name, n in zip(cells.systems, (~has).sum(axis=0), strict=True) if n}
    return Lacking(n_common=int(has.all(axis=1).sum()), n_all=len(has), lacks=lacks)


def draw_systems(
    questions: Names,
    systems: Names,
    human: Floats,
    metrics: Mapping[str, Additive],
    *,
    rng: np.random.Generator,
    n_questions: int = 30,
    n_draws: int = 100,
) -> dict[str, DrawnCorrelation] | Undefined:
    """Correlate metrics with human scores of systems over repeated draws of questions.

    Each draw takes questions without replacement from those that every system has answered; it is the same for all
    systems and metrics. In a draw, a system has its mean human score, and the metric's score of its answers together,
    such as their corpus BLEU. The points of all draws and systems are pooled.

    Parameters
    ----------
    questions, systems : sequence, shape (n,)
        The question and the system of each answer; a system may have several answers to a question.
    human : ndarray of float64, shape (n,)
        The human score of each answer.
    metrics : mapping of str to Additive
        The metrics by name, on the same answers.
    rng : numpy.random.Generator
        The source of randomness. The draws of a seed depend on the order in which questions occur.
    n_questions : int
        Questions per draw.
    n_draws : int
        Number of draws.

    Returns
    -------
    dict of str to DrawnCorrelation, or Undefined
        By metric. Undefined for fewer than two systems, and if fewer than `n_questions` questions have an answer of
        every system.

    Raises
    ------
    ValueError
        Lengths differ, a score is missing, or a number is below 1.

    References
    ----------
    A. Yang et al. (2018), Adaptations of ROUGE and BLEU to Better Evaluate Machine Reading Comprehension Task,
    table 3.

    Examples
    --------
    >>> questions, systems = [1, 1, 2, 2, 3, 3], ["a", "b"] * 3
    >>> human = np.array([1.0, 4, 2, 5, 1, 4])
    >>> found = draw_systems(questions, systems, human, {"m": Additive.from_scores(human / 5)},
    ...                      rng=np.random.default_rng(1), n_questions=2, n_draws=10)
    >>> found["m"].human.shape, round(found["m"].pearson, 9)
    ((10, 2), 1.0)
    >>> draw_systems(questions, systems, human, {}, rng=np.random.default_rng(1)).reason
    'only 3 questions have an answer of every system; a draw needs 30'
    """
    if n_questions < 1 or n_draws < 1:
        raise ValueError("n_draws and n_questions must be 1 or more.")
    cells = _Cells(questions, systems)
    common = np.flatnonzero((cells.n > 0).all(axis=1))
    if len(cells.systems) < 2:
        return Undefined(reason="fewer than two systems")
    if len(common) < n_questions:
        have = "question has" if len(common) == 1 else "questions have"
        return Undefined(reason=f"only {len(common)} {have} an answer of every system; a draw needs {n_questions}")
    # permutation, not choice without replacement, because the draws of stored seeds come from it.
    drawn = np.stack([rng.permutation(common)[:n_questions] for _ in range(n_draws)])
    judged = _merge(take_mean(cells.sum(Additive.from_scores(human).counts)[drawn].sum(axis=1)), within=ON_SCALE)
    found = {}
    for name, metric in metrics.items():
        scores = _merge(metric.combine(cells.sum(metric.counts)[drawn].sum(axis=1)))
        found[name] = DrawnCorrelation(
            systems=cells.systems, human=judged, metric=scores,
            pearson=name_human_side(pearson(scores.ravel(), judged.ravel())), n_questions=n_questions,
        )  # fmt: skip
    return found


def correlate_systems(systems: Names, human: Floats, metrics: Mapping[str, Additive]) -> dict[str, SystemCorrelation]:
    """Correlate metrics with human scores over systems, with one point per system from all its answers.

    Parameters
    ----------
    systems : sequence, shape (n,)
        The system of each answer.
    human : ndarray of float64, shape (n,)
        The human score of each answer.
    metrics : mapping of str to Additive
        The metrics by name, on the same answers.

    Returns
    -------
    dict of str to SystemCorrelation
        By metric.

    Raises
    ------
    ValueError
        Lengths differ, or a score is missing.

    References
    ----------
    Ji et al. (2022), QAScore.

    Examples
    --------
    >>> human = np.array([1.0, 3, 4, 5])
    >>> found = correlate_systems(list("aabc"), human, {"m": Additive.from_scores(human ** 2)})["m"]
    >>> found.human.tolist(), found.n_items.tolist(), found.spearman
    ([2.0, 4.0, 5.0], [2, 1, 1], 1.0)
    """
    cells = _Cells(np.zeros(len(systems), np.int64), systems)
    sums = cells.sum(Additive.from_scores(human).counts)
    judged = _merge(take_mean(sums[0]), within=ON_SCALE) if cells.systems else np.zeros(0)
    found = {}
    for name, metric in metrics.items():
        scores = _merge(metric.combine(cells.sum(metric.counts)[0])) if cells.systems else np.zeros(0)
        found[name] = SystemCorrelation(
            systems=cells.systems, n_items=cells.n.sum(axis=0), human=judged, metric=scores,
            pearson=name_human_side(pearson(scores, judged)), spearman=name_human_side(spearman(scores, judged)),
            kendall=name_human_side(kendall(scores, judged)),
        )  # fmt: skip
    return found


def _merge(scores: Floats, *, within: float = 0.0) -> Floats:
    """Return scores of systems in which those that only the order of their addends parts are equal."""
    return merge_ties(scores.ravel(), within=within, relative=IN_SUMS).reshape(scores.shape)


class _Cells:
    """The answers in each cell of a table of questions and systems."""

    def __init__(self, questions: Names, systems: Names) -> None:
        if len(questions) != len(systems):
            raise ValueError("Each answer needs one question and one system.")
        numbers: dict[object, int] = {}
        each = questions.tolist() if isinstance(questions, np.ndarray) else questions
        self._question = np.array([numbers.setdefault(one, len(numbers)) for one in each], np.int64)
        names, self._system = np.unique(np.asarray([str(one) for one in systems], dtype=object), return_inverse=True)
        self.systems = tuple(str(name) for name in names)
        self._shape = (len(numbers), len(self.systems))
        self.n: Ints = np.zeros(self._shape, np.int64)
        np.add.at(self.n, (self._question, self._system), 1)

    def sum(self, counts: Floats) -> Floats:
        """Sum the statistics of each question and system, shape (questions, systems, k)."""
        if len(counts) != len(self._question) or not np.isfinite(counts).all():
            raise ValueError("Each answer needs one finite score.")
        sums = np.zeros((self._shape[0] * self._shape[1], counts.shape[1]))
        if len(counts):
            cells = self._question * self._shape[1] + self._system
            order = np.argsort(cells, kind="stable")
            starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
            # One column at a time: reduceat then adds in pairs, and sums of 100,000 scores keep 15 digits.
            for column, each in enumerate(counts.T):
                sums[cells[order[starts]], column] = np.add.reduceat(each[order], starts)
        return sums.reshape(*self._shape, counts.shape[1])
