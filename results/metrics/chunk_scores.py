"""The scores of one chunk of a run: computed in the snapshot of the run, written with the end of the chunk."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import orjson

from measures.metrics import Broken, Metric, score_slice
from projects.database.snapshots import SnapshotGone, join_snapshot
from projects.errors import Refused
from projects.jobs.running import OnProgress
from projects.models import Candidate
from results.metrics.candidate_slices import Slice, stream_candidates
from results.metrics.storing import ScoreColumn, copy_scores, delete_scores, needs_counts
from results.metrics.summarising import Sums
from results.models import MetricChunk, MetricScore


def score_chunk(chunk: MetricChunk, metric: Metric, on_progress: OnProgress) -> dict[str, Any]:
    try:
        with join_snapshot(chunk.snapshot):
            return _score_candidates(chunk, metric, on_progress)
    except SnapshotGone:
        raise Refused("The computation that this was a part of has ended.") from None
    except Broken as error:
        raise Refused(str(error)) from error


def _score_candidates(chunk: MetricChunk, metric: Metric, on_progress: OnProgress) -> dict[str, Any]:
    run, total = chunk.run, chunk.n_candidates
    read = partial(stream_candidates, run.project, metric, questions=(chunk.first_question, chunk.last_question))
    identity = dict(metric.identify())
    on_progress(0, total)
    if chunk.digest:
        digest = _Digest(chunk, identity)
        for part in read():
            digest.add(part)
            on_progress(0, total)
        if digest.result() == chunk.digest:
            on_progress(total, total)
            return {"column": None, "report": {**chunk.report, "is_resumed": True}}
    digest, column = _Digest(chunk, identity), ScoreColumn(with_counts=needs_counts(metric))
    for part in read():
        digest.add(part)
        scores = score_slice(metric, part.answers, shift_progress(len(column), total, on_progress))
        column.add(part.ids, scores)
        on_progress(len(column), total)
    return {
        "column": column,
        "digest": digest.result(),
        "report": {
            "n_scored": len(column) - len(column.reasons),
            "n_refused": len(column.reasons),
            "reasons": dict(Counter(column.reasons.values())),
            "notes": dict(column.notes),
            "identity": identity,
            "sums": [[*group, sums.tolist()] for group, sums in _add_up(chunk, column).items()],
        },
    }


class _Digest:
    """A hash of the answers of a chunk, and of what their scores depend on."""

    def __init__(self, chunk: MetricChunk, identity: Mapping[str, str]) -> None:
        self._hash = hashlib.sha256(orjson.dumps([chunk.edition, identity], option=orjson.OPT_SORT_KEYS))

    def add(self, part: Slice) -> None:
        self._hash.update(orjson.dumps([part.ids, part.answers.columns()], default=list))

    def result(self) -> str:
        return self._hash.hexdigest()


def _add_up(chunk: MetricChunk, column: ScoreColumn) -> Sums:
    """Return the summed statistics of the chunk: of all its scored candidates, and by dataset and by source."""
    counted = [
        (ids, values, counts)
        for ids, values, counts in zip(column.ids, column.values, column.counts, strict=False)
        if counts.shape[-1]  # else no answer of the slice could be scored
    ]
    if not counted:
        return {}
    ids = [each for some, _values, _counts in counted for each in some]
    is_scored = np.isfinite(np.concatenate([values for _ids, values, _counts in counted]))
    counts = np.concatenate([counts for _ids, _values, counts in counted])
    # The ids of other projects' questions can lie between those of the chunk.
    own = Candidate.objects.judgeable_in(chunk.run.project)
    named = own.filter(question__gte=chunk.first_question, question__lte=chunk.last_question)
    groups = {pk: names for pk, *names in named.values_list("pk", "dataset__name", "source")}
    found: Sums = {}
    for kind, place in (("dataset", 0), ("source", 1)):
        of_each = [groups[pk][place] for pk in ids]
        for name in dict.fromkeys(of_each):
            rows = is_scored & np.array([each == name for each in of_each])
            if rows.any():
                found[kind, name] = counts[rows].sum(axis=0)
    return {("all", None): counts[is_scored].sum(axis=0), **found} if is_scored.any() else {}


def store_chunk(chunk: MetricChunk, changes: dict[str, Any]) -> None:
    """Store the scores of a chunk, in the transaction that marks it as done."""
    column = changes.pop("column")
    if column is None:
        return
    if chunk.digest:
        written = MetricScore.objects.filter(run=chunk.run_id, candidate__question__gte=chunk.first_question)
        delete_scores(written.filter(candidate__question__lte=chunk.last_question))
    copy_scores(chunk.run_id, column)


def shift_progress(before: int, total: int, on_progress: OnProgress) -> OnProgress:
    """Return a function that reports the progress of a slice as that of the whole."""
    return lambda done, _of_slice: on_progress(before + done, total)
