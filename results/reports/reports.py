"""Figures of the results pages: computed at once over few judgments, as a job over many, for a state of the judgments.

A kind of figures is a function from a project and settings to what JSON can hold. What it returns depends on nothing
but the settings and the judgments, so that it is kept for as long as these do not change.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.core.cache import cache
from django.db import IntegrityError, connection, transaction
from django.utils.module_loading import import_string

from projects.jobs import queue
from projects.jobs.queue import Job
from projects.jobs.running import OnProgress
from projects.models import Membership, Project
from results.models import Report

AT_ONCE = 5_000
"""Over up to this many judgments of a criterion a page computes its figures itself."""
KEPT = 20
"""So many reports of the same question are kept; older ones are forgotten."""

KINDS = {
    "agreement": "results.agreement.alpha.agreement_figures",
    "annotators": "results.agreement.annotators.annotator_figures",
    "time": "results.agreement.alpha.time_figures",
    "entering": "results.scope.excluded.inclusion_figures",
    "golds": "results.scores.gold.gold_figures",
    "systems": "results.systems.scores.system_figures",
    "replication": "results.systems.scores.replication_figures",
    "plan": "results.agreement.precision.plan_figures",
}
"""Every kind of figures, and the function that computes them."""


@dataclass(frozen=True)
class ReportState:
    """How a question to the judgments stands: its newest figures, and the job that makes newer ones or did not."""

    figures: dict[str, Any] | None = None
    report: Report | None = None
    """Where the figures come from; None where the page computed them itself."""
    under_way: Report | None = None
    """Live, or newer than the figures and ended without any."""
    is_current: bool = True

    @property
    def can_be_asked(self) -> bool:
        return not self.is_current and not (self.under_way and self.under_way.is_live)


def find_report(project: Project, kind: str, settings: Mapping[str, Any]) -> ReportState:
    """The figures as far as they are there, computed now where that is quick. Writes nothing."""
    subject, content = _subject(kind, settings), _content(project)
    newest = Report.objects.filter(project=project, subject=subject)
    done = newest.filter(state=Job.State.DONE).first()
    if done is not None and done.content == content:
        return ReportState(figures=done.result, report=done)
    if not _has_many(project, settings.get("criterion", "")):
        return ReportState(figures=_at_once(project, kind, settings, f"report:{project.pk}:{subject}:{content}"))
    under_way = newest.first()
    if under_way == done:
        under_way = None
    return ReportState(figures=done.result if done else None, report=done, under_way=under_way, is_current=False)


def request_report(*, project: Project, actor: Membership, kind: str, settings: Mapping[str, Any]) -> Report:
    """Queue the job that computes the figures; who asks while it is under way gets that one."""
    subject = _subject(kind, settings)
    under_way = Report.objects.filter(project=project, subject=subject, state__in=Job.LIVE)
    try:
        with transaction.atomic():
            report, is_new = under_way.get_or_create(
                defaults={"project": project, "subject": subject, "kind": kind, "settings": dict(settings),
                          "requested_by": actor}
            )  # fmt: skip
            if is_new:
                queue.enqueue_on_commit(report)
    except IntegrityError:
        report = under_way.get()
    return report


def make(report: Report, on_progress: OnProgress) -> dict[str, Any]:
    """The act of the job: the figures, and the state of the judgments that they are of."""
    on_progress(0, 0)
    content = _content(report.project)
    return {"result": _compute(report.project, report.kind, report.settings), "content": content}


def forget_old() -> None:
    """Keep the newest reports of each question."""
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, [KEPT])


def _at_once(project: Project, kind: str, settings: Mapping[str, Any], key: str) -> dict[str, Any]:
    figures: dict[str, Any] | None = cache.get(key)
    if figures is None:
        figures = _compute(project, kind, settings)
        cache.set(key, figures)
    return figures


def _compute(project: Project, kind: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The figures as JSON holds them: dataclasses as objects, what is not a number as null."""
    figures: dict[str, Any] = orjson.loads(orjson.dumps(import_string(KINDS[kind])(project, settings)))
    return figures


def _subject(kind: str, settings: Mapping[str, Any]) -> str:
    asked = orjson.dumps([kind, dict(settings)], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(asked).hexdigest()


def _content(project: Project) -> str:
    """Return a name for the state of the judgments: acts that reach results are counted, and submitted work is."""
    with connection.cursor() as cursor:
        cursor.execute(_CONTENT, {"project": project.pk})
        row = cursor.fetchone()
    return hashlib.sha256(repr(row).encode()).hexdigest()


def _has_many(project: Project, criterion: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_MANY, {"project": project.pk, "criterion": criterion, "at_once": AT_ONCE})
        return bool(cursor.fetchone()[0])


_CONTENT = """
SELECT c.n, a.n, a.last, a.at
FROM (SELECT count(*) AS n FROM projects_figurechange WHERE project_id = %(project)s) c,
     (SELECT count(*) AS n, max(a.id) AS last, max(a.submitted_at) AS at
      FROM annotate_batch b JOIN annotate_hit h ON h.batch_id = b.id JOIN annotate_assignment a ON a.hit_id = h.id
      WHERE b.project_id = %(project)s AND a.submitted_at IS NOT NULL) a
"""
_MANY = """
SELECT count(*) > %(at_once)s FROM (
    SELECT 1 FROM annotate_judgment j WHERE j.criterion_id IN (
        SELECT cr.id FROM projects_criterion cr JOIN projects_rubric r ON r.id = cr.rubric_id
        WHERE r.project_id = %(project)s AND %(criterion)s IN ('', cr.key))
    LIMIT %(at_once)s + 1) judged
"""
_FORGET = """
DELETE FROM results_report WHERE id IN (
    SELECT id FROM (
        SELECT id, state, row_number() OVER (PARTITION BY project_id, subject ORDER BY id DESC) AS place
        FROM results_report
    ) placed WHERE place > %s AND state NOT IN ('queued', 'running'))
"""
