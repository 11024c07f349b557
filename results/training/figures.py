"""The figures of a training as its row stores them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from measures.correlation import pearson
from measures.neural.lerc.judging import Figures, PartFigures, judge
from measures.neural.lerc.rows import Parts, Row
from measures.neural.lerc.settings import TrainingResult
from measures.neural.lerc.variants import Variant
from measures.outcome import Undefined
from measures.patterns import Floats
from results.studies.stored import store_correlation

METRIC = "LERC"
HELD_OUT = "LERC, dataset held out"
"""The column of predictions where each dataset is left out in turn."""


def store_figures(found: Figures) -> dict[str, Any]:
    """Return the correlations of a split as JSON holds them."""
    return {
        "whole": _store_part(found.whole),
        "datasets": [_store_part(part) for part in found.datasets],
        "sources": [_store_part(part) for part in found.sources],
        "means": {name: store_correlation(each) for name, each in found.means.items()},
        "n_left_out": found.n_left_out,
    }


def store_variant(variant: Variant, parts: Parts, trained: TrainingResult) -> dict[str, Any]:
    """Return one training: what it was, its runs epoch by epoch, and its correlations with people."""
    own = trained.predictions[trained.seed]
    return {
        **asdict(variant),
        "n_train": len(parts.train),
        "rate": trained.rate,
        "seed": trained.seed,
        "runs": [asdict(run) for run in trained.runs],
        "dev": _judge(parts.dev, own["dev"]),
        "test": _judge(parts.test, own["test"]),
        "seeds": {
            str(seed): {name: _pearson(rows, each[name]) for name, rows in (("dev", parts.dev), ("test", parts.test))}
            for seed, each in trained.predictions.items()
        },
    }


def _judge(rows: Sequence[Row], scores: Floats) -> dict[str, Any]:
    return _store_part(judge(rows, {METRIC: scores}, seed=0, n_resamples=1).whole)


def _pearson(rows: Sequence[Row], scores: Floats) -> float | None:
    value = pearson(scores, np.array([row.score for row in rows], np.float64))
    return None if isinstance(value, Undefined) else value


def _store_part(part: PartFigures) -> dict[str, Any]:
    return {
        "names": list(part.names),
        "n": part.n,
        "n_passages": part.n_passages,
        "metrics": {name: store_correlation(each) for name, each in part.metrics.items()},
    }
