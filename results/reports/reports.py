"""Figures of the results pages: computed at once over few judgments, by a job over many, and kept while current.

A kind of figures is a function from a project and settings to what JSON can hold. It depends on nothing but the
settings and the judgments, so its result is kept until these change.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.core.cache import cache
from django.db import IntegrityError, connection, transaction
from django.utils.module_loading import import_string

from annotate.frames.kept import read_version
from projects.jobs import queue
from projects.jobs.queue import Job
from projects.jobs.running import OnProgress
from projects.models import Membership, Project
from results.models import Report

AT_ONCE = 5_000
"""Up to this many judgments of a criterion, a page computes its figures itself."""
METHODS = 4
"""Raised where methods change: figures computed by earlier ones are still shown, and offered to be recomputed."""
METHODS_OF = {
    "agreement": 2,
    "annotators": 3,
    "batch": 3,
    "golds": 3,
    "leaderboard": 5,
    "plan": 2,
    "replication": 3,
    "systems": 4,
}
"""Raised where the methods of one kind change alone."""
MOST_KEPT = 20
"""Reports of the same question; older ones are deleted."""

KINDS = {
    "agreement": "results.agreement.alpha.agreement_figures",
    "annotators": "results.agreement.annotators.annotator_figures",
    "time": "results.agreement.alpha.time_figures",
    "entering": "results.scope.excluded.inclusion_figures",
    "golds": "results.scores.gold.gold_figures",
    "systems": "results.systems.scores.system_figures",
    "batch": "results.overview.batch_figures.batch_figures",
    "replication": "results.systems.scores.replication_figures",
    "plan": "results.agreement.precision.plan_figures",
    "leaderboard": "results.leaderboard.figures.leaderboard_figures",
}
"""Every kind of figures with the function that computes it, by path: a room below must not import those above."""
OF_METRICS = frozenset(("leaderboard",))
"""Kinds that depend on the scores of metrics too. A job computes them always, and is given the figures before, so that
it can keep those parts that still hold."""


@dataclass(frozen=True)
class ReportState:
    """The newest figures for given settings, and the job that computes newer ones or failed to."""

    figures: dict[str, Any] | None = None
    report: Report | None = None
    """The report that holds the figures; None where the page computed them itself."""
    under_way: Report | None = None
    """A newer report: unfinished, or ended without figures."""
    is_current: bool = True

    @property
    def can_be_asked(self) -> bool:
        return not self.is_current and not (self.under_way and self.under_way.is_live)


def find_report(project: Project, kind: str, settings: Mapping[str, Any]) -> ReportState:
    """Return the figures that are stored, or compute them now where that is quick. Writes nothing."""
    subject, content = _hash_question(kind, settings), _hash_content(project, kind)
    newest = Report.objects.filter(project=project, subject=subject)
    done = newest.filter(state=Job.State.DONE).first()
    if done is not None and done.content == content:
        return ReportState(figures=done.result, report=done)
    if kind not in OF_METRICS and not has_many_judgments(
        project, settings.get("criterion", ""), batch=settings.get("batch")
    ):
        return ReportState(
            figures=_compute_at_once(project, kind, settings, f"report:{project.pk}:{subject}:{content}")
        )
    under_way = newest.first()
    # The newest report has figures, only not current ones: nothing newer is under way.
    if under_way == done:
        under_way = None
    return ReportState(figures=done.result if done else None, report=done, under_way=under_way, is_current=False)


def request_report(*, project: Project, actor: Membership, kind: str, settings: Mapping[str, Any]) -> Report:
    """Queue the job that computes the figures, or return the job that is unfinished already."""
    subject = _hash_question(kind, settings)
    under_way = Report.objects.filter(project=project, subject=subject, state__in=Job.LIVE)
    try:
        # Of two requests at once one breaks the unique constraint; the savepoint keeps its transaction usable, and it
        # returns the other's job.
        with transaction.atomic():
            report, is_new = under_way.get_or_create(
                defaults={"project": project, "subject": subject, "kind": kind, "settings": dict(settings),
                          "requested_by": actor}
            )  # fmt: skip
            if is_new:
                queue.enqueue_on_commit(report)
    except IntegrityError:
        # The other's job may have ended since: its report is the newest one then, no longer an unfinished one.
        report = Report.objects.filter(project=project, subject=subject).latest("pk")
    return report


def make(report: Report, on_progress: OnProgress) -> dict[str, Any]:
    """Compute the figures of a report with the version of the judgments that they are from; the act of the job."""
    on_progress(0, 0)
    # Counted before the figures are read: a change in between makes them stale once too often, never too seldom.
    content = _hash_content(report.project, report.kind)
    known = _find_known(report) if report.kind in OF_METRICS else None
    return {"result": _compute(report.project, report.kind, report.settings, known), "content": content}


def _find_known(report: Report) -> dict[str, Any]:
    """Return the newest figures of the same question; none for the first."""
    done = Report.objects.filter(project=report.project, subject=report.subject, state=Job.State.DONE).first()
    return (done.result if done else None) or {}


def forget_old() -> None:
    """Delete all but the newest reports of each question."""
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, [MOST_KEPT])


def _compute_at_once(project: Project, kind: str, settings: Mapping[str, Any], key: str) -> dict[str, Any]:
    figures: dict[str, Any] | None = cache.get(key)
    if figures is None:
        figures = _compute(project, kind, settings)
        # The key names the version of the judgments, so nothing ever has to be deleted from the cache.
        cache.set(key, figures)
    return figures


def _compute(
    project: Project, kind: str, settings: Mapping[str, Any], known: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the figures as JSON holds them: dataclasses as objects, NaN as null."""
    compute = import_string(KINDS[kind])
    found = compute(project, settings) if known is None else compute(project, settings, known)
    figures: dict[str, Any] = orjson.loads(orjson.dumps(found))
    return figures


def _hash_question(kind: str, settings: Mapping[str, Any]) -> str:
    # Sorted keys, so that the order of settings makes no other question.
    asked = orjson.dumps([kind, dict(settings)], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(asked).hexdigest()


def _hash_content(project: Project, kind: str) -> str:
    """Return a hash of the methods and what the figures rest on: acts that reach results, the submitted work, and for
    some kinds the runs of metrics that are done.
    """
    found: tuple[Any, ...] = (METHODS, read_version(project))
    if kind in METHODS_OF:
        found = (*found, METHODS_OF[kind])
    if kind in OF_METRICS:
        with connection.cursor() as cursor:
            cursor.execute(_RUNS, {"project": project.pk})
            found = (*found, cursor.fetchone())
    return hashlib.sha256(repr(found).encode()).hexdigest()


def has_many_judgments(project: Project, criterion: str, *, batch: int | None = None) -> bool:
    """Return whether a page computes no figures of a criterion itself, as it has too many judgments.

    With the number of a batch only those of the batch are counted.
    """
    judgments = "annotate_judgment j" if batch is None else _OF_BATCH
    parameters: dict[str, Any] = {"project": project.pk, "criterion": criterion, "batch": batch, "at_once": AT_ONCE}
    with connection.cursor() as cursor:
        cursor.execute(_MANY.format(judgments=judgments), parameters)
        return bool(cursor.fetchone()[0])


# A run counts once it is done, and a deleted one no longer.
_RUNS = """
SELECT count(*), max(id), max(finished_at) FROM results_metricrun WHERE project_id = %(project)s AND state = 'done'
"""
# The limit stops the count one row after the answer is known, so that a million judgments are never counted here.
_MANY = """
SELECT count(*) > %(at_once)s FROM (
    SELECT 1 FROM {judgments} WHERE j.criterion_id IN (
        SELECT cr.id FROM projects_criterion cr JOIN projects_rubric r ON r.id = cr.rubric_id
        WHERE r.project_id = %(project)s AND %(criterion)s IN ('', cr.key))
    LIMIT %(at_once)s + 1) judged
"""
_OF_BATCH = """annotate_batch b
    JOIN annotate_hit h ON h.batch_id = b.id AND b.project_id = %(project)s AND b.number = %(batch)s
    JOIN annotate_assignment a ON a.hit_id = h.id JOIN annotate_judgment j ON j.assignment_id = a.id"""
# Unfinished reports stay, however old: their job still writes to the row.
_FORGET = """
DELETE FROM results_report WHERE id IN (
    SELECT id FROM (
        SELECT id, state, row_number() OVER (PARTITION BY project_id, subject ORDER BY id DESC) AS position
        FROM results_report
    ) placed WHERE position > %s AND state NOT IN ('queued', 'running'))
"""
