"""Computing a metric over the candidates of a project: requested once, done by a job, stored as one run."""

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction

from measures.metrics import Broken, MeanMetric, Metric, Scores, score_slice
from projects import log
from projects.errors import Refused
from projects.jobs import queue, running
from projects.jobs.queue import NEURAL_QUEUE, SCORING_QUEUE, Job
from projects.jobs.running import OnProgress
from projects.models import Act, Membership, Project
from projects.people.members import find_owner
from results.learned import checkpoints
from results.learned.checkpoints import Checkpoint
from results.learned.usable_models import is_learned
from results.metrics import chunks
from results.metrics.candidate_slices import SLICE, Slice, count_candidates, stream_candidates
from results.metrics.chunk_scores import shift_progress
from results.metrics.chunks import RunResult, can_share, score_in_chunks
from results.metrics.registry import describe_metric, find_metric, make_metric, make_metric_key
from results.metrics.storing import ScoreColumn, needs_counts, store_scores
from results.models import MetricRun
from results.scope.self_references import count_self_references, takes_all_references
from results.scope.unspaced_texts import count_unspaced, misses_words

Origin = MetricRun.Origin


def request_run(
    *, project: Project, actor: Membership, name: str, settings: Mapping[str, Any], is_enqueued: bool = True
) -> MetricRun:
    """Queue the job that scores the project's candidates, or return the unfinished run of the same metric.

    Raises Refused for an unknown metric or setting, a value that is not allowed, or what this machine lacks.
    """
    metric = make_metric(name, settings, project)
    if not count_candidates(project):
        raise Refused("No candidates to score yet.")
    configured = metric.settings()
    subject = make_metric_key(Origin.COMPUTED, name, configured)
    under_way = MetricRun.objects.filter(project=project, subject=subject, state__in=Job.LIVE)
    try:
        # Of two requests at once one breaks the unique constraint; the savepoint keeps its transaction usable, and it
        # returns the other's run.
        with transaction.atomic():
            run, is_new = under_way.get_or_create(
                defaults={
                    "project": project,
                    "origin": Origin.COMPUTED,
                    "metric": name,
                    "title": find_metric(name, project).title,
                    "settings": configured,
                    "subject": subject,
                    "requested_by": actor,
                    "report": {
                        "about": describe_metric(metric),
                        "queue": NEURAL_QUEUE if is_learned(metric) else SCORING_QUEUE,
                    },
                }
            )
            if is_new:
                log.record(project, actor, Act.RUN_METRIC, run, after={"metric": name, "settings": configured})
                if is_enqueued:
                    queue.enqueue_on_commit(run)
    except IntegrityError:
        # The other's run may have ended since: it is the newest one then, no longer an unfinished one.
        run = MetricRun.objects.filter(project=project, subject=subject).latest("pk")
    return run


def request_again(*, run: MetricRun, actor: Membership) -> MetricRun:
    """Request the same metric with the same settings. Raises Refused as `request_run` does."""
    if run.origin != Origin.COMPUTED:
        raise Refused("Scores from a file are not computed here. Upload a newer file under the same name.")
    settings = find_metric(run.metric, run.project).chosen(run.settings)
    return request_run(project=run.project, actor=actor, name=run.metric, settings=settings)


def run_now(
    *, project: Project, name: str, settings: Mapping[str, Any], on_progress: OnProgress = lambda _done, _total: None
) -> MetricRun:
    """Score in this process, on behalf of the project's owner. Raises Refused, also with the error of a failed job."""
    job = request_run(
        project=project,
        actor=find_owner(project, for_what="scores are computed"),
        name=name,
        settings=settings,
        is_enqueued=False,
    )

    def act(run: MetricRun, beat: OnProgress) -> dict[str, Any]:
        # Progress goes into the row as well, so that the page shows what a command computes.
        def report_progress(done: int, total: int) -> None:
            beat(done, total)
            on_progress(done, total)

        return compute(run, report_progress)

    _discard_rest(job.pk, running.run(MetricRun, job.pk, act, only_reads=True, finish=store))
    job.refresh_from_db()
    if job.is_live:
        raise Refused(f"{job.title} is being computed by a worker already.")
    if job.state != Job.State.DONE:
        raise Refused(job.error or f"Computing {job.title} ended early.")
    return job


def run(pk: int) -> str | None:
    """Do the job: read and score as of one moment, then store. Returns the state in which it ended."""
    state = running.run(MetricRun, pk, compute, only_reads=True, finish=store)
    _discard_rest(pk, state)
    return state


def _discard_rest(pk: int, state: str | None) -> None:
    """Delete what an ended run has kept to go on from; if it has not ended here, another worker may use it."""
    if state:
        checkpoints.discard(pk)
    if state and state not in (Job.State.DONE, Job.State.INTERRUPTED):
        chunks.discard(pk)


def compute(run: MetricRun, on_progress: OnProgress) -> dict[str, Any]:
    """Score every candidate; the act of the job. Returns the metric, its scores and the report."""
    if run.project.deleted_at is not None:
        raise Refused("The project has been deleted.")
    # Made again from the stored settings: a metric that has vanished since, or a model that is gone, fails the job
    # with its reason.
    metric = make_metric(run.metric, find_metric(run.metric, run.project).chosen(run.settings), run.project)
    total = count_candidates(run.project)
    n_self = count_self_references(run.project) if takes_all_references(metric) else 0
    n_unspaced = count_unspaced(run.project) if misses_words(getattr(metric, "tokeniser", "")) else 0
    on_progress(0, total)
    found = score_in_chunks(run, metric, total, on_progress) if can_share(metric, total) else None
    found = found or _score_alone(run, metric, total, on_progress)
    about = describe_metric(metric)
    about["versions"] |= found.identity
    return {
        "metric": metric,
        "column": found.column,
        "sums": found.sums,
        "n_scored": found.n_scored,
        "n_refused": found.n_refused,
        "report": {
            "reasons": dict(found.reasons.most_common()),
            "notes": dict(found.notes),
            "about": about,
            "n_self_references": n_self,
            "n_unspaced": n_unspaced,
            **({"per_second": found.per_second} if found.per_second else {}),
            **({"n_resumed": found.n_resumed} if found.n_resumed else {}),
        },
    }


def _score_alone(run: MetricRun, metric: Metric, total: int, on_progress: OnProgress) -> RunResult:
    column = ScoreColumn(with_counts=needs_counts(metric))
    try:
        # Loads what is slow to load, such as a model or a program, once for all slices.
        with metric.ready():
            if metric.reads_all:
                # The snapshot gives the same answers again below.
                parts = (part.answers for part in stream_candidates(run.project, metric))
                metric.read_all(parts, lambda: on_progress(0, total))
            checkpoint = Checkpoint(run, metric.identify()) if is_learned(metric) else None
            started = time.perf_counter()
            for part in stream_candidates(run.project, metric, checkpoints.PART if checkpoint else SLICE):
                report_slice = shift_progress(len(column), total, on_progress)
                column.add(part.ids, _score_part(metric, part, checkpoint, report_slice))
                on_progress(len(column), total)
            n_resumed = checkpoint.n_found if checkpoint else 0
            return RunResult(
                n_scored=len(column) - len(column.reasons),
                n_refused=len(column.reasons),
                reasons=Counter(column.reasons.values()),
                notes=column.notes,
                identity=dict(metric.identify()),
                column=column,
                n_resumed=n_resumed,
                per_second=measure_pace(len(column) - n_resumed, started) if checkpoint else 0.0,
            )
    except Broken as error:
        raise Refused(str(error)) from error


def measure_pace(n: int, started: float) -> float:
    """Return how many candidates were scored in a second since `started`; 0 where too few to tell."""
    seconds = time.perf_counter() - started
    return n / seconds if n >= 20 and seconds > 0 else 0.0


def _score_part(metric: Metric, part: Slice, checkpoint: Checkpoint | None, on_progress: OnProgress) -> Scores:
    """Return the scores of a part, those of an earlier attempt where it had finished the part."""
    found = checkpoint.find(metric, part.ids, part.answers) if checkpoint else None
    if found is not None:
        return found
    scores = score_slice(metric, part.answers, on_progress)
    if checkpoint:
        checkpoint.keep(part.ids, part.answers, scores)
    return scores


def store(run: MetricRun, changes: dict[str, Any]) -> None:
    """Store the scores, in the transaction that marks the run as done. Locks the project."""
    metric = changes.pop("metric")
    combine = None if isinstance(metric, MeanMetric) else metric.combine
    Project.objects.select_for_update(no_key=True).get(pk=run.project_id)
    report = changes["report"]
    ends = {end: report["about"][end] for end in ("low", "high")}
    if changes["column"] is not None:
        chunks.discard(run.pk)  # of an attempt that was divided, which this one is not
    report["summary"] = store_scores(run, changes.pop("column"), combine, sums=changes.pop("sums"), **ends)
    run.chunks.all().delete()
