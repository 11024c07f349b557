"""Metric scores, joined to the candidates of an evaluation; missing scores are counted, with their reasons."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from measures.patterns import Floats
from projects.database.frames import copy_frame
from results.models import MetricRun
from results.studies.metrics_chosen import make_labels

CANDIDATE, EXTERNAL_ID = "candidate", "external_id"
MOST_NAMED = 10
"""Candidates without a score that are named for each metric; all are counted."""
NOT_SCORED = "not among the scores"


@dataclass(frozen=True, kw_only=True)
class MetricColumn:
    """A metric in an evaluation: the newest run of its subject, and the candidates that this run lacks."""

    subject: str
    name: str
    title: str
    label: str
    """The title, with the settings in which it differs from a metric of the same title in this evaluation."""
    origin: str
    settings: dict[str, Any]
    signature: str
    run: int
    finished_at: str
    low: float | None
    high: float | None
    """The declared range of the metric; None where it has no bound, or none is known."""
    n_missing: int = 0
    missing: tuple[str, ...] = ()
    reasons: dict[str, int] = field(default_factory=dict)


def with_scores(
    table: pd.DataFrame, runs: Sequence[MetricRun], *, with_reasons: bool = True
) -> tuple[pd.DataFrame, tuple[MetricColumn, ...]]:
    """Return the table with a column for each metric, NaN where it has no score, and the metrics.

    The reasons of missing scores take a query for each metric that lacks some.
    """
    scores = copy_frame(_SCORES, {"runs": [run.pk for run in runs]}, _SCORE_TYPES)
    labels, names = make_labels(runs), table[EXTERNAL_ID].to_numpy()
    found, metrics = {}, []
    for run in runs:
        own = scores[scores["run"] == run.pk].set_index(CANDIDATE)["value"]
        # reindex leaves NaN where a candidate has no score, which is missing and not zero.
        found[run.subject] = own.reindex(table[CANDIDATE]).to_numpy(np.float64)
        is_missing = np.isnan(found[run.subject])
        reasons = fetch_reasons(run, table[CANDIDATE][is_missing]) if with_reasons and is_missing.any() else {}
        low, high = _read_range(run)
        metrics.append(
            MetricColumn(
                subject=run.subject,
                name=run.metric,
                title=run.title,
                label=labels[run.subject],
                origin=run.origin,
                settings=run.settings,
                signature=run.signature,
                run=run.pk,
                finished_at=run.finished_at.isoformat() if run.finished_at else "",
                low=low,
                high=high,
                n_missing=int(is_missing.sum()),
                missing=tuple(names[is_missing][:MOST_NAMED]),
                reasons=reasons,
            )
        )
    return table.join(pd.DataFrame(found, index=table.index)), tuple(metrics)


def _read_range(run: MetricRun) -> tuple[float | None, float | None]:
    """Return the declared bounds of a metric that was computed here."""
    about = run.report.get("about", {})
    return about.get("low"), about.get("high")


def fetch_reasons(run: MetricRun, missing: Iterable[int]) -> dict[str, int]:
    """Return why these candidates have no score, with the count of each reason, the most frequent first."""
    ids = [int(each) for each in missing]
    reasons = dict(run.scores.filter(candidate_id__in=ids, value=None).values_list("candidate_id", "reason"))
    return dict(Counter(reasons.get(each, NOT_SCORED) for each in ids).most_common())


def fetch_counts(runs: Sequence[MetricRun], candidates: pd.Series) -> dict[str, Floats]:
    """Return the statistics behind the scores of metrics that keep any, by subject, a row for each candidate."""
    rows_by_candidate = {int(each): row for row, each in enumerate(candidates)}
    found: dict[str, Floats] = {}
    for run in runs:
        rows = run.scores.exclude(counts=None).values_list("candidate_id", "counts").iterator(chunk_size=5_000)
        for candidate, counts in rows:
            if candidate in rows_by_candidate and counts:
                # Statistics of a metric all have one length, which the first row tells.
                own = found.setdefault(run.subject, np.zeros((len(rows_by_candidate), len(counts))))
                own[rows_by_candidate[candidate]] = counts
    return found


_SCORES = """
SELECT run_id AS run, candidate_id AS candidate, value FROM results_metricscore
WHERE run_id = ANY(%(runs)s) AND value IS NOT NULL"""
_SCORE_TYPES = {"run": pa.int64(), CANDIDATE: pa.int64(), "value": pa.float64()}
