"""How well a trained metric agrees with people on answers that it has not seen, beside metrics of words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from measures.metrics import score
from measures.neural.lerc.rows import Row
from measures.patterns import Floats
from measures.studies.by_part import correlate_by_part
from measures.studies.correlating import Correlation, correlate_linearly

WORD_METRICS = ("bleu_1", "bleu_4", "meteor_2005", "rouge_l", "token_f1", "chrf")
"""Metrics that are shown beside a trained one, compared with the same single reference."""


@dataclass(frozen=True)
class PartFigures:
    """The correlations within one part of the answers.

    Attributes
    ----------
    names : tuple of str
        What the part is: a dataset, or a dataset and a source.
    n, n_passages : int
        Its answers and their passages.
    metrics : mapping of str to Correlation
        Pearson's correlation of each metric, with a jackknife interval over passages where answers share them.
    """

    names: tuple[str, ...]
    n: int
    n_passages: int
    metrics: Mapping[str, Correlation]


@dataclass(frozen=True)
class Figures:
    """The correlations of metrics with people over the answers of one split.

    Attributes
    ----------
    whole : PartFigures
        Over all answers.
    datasets, sources : tuple of PartFigures
        By dataset, and by dataset and source; those with fewer than three answers are undefined.
    means : mapping of str to Correlation
        The unweighted mean of the datasets' correlations, with a bootstrap interval; empty with a single dataset.
    n_left_out : int
        Answers that some metric could not score; they are left out for all.
    """

    whole: PartFigures
    datasets: tuple[PartFigures, ...]
    sources: tuple[PartFigures, ...]
    means: Mapping[str, Correlation]
    n_left_out: int


def score_words(rows: Sequence[Row]) -> dict[str, Floats]:
    """Return the scores of the metrics of words, by name; NaN where one cannot score an answer."""
    candidates, references = [row.candidate for row in rows], [[row.reference] for row in rows]
    return {name: score(name, candidates, references) for name in WORD_METRICS}


def judge(rows: Sequence[Row], columns: Mapping[str, Floats], *, seed: int, n_resamples: int = 1000) -> Figures:
    """Correlate metrics with the gold scores, over all answers and within each part.

    Parameters
    ----------
    rows : sequence of Row
        The answers with their gold scores.
    columns : mapping of str to ndarray of float64, shape (n,)
        The scores of each metric; NaN where it has none.
    seed, n_resamples : int
        Of the bootstrap of the means.

    Returns
    -------
    Figures
        Undefined figures say why.
    """
    kept = np.ones(len(rows), bool)
    for column in columns.values():
        kept &= np.isfinite(column)
    places = np.flatnonzero(kept).tolist()
    own = [rows[place] for place in places]
    scores = {name: np.asarray(column, np.float64)[places] for name, column in columns.items()}
    datasets = [row.dataset for row in own]
    means: Mapping[str, Correlation] = {}
    if len(set(datasets)) > 1:
        by_part = correlate_by_part(
            _gold(own),
            scores,
            datasets,
            rng=np.random.default_rng(seed),
            groups=_passages(own),
            by_group=True,
            n_resamples=n_resamples,
        )
        means = {name: each.pearson for name, each in by_part.means.items()}
    return Figures(
        whole=_correlate((), own, scores),
        datasets=_cut(own, scores, [(name,) for name in datasets]),
        sources=_cut(own, scores, [(row.dataset, row.source) for row in own]),
        means=means,
        n_left_out=len(rows) - len(own),
    )


def _cut(
    rows: Sequence[Row], scores: Mapping[str, Floats], parts: Sequence[tuple[str, ...]]
) -> tuple[PartFigures, ...]:
    found = []
    for names in sorted(set(parts)):
        places = [place for place, part in enumerate(parts) if part == names]
        own = {name: column[places] for name, column in scores.items()}
        found.append(_correlate(names, [rows[place] for place in places], own))
    return tuple(found)


def _correlate(names: tuple[str, ...], rows: Sequence[Row], scores: Mapping[str, Floats]) -> PartFigures:
    passages = _passages(rows)
    n_passages = len(set(passages))
    # Answers of one passage are not independent; where each has its own, both units are the same.
    found = correlate_linearly(_gold(rows), scores, groups=passages, by_group=n_passages < len(rows))
    return PartFigures(names, len(rows), n_passages, found)


def _gold(rows: Sequence[Row]) -> Floats:
    return np.array([row.score for row in rows], np.float64)


def _passages(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return [(row.dataset, row.group) for row in rows]
