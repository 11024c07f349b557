"""The summary of a run's scores: over all candidates, by dataset and by source, and their distribution."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from django.db import connection

from measures.patterns import Floats
from results.models import MetricRun

Combine = Callable[[Floats], Floats] | None
"""From summed statistics to corpus scores, for metrics whose corpus score is not the mean of their scores."""

Sums = dict[tuple[str, str | None], Floats]
"""Summed statistics of groups of candidates: all of them, those of each dataset and those of each source."""

BINS = 20
MOST_PARTS = 60
"""The most datasets and sources that are listed, those with most candidates."""


def summarise(
    run: MetricRun,
    combine: Combine = None,
    *,
    sums: Sums | None = None,
    low: float | None = None,
    high: float | None = None,
) -> dict[str, Any]:
    """Return figures of the stored scores; `score` is the corpus score where that is not the mean.

    `sums` are the summed statistics where they are known already; else they are added up here. `low` and `high` are the
    ends of the metric's range, where it has any. Deviations have n - 1 in the denominator and are None for one score.
    """
    corpora = dict(_compute_corpora(_add_up(run) if sums is None else sums, combine)) if combine else {}
    parts: dict[str, list[dict[str, Any]]] = {"all": [], "dataset": [], "source": []}
    with connection.cursor() as cursor:
        cursor.execute(_PARTS, [run.pk])
        for kind, name, *figures in cursor.fetchall():
            part = {"name": name, **dict(zip(("n", "mean", "sd", "low", "high"), figures, strict=True))}
            parts[kind].append({**part, "score": corpora.get((kind, name), part["mean"])})
    whole = parts.pop("all")
    return {
        **(whole[0] if whole else {"n": 0}),
        "is_corpus": combine is not None,
        "parts": {kind: listed[:MOST_PARTS] for kind, listed in parts.items()},
        "n_parts": {kind: len(listed) for kind, listed in parts.items()},
        "histogram": _make_histogram(run, whole[0], low, high) if whole else None,
    }


def _add_up(run: MetricRun) -> Sums:
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, [run.pk])
        return {(kind, name): np.array(sums, dtype=np.float64) for kind, name, sums in cursor.fetchall()}


def _compute_corpora(sums: Sums, combine: Callable[[Floats], Floats]) -> Iterator[tuple[tuple[str, str | None], float]]:
    if sums:
        scores = combine(np.array([*sums.values()], dtype=np.float64))
        yield from zip(sums, scores.tolist(), strict=True)


def _make_histogram(
    run: MetricRun, whole: dict[str, Any], low: float | None, high: float | None
) -> dict[str, list[float]]:
    """Return equal bins over the metric's range, or over its scores where the range has no end."""
    # A score beyond its declared range still has to fall into a bin.
    low = whole["low"] if low is None else min(low, whole["low"])
    high = whole["high"] if high is None else max(high, whole["high"])
    # width_bucket needs two different bounds, which of very large scores are no half apart.
    if low == high:
        half = max(0.5, abs(low) / 1e6)
        low, high = low - half, high + half
    with connection.cursor() as cursor:
        cursor.execute(_BINS, {"run": run.pk, "low": low, "high": high, "bins": BINS})
        counts = dict(cursor.fetchall())
    return {
        "edges": np.linspace(low, high, BINS + 1).tolist(),
        "counts": [counts.get(place, 0) for place in range(1, BINS + 1)],
    }


_SCORED = """
FROM results_metricscore s JOIN projects_candidate c ON c.id = s.candidate_id
JOIN projects_dataset d ON d.id = c.dataset_id
"""
_KINDS = "CASE WHEN grouping(d.name) = 0 THEN 'dataset' WHEN grouping(c.source) = 0 THEN 'source' ELSE 'all' END"
# All candidates, each dataset and each source in one pass over the scores. The empty grouping set gives a row even
# without scores, which HAVING drops.
_PARTS = f"""
SELECT {_KINDS}, coalesce(d.name, c.source), count(*), avg(s.value), stddev_samp(s.value), min(s.value), max(s.value)
{_SCORED} WHERE s.run_id = %s AND s.value IS NOT NULL GROUP BY GROUPING SETS ((d.name), (c.source), ())
HAVING count(*) > 0
ORDER BY 3 DESC, 2
"""
# Adds the arrays of statistics element by element: unnested with their position, summed, and put together again.
_SUMS = f"""
SELECT kind, name, array_agg(sum ORDER BY position) FROM (
    SELECT {_KINDS} AS kind, coalesce(d.name, c.source) AS name, u.position, sum(u.x) AS sum
    {_SCORED} CROSS JOIN LATERAL unnest(s.counts) WITH ORDINALITY u (x, position)
    WHERE s.run_id = %s GROUP BY GROUPING SETS ((d.name, u.position), (c.source, u.position), (u.position))) summed
GROUP BY kind, name
"""
# width_bucket leaves the upper bound out of the last bin, and `least` puts it back.
_BINS = """
SELECT least(width_bucket(value, %(low)s, %(high)s, %(bins)s), %(bins)s), count(*)
FROM results_metricscore WHERE run_id = %(run)s AND value IS NOT NULL GROUP BY 1
"""
