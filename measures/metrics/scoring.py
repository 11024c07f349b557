"""Scoring a column of answers with a metric: in batches, with progress, and with a reason for each refusal."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

from measures.metrics.metric import Answers, Metric, Texts
from measures.metrics.registry import make
from measures.outcome import Undefined
from measures.patterns import Floats

OnProgress = Callable[[int, int], None]
"""Called with the number of answers scored and of all answers; it may raise to stop."""

BATCH_CHARACTERS = 500_000
"""A batch of long texts has fewer answers than `batch_size`: n-grams take many times the memory of their texts."""


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The scores of a column of answers.

    Attributes
    ----------
    metric : Metric
        The configured metric.
    values : ndarray of float64, shape (n,)
        In the range of the metric; NaN where an answer was refused.
    reasons : tuple of str
        Why each answer was refused; empty if it has a score.
    counts : ndarray of float64, shape (n, k)
        The statistics of the answers; zeros where an answer was refused.
    notes : mapping
        Further counts for a report, such as how many answers had a bonus.
    identity : mapping
        What the scores depend on beside settings and packages, such as a hash of a model.
    """

    metric: Metric
    values: Floats
    reasons: tuple[str, ...]
    counts: Floats
    notes: dict[str, int]
    identity: dict[str, str]

    @property
    def n_scored(self) -> int:
        return int(np.isfinite(self.values).sum())

    def over(self, rows: Any = slice(None)) -> float | Undefined:
        """Return the corpus score of these answers without refused ones; undefined if none is left."""
        is_scored = np.isfinite(self.values[rows])
        if not is_scored.any():
            return Undefined(reason="no answer could be scored")
        return float(self.metric.combine(self.counts[rows][is_scored].sum(axis=0)))


def score_column(metric: Metric, answers: Answers, on_progress: OnProgress = lambda _done, _total: None) -> Scores:
    """Score every answer of a column with a configured metric.

    Parameters
    ----------
    metric : Metric
        As `measures.metrics.make` returns it.
    answers : Answers
        The column.
    on_progress : callable
        Called between two batches with the number of answers scored and of all answers; it may raise to stop.

    Returns
    -------
    Scores
        With the reason for each answer that has no score.

    Raises
    ------
    ValueError
        This machine lacks something that the metric needs.
    Broken
        The metric failed while it was computed.

    Examples
    --------
    >>> found = score_column(make("exact_match"), Answers(candidates=["cat", "dog"], references=[["cat"], []]))
    >>> found.values, found.reasons
    (array([ 1., nan]), ('', 'no reference'))
    """
    if missing := metric.lacks():
        raise ValueError(missing)
    answers = answers.against(metric.against)
    with metric.ready():
        if metric.reads_all:
            metric.read_all([answers], lambda: on_progress(0, len(answers)))
        return score_slice(metric, answers, on_progress)


def score_slice(metric: Metric, answers: Answers, on_progress: OnProgress = lambda _done, _total: None) -> Scores:
    """Score a part of a column that is too long for memory, within the context `metric.ready()`.

    A metric that `reads_all` must have read all parts before.

    Parameters
    ----------
    metric, answers, on_progress
        As in `score_column`; the references are already reduced by `Answers.against`.

    Returns
    -------
    Scores
        Those of these answers.

    Examples
    --------
    >>> metric = make("exact_match")
    >>> with metric.ready():
    ...     for text in ("cat", "dog"):
    ...         print(score_slice(metric, Answers(candidates=[text], references=[["cat"]])).values)
    [1.]
    [0.]
    """
    given, answers = answers, metric.choose_references(answers)
    # Refused answers never reach `count`, so a metric may rely on what it requires.
    reasons = metric.refuse(answers)
    rows = [row for row, reason in enumerate(reasons) if not reason]
    values = np.full(len(answers), np.nan)
    parts: list[Floats] = []
    on_progress(0, len(rows))
    n_done = 0
    for batch in _cut(answers, rows, metric.batch_size):
        parts.append(metric.count(answers.only(batch)))
        n_done += len(batch)
        on_progress(n_done, len(rows))
    counts = np.zeros((len(answers), parts[0].shape[-1] if parts else 0))
    if parts:
        counts[rows] = np.concatenate(parts)
        values[rows] = metric.combine(counts[rows])
    return Scores(
        metric=metric,
        values=values,
        reasons=tuple(reasons),
        counts=counts,
        notes={**metric.notes(counts[rows]), **_note_unread(given, answers)} if parts else {},
        identity=dict(metric.identify()),
    )


@overload
def score(
    name: str,
    candidates: Texts,
    references: Sequence[Texts] = (),
    *,
    with_reasons: Literal[False] = False,
    **settings: Any,
) -> Floats: ...
@overload
def score(
    name: str, candidates: Texts, references: Sequence[Texts] = (), *, with_reasons: Literal[True], **settings: Any
) -> tuple[Floats, tuple[str, ...]]: ...
def score(
    name: str, candidates: Texts, references: Sequence[Texts] = (), *, with_reasons: bool = False, **settings: Any
) -> Floats | tuple[Floats, tuple[str, ...]]:
    """Score each answer against its references.

    Parameters
    ----------
    name : str
        A metric, such as "rouge_l"; `measures.metrics.METRICS` lists them all.
    candidates : sequence of str
        The answers.
    references : sequence of sequence of str
        The references of each.
    with_reasons : bool
        Whether to return the reasons of refusals too.
    **settings
        Settings of the metric, and other columns of `measures.metrics.Answers`, such as `entities`.

    Returns
    -------
    ndarray of float64, shape (n,)
        The scores, in the range of the metric; NaN where it refuses an answer.
    tuple of str
        With `with_reasons`: the reason of each refusal; empty if there is a score.

    Raises
    ------
    ValueError
        There is no such metric or setting, a value is not allowed, columns differ in length, or this machine lacks
        something that the metric needs.

    Examples
    --------
    >>> score("exact_match", ["The cat", "a dog"], [["cat"], ["cat", "mouse"]])
    array([1., 0.])
    """
    found = _score(name, candidates, references, settings)
    return (found.values, found.reasons) if with_reasons else found.values


def score_corpus(name: str, candidates: Texts, references: Sequence[Texts] = (), **settings: Any) -> float | Undefined:
    """Compute the corpus score of a set of answers; answers that the metric refuses are left out.

    Parameters
    ----------
    name, candidates, references, **settings
        As in `score`.

    Returns
    -------
    float or Undefined
        Undefined if no answer could be scored. BLEU, METEOR 1.5 and chrF sum their counts before combining them; for
        the other metrics it is the mean of the answers' scores.

    Raises
    ------
    ValueError
        As `score` does.

    Examples
    --------
    >>> score_corpus("exact_match", ["The cat", "a dog"], [["cat"], ["cat", "mouse"]])
    0.5
    """
    return _score(name, candidates, references, settings).over()


def _note_unread(given: Answers, answers: Answers) -> dict[str, int]:
    """Return how many answers are compared with fewer references than they have; nothing where none is."""
    n = sum(len(texts) < len(own) for texts, own in zip(answers.references, given.references, strict=True))
    return {"answers with a reference in another script": n} if n else {}


def _cut(answers: Answers, rows: Sequence[int], size: int) -> Iterator[list[int]]:
    batch: list[int] = []
    n_characters = 0
    for row in rows:
        references = answers.references[row] if len(answers.references) else ()
        length = len(answers.candidates[row]) + sum(map(len, references))
        if batch and (len(batch) == size or n_characters + length > BATCH_CHARACTERS):
            yield batch
            batch, n_characters = [], 0
        batch.append(row)
        n_characters += length
    if batch:
        yield batch


def _score(name: str, candidates: Texts, references: Sequence[Texts], settings: dict[str, Any]) -> Scores:
    columns = {key: settings.pop(key) for key in list(settings) if key in Answers.__dataclass_fields__}
    return score_column(make(name, **settings), Answers(candidates=candidates, references=references, **columns))
