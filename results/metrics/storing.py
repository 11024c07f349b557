"""Storing the scores of a run by COPY: each score or the reason why there is none, and statistics where they matter."""

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.db.models import QuerySet

from measures.metrics import MeanMetric, Metric, Scores
from measures.patterns import Floats
from projects import log
from projects.errors import Refused
from projects.models import Act, Membership
from results.metrics.summarising import Combine, Sums, summarise
from results.models import MetricRun, MetricScore

NO_NUMBER = "the metric gave no number"
LARGEST = 1e100
"""Greater scores are stored as missing: the squares of smaller ones, and sums of these, are finite."""
REASON_LENGTH = 200


@dataclass
class ScoreColumn:
    """The scores of a run until they are stored: arrays of numbers, so that a large project fits into memory."""

    with_counts: bool = False
    ids: list[Sequence[int]] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    counts: list[Floats] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)
    """Why candidates have no score, by id."""
    notes: Counter[str] = field(default_factory=Counter)

    def add(self, ids: Sequence[int], scores: Scores) -> None:
        # A metric from outside may return NaN or infinity without a reason; that is no score either.
        is_finite = np.isfinite(scores.values) & (np.abs(scores.values) < LARGEST)
        for row in np.flatnonzero(~is_finite).tolist():
            self.reasons[ids[row]] = (scores.reasons[row] or NO_NUMBER)[:REASON_LENGTH]
        self.ids.append(ids)
        self.values.append(np.where(is_finite, scores.values, np.nan))
        if self.with_counts:
            self.counts.append(scores.counts)
        self.notes.update(scores.notes)

    def __len__(self) -> int:
        return sum(map(len, self.ids))

    def rows(self) -> Iterator[tuple[int, float, Sequence[float]]]:
        """Yield candidate, score (NaN where it has none) and statistics."""
        for place, ids in enumerate(self.ids):
            counts = self.counts[place].tolist() if self.with_counts else [()] * len(ids)
            yield from zip(ids, self.values[place].tolist(), counts, strict=True)


def needs_counts(metric: Metric) -> bool:
    """Return whether statistics are stored beside the scores of a metric; they take more room than these.

    They are kept where the corpus score is not the mean, and where notes on the bonuses of an adapted metric come from
    them.
    """
    return not isinstance(metric, MeanMetric) or bool(metric.weights)


def store_scores(
    run: MetricRun,
    column: ScoreColumn | None,
    combine: Combine = None,
    *,
    sums: Sums | None = None,
    low: float | None = None,
    high: float | None = None,
) -> dict[str, Any]:
    """Write all scores and delete older runs of the same metric, as only the newest counts. Returns their summary.

    Without a column the scores are there already, and `sums` has their summed statistics. Called in the transaction
    that marks the run as done.
    """
    if column is not None:
        copy_scores(run.pk, column)
    # An unfinished run belongs to a worker, which still writes to it.
    older = MetricRun.objects.filter(project=run.project_id, subject=run.subject, pk__lt=run.pk)
    delete_runs(older.exclude(state__in=MetricRun.LIVE))
    return summarise(run, combine, sums=sums, low=low, high=high)


def copy_scores(run_id: int, column: ScoreColumn) -> None:
    """Write the scores of a column."""
    table = f'"{MetricScore._meta.db_table}" (run_id, candidate_id, value, reason, counts)'
    file = io.StringIO("".join(_format_line(run_id, *row, column.reasons) for row in column.rows()))
    with connection.cursor() as cursor:
        cursor.copy_expert(f"COPY {table} FROM STDIN", file)


def delete_scores(scores: QuerySet[MetricScore]) -> None:
    """Delete scores by one statement: nothing refers to them."""
    scores._raw_delete(scores.db)


def delete_runs(runs: QuerySet[MetricRun]) -> None:
    """Delete runs with their scores, in two statements."""
    ids = list(runs.values_list("pk", flat=True))
    if ids:
        # Deleting the runs alone would make Django collect their scores first, as many as there are candidates.
        delete_scores(MetricScore.objects.filter(run__in=ids))
        MetricRun.objects.filter(pk__in=ids).delete()


def _format_line(run: int, candidate: int, value: float, counts: Sequence[float], reasons: dict[int, str]) -> str:
    # Tabs separate the columns, and \N is NULL.
    if candidate in reasons:
        return f"{run}\t{candidate}\t\\N\t{_escape(reasons[candidate])}\t\\N\n"
    listed = "{" + ",".join(map(repr, counts)) + "}" if counts else "\\N"
    # repr gives the shortest text that reads back as the same number.
    return f"{run}\t{candidate}\t{value!r}\t\t{listed}\n"


def _escape(text: str) -> str:
    """Return the text as COPY reads it, without NUL, which the database cannot store."""
    return text.replace("\0", "").translate(_ESCAPES)


_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def delete_run(*, run: MetricRun, actor: Membership) -> None:
    """Delete a run with its scores; evaluations keep what they computed from them. Raises Refused while it is
    running.

    Allowed for managers and for the member who requested it.
    """
    if not may_delete(run, actor):
        raise Refused("Only the member who requested these scores or a manager can delete them.")
    with transaction.atomic():
        rows = MetricRun.objects.filter(pk=run.pk).exclude(state__in=MetricRun.LIVE)
        if not rows.select_for_update().exists():
            raise Refused("This metric is still being computed. Cancel it first.")
        delete_runs(rows)
        after = {"metric": run.metric, "origin": run.origin, "settings": run.settings, "n_scored": run.n_scored}
        log.record(run.project, actor, Act.DELETE_METRIC_RUN, run, before=after)


def may_delete(run: MetricRun, actor: Membership) -> bool:
    return actor.can_manage or run.requested_by_id == actor.pk
