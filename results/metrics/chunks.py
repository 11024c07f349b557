"""Scoring in chunks: a run over many candidates is divided, and every worker that is free takes chunks of it.

The worker that runs the job of the metric divides it, scores chunks like the others, waits until all are done, and adds
up what they found. It also holds a snapshot of the database that all of them read from, so the scores are of one
moment, as those of a run in one piece. A chunk is a job of its own: if its worker dies, another one takes it, and its
scores are written once, together with its end.
"""

import hashlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import orjson
from django.db import connection, transaction
from django.db.models import Count, Q, Sum
from django.db.models.functions import Now

from measures.metrics import Broken, Metric
from measures.patterns import Floats
from projects.database.snapshots import export_snapshot
from projects.errors import Refused
from projects.jobs import queue, running, slots
from projects.jobs.queue import SCORING_QUEUE, Job
from projects.jobs.running import Cancelled, OnProgress
from projects.models import Candidate, Project
from results.learned.usable_models import is_learned
from results.metrics.chunk_scores import score_chunk, store_chunk
from results.metrics.registry import describe_metric, find_metric, make_metric
from results.metrics.storing import ScoreColumn, delete_scores
from results.metrics.summarising import Sums
from results.models import MetricChunk, MetricRun, MetricScore

logger = logging.getLogger(__name__)

SHARED_FROM = 20_000
"""Candidates from which a run is divided; fewer are scored before another worker would have begun."""
CHUNK = 10_000
"""Candidates of a chunk; it ends with a question, so it may have more."""
LOOK_SECONDS = 0.2
"""How often a run looks whether it has to stop, or has anything to do."""
REVIVE_SECONDS = 5.0
"""How often chunks are looked for whose worker has died."""
KEEP_SECONDS = 5.0
"""How often the connection with the snapshot is used: servers, poolers and routers end those that seem forgotten."""


@dataclass
class RunResult:
    """What a run found, alone or by its chunks."""

    n_scored: int = 0
    n_refused: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    identity: dict[str, str] = field(default_factory=dict)
    column: ScoreColumn | None = None
    """The scores, unless the chunks have stored them; then `sums` has their summed statistics."""
    sums: Sums | None = None
    n_resumed: int = 0
    per_second: float = 0.0


def can_share(metric: Metric, total: int) -> bool:
    """Return whether several workers may score a run of so many candidates.

    Learned metrics are computed where their model is, and some scores depend on all other answers.
    """
    return total >= SHARED_FROM and not is_learned(metric) and not metric.reads_all


def score_in_chunks(run: MetricRun, metric: Metric, total: int, on_progress: OnProgress) -> RunResult | None:
    """Score all candidates of a run together with other workers; called in the snapshot of its job.

    Returns None within a transaction of the caller, of which other workers see nothing. Raises Refused with the error
    of a chunk, and what `on_progress` raises.
    """
    snapshot = export_snapshot()
    if snapshot is None:
        return None
    work = _Work(run, metric, list(_divide(run.project)), snapshot)
    work.start()
    kept_at = time.monotonic()
    try:
        while work.is_alive():
            work.join(LOOK_SECONDS)
            on_progress(work.n_done, total)
            if time.monotonic() - kept_at > KEEP_SECONDS:
                _keep_snapshot()
                kept_at = time.monotonic()
    finally:
        work.has_to_stop.set()
        work.join()
    if work.error is not None:
        # A chunk that finds the snapshot gone fails. If the connection is lost, the run is interrupted, and goes on.
        _keep_snapshot()
        raise work.error
    assert work.merged is not None
    return work.merged


def _keep_snapshot() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def take_chunks(pk: int) -> None:
    """Score waiting chunks of the run that this one belongs to, for the worker that holds the run.

    Between two chunks, runs that wait for a worker come first, and so does the end of this one.
    """
    chunk = MetricChunk.objects.filter(pk=pk, state=Job.State.QUEUED).select_related("run__project").first()
    if chunk is None:
        return
    run = chunk.run
    try:
        metric = make_metric(run.metric, find_metric(run.metric, run.project).chosen(run.settings), run.project)
        # Before it takes a thread: whoever gives one back announces what waits, and that is this chunk.
        if chunk.edition != _identify_edition(run, metric):
            _warn_once(run.title, "its run has another version of Concord or of a package")
            return
        with slots.take(SCORING_QUEUE) as is_free:
            if is_free:
                _take_chunks(run, metric, chunk.edition)
    except (Refused, Broken) as reason:
        # The worker that holds the run scores these chunks itself.
        _warn_once(run.title, str(reason))
    if _has_waiting_run():
        queue.announce_next(SCORING_QUEUE)


def _take_chunks(run: MetricRun, metric: Metric, edition: str) -> None:
    with metric.ready():
        while not slots.is_ending.is_set() and not _has_waiting_run():
            waiting = _find_waiting(run, edition)
            if waiting is None:
                return
            _score(waiting, metric)


def _has_waiting_run() -> bool:
    waiting = MetricRun.objects.filter(state=Job.State.QUEUED).only("report")
    return any(run.queue_name == SCORING_QUEUE for run in waiting)


@lru_cache(maxsize=100)
def _warn_once(title: str, why: str) -> None:
    """Tell the log, once and not for each chunk."""
    logger.warning("%s cannot be computed by this worker: %s", title, why)


def discard(run_id: int) -> None:
    """Delete the chunks of a run that has not finished, and the scores that they stored."""
    with transaction.atomic():
        # In this order: a chunk that is about to end commits its scores first, or finds that it is gone.
        if MetricChunk.objects.filter(run=run_id).delete()[0]:
            delete_scores(MetricScore.objects.filter(run=run_id))


def delete_orphans() -> None:
    """Delete what is stored of runs that will not go on, because nobody was there to do so when they ended."""
    goes_on = Q(state__in=MetricRun.LIVE) | Q(state=Job.State.INTERRUPTED, n_interruptions=1)
    for pk in MetricRun.objects.filter(chunks__isnull=False).exclude(goes_on).distinct().values_list("pk", flat=True):
        discard(pk)


class _Work(threading.Thread):
    """Divides a run, scores its chunks beside other workers, and merges them.

    A thread with a connection of its own, since that of the job is in the snapshot and sees no chunk.
    """

    def __init__(self, run: MetricRun, metric: Metric, parts: list["_Part"], snapshot: str) -> None:
        super().__init__(name=f"chunks of run {run.pk}", daemon=True)
        self.run_, self.metric, self.parts, self.snapshot = run, metric, parts, snapshot
        self.has_to_stop = threading.Event()
        self.n_done = 0
        self.error: Exception | None = None
        self.merged: RunResult | None = None
        self._n_seen = 0
        self._chunks = MetricChunk.objects.filter(run=run)
        self._revived_at = time.monotonic()

    def run(self) -> None:
        try:
            edition = _identify_edition(self.run_, self.metric)
            _plan(self.run_, self.parts, self.snapshot, edition)
            with self.metric.ready():
                while not self.has_to_stop.is_set() and self._has_more():
                    waiting = _find_waiting(self.run_, edition)
                    if waiting is None:
                        self.has_to_stop.wait(LOOK_SECONDS)
                    else:
                        _score(waiting, self.metric, self._note_progress)
            if not self.has_to_stop.is_set():
                self.merged = _merge(self._chunks)
        except Broken as error:
            self.error = Refused(str(error))
        except Exception as error:  # noqa: BLE001 - raised again by the job
            self.error = error
        finally:
            try:
                if self.merged is None:
                    self._stop_others()
            except Exception:
                logger.warning("The other workers of %s could not be told to stop.", self.name, exc_info=True)
            finally:
                connection.close()

    def _has_more(self) -> bool:
        """Note the progress of all workers, and return whether a chunk is not done. Raises Refused where one failed."""
        if time.monotonic() - self._revived_at > REVIVE_SECONDS:
            queue.revive(MetricChunk)
            self._revived_at = time.monotonic()
        ended = Q(state__in=(Job.State.FAILED, Job.State.CANCELLED)) | Q(state=Job.State.INTERRUPTED, n_interruptions=2)
        failed = self._chunks.filter(ended).order_by("number").first()
        if failed is not None:
            raise Refused(failed.error or "Its workers were interrupted twice. Nothing was stored.")
        counted = self._chunks.aggregate(n_done=Sum("done"), n_left=Count("pk", filter=~Q(state=Job.State.DONE)))
        self.n_done = self._n_seen = int(counted["n_done"] or 0)
        return bool(counted["n_left"])

    def _note_progress(self, done: int) -> None:
        """Add the chunk that this worker scores to what was seen of all of them before."""
        if self.has_to_stop.is_set():
            raise Cancelled
        self.n_done = self._n_seen + done

    def _stop_others(self) -> None:
        # Only while the run is this worker's: after it was taken for dead, the chunks belong to another attempt.
        chunks = self._chunks.filter(run__attempt=self.run_.attempt)
        chunks.filter(state__in=(Job.State.QUEUED, Job.State.INTERRUPTED)).update(
            state=Job.State.CANCELLED, finished_at=Now()
        )
        chunks.filter(state=Job.State.RUNNING).update(cancel_requested_at=Now())


@dataclass(frozen=True)
class _Part:
    """The candidates of some questions that come one after another."""

    first_question: int
    last_question: int
    n_candidates: int


def _divide(project: Project) -> Iterator[_Part]:
    counted = (
        Candidate.objects.judgeable_in(project)
        .order_by("question_id")
        .values_list("question_id")
        .annotate(n=Count("pk"))
    )
    first, n = None, 0
    last = 0
    for question, n_of_question in counted.iterator(chunk_size=10_000):
        first = question if first is None else first
        last, n = question, n + n_of_question
        if n >= CHUNK:
            yield _Part(first, last, n)
            first, n = None, 0
    if first is not None:
        yield _Part(first, last, n)


def _plan(run: MetricRun, parts: list[_Part], snapshot: str, edition: str) -> None:
    """Queue and announce the chunks of a run.

    Those that an earlier attempt has done keep their scores if they turn out to be the same; see `score_chunk`.
    """
    with transaction.atomic():
        rows = MetricChunk.objects.filter(run=run)
        found = [
            _Part(each.first_question, each.last_question, each.n_candidates)
            for each in rows.select_for_update().order_by("number")
        ]
        if found == parts:
            rows.update(
                state=Job.State.QUEUED,
                snapshot=snapshot,
                edition=edition,
                n_interruptions=0,
                done=0,
                error="",
                queued_at=Now(),
                cancel_requested_at=None,
            )
        else:
            discard(run.pk)
            MetricChunk.objects.bulk_create(
                MetricChunk(
                    run=run,
                    requested_by_id=run.requested_by_id,
                    number=number,
                    first_question=part.first_question,
                    last_question=part.last_question,
                    n_candidates=part.n_candidates,
                    snapshot=snapshot,
                    edition=edition,
                )
                for number, part in enumerate(parts, start=1)
            )
    for chunk in rows.order_by("number")[: queue.MOST_PARTS]:
        if not queue.announce(chunk):
            break  # the broker is silent, and this worker scores them alone


def _identify_edition(run: MetricRun, metric: Metric) -> str:
    """Return a hash of what scores depend on, so that only workers of the same versions share a run."""
    return hashlib.sha256(orjson.dumps([run.subject, describe_metric(metric)], option=orjson.OPT_SORT_KEYS)).hexdigest()


def _find_waiting(run: MetricRun, edition: str) -> MetricChunk | None:
    waiting = MetricChunk.objects.filter(run=run, state=Job.State.QUEUED, edition=edition)
    return waiting.order_by("number").first()


def _score(chunk: MetricChunk, metric: Metric, note_progress: Callable[[int], None] = lambda _done: None) -> None:
    """Score one chunk, unless another worker has taken it meanwhile."""

    def act(chunk: MetricChunk, beat: OnProgress) -> dict[str, Any]:
        def report_progress(done: int, total: int) -> None:
            note_progress(done)
            beat(done, total)

        return score_chunk(chunk, metric, report_progress)

    # The run, or the call of `take_chunks`, has the thread already.
    running.run(MetricChunk, chunk.pk, act, is_outside=True, finish=store_chunk, has_thread=True)


def _merge(chunks: Any) -> RunResult:
    """Add up what the chunks found. Raises Refused where they were computed by different versions."""
    merged, totals = RunResult(), dict[tuple[str, str | None], Floats]()
    for number, chunk in enumerate(chunks.order_by("number")):
        found = chunk.report
        merged.n_scored += found["n_scored"]
        merged.n_refused += found["n_refused"]
        merged.reasons.update(found["reasons"])
        merged.notes.update(found["notes"])
        if number and merged.identity != found["identity"]:
            raise Refused("The workers computed parts with different versions or models. Update them, and retry.")
        merged.identity = found["identity"]
        merged.n_resumed += chunk.n_candidates if found.get("is_resumed") else 0
        for kind, name, sums in found["sums"]:
            group, added = (kind, name), np.array(sums, dtype=np.float64)
            totals[group] = totals[group] + added if group in totals else added
    merged.sums = totals
    return merged
