"""Checking: the figures of annotators kept up to date as work comes in, and findings opened, updated and closed."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from annotate.models import AnnotatorFigures, Finding, QualityRules
from annotate.quality.evidence import QualityScale, fetch_efforts, fetch_scores, fetch_texts, find_quality_scale
from annotate.quality.figures import Comparison, compute_figures
from measures.quality.degraded import DegradedTest
from measures.quality.figures import Figures, pack, unpack
from measures.quality.findings import Found, Thresholds, crowd_of, find
from projects import log
from projects.database.locks import AdvisoryLock, lock_in_project
from projects.models import Membership, Project

GROWTH = 1.5
"""A finding that a person has settled comes back only when its evidence has grown by half."""
PASSED = "No longer indicated by the figures."

State = Finding.State
Standing = Membership.Standing


@dataclass(frozen=True)
class Refreshed:
    """What a refresh did: figures computed, findings opened, findings that no longer hold."""

    n_annotators: int = 0
    n_opened: int = 0
    n_passed: int = 0


TELLING_ACTS = [
    *("reject work", "accept work after all", "remove", "restore", "set judgment aside", "count judgment again"),
    *("withdraw candidate", "withdraw passage", "withdraw consent", "change quality rules"),
]
"""Acts in the log that change which judgments count, or what is looked for: everybody is compared anew."""

_DECIDED = """
SELECT project_id, max(at) + interval '10 seconds' AS at FROM projects_logentry WHERE act = ANY(%(acts)s) {only}
GROUP BY project_id
"""
"""When that was last done in each project; ten seconds for acts that took their time."""

_REVISED = """
SELECT actor_id, object_id::bigint AS assignment_id, at + interval '10 seconds' AS at FROM projects_logentry
WHERE act = 'revise work' {only}
"""
"""What annotators changed after they had submitted it, and when; the same ten seconds."""

_WAITING = f"""
WITH decided AS MATERIALIZED ({_DECIDED.format(only="")}),
revised AS MATERIALIZED (SELECT actor_id, max(at) AS at FROM ({_REVISED.format(only="")}) each GROUP BY actor_id)
SELECT DISTINCT m.project_id
FROM projects_membership m
JOIN projects_project p ON p.id = m.project_id AND p.deleted_at IS NULL
LEFT JOIN annotate_annotatorfigures f ON f.annotator_id = m.id
LEFT JOIN decided ON decided.project_id = m.project_id
LEFT JOIN revised ON revised.actor_id = m.id
JOIN LATERAL (
    SELECT count(*) AS n FROM annotate_assignment a
    WHERE a.annotator_id = m.id AND a.state IN ('submitted', 'approved', 'rejected', 'returned')) worked ON worked.n > 0
WHERE m.kind <> 'unknown' AND m.standing <> 'removed'
  AND (worked.n IS DISTINCT FROM f.n_submitted OR f.computed_at < decided.at OR f.computed_at < revised.at
       OR EXISTS (SELECT 1 FROM annotate_review r JOIN annotate_assignment a ON a.id = r.assignment_id
                  WHERE a.annotator_id = m.id AND r.done_at > f.computed_at))
ORDER BY 1
"""

_STALE = f"""
WITH decided AS MATERIALIZED ({_DECIDED.format(only="AND project_id = %(project)s")}),
revised AS MATERIALIZED ({_REVISED.format(only="AND project_id = %(project)s")})
SELECT m.id
FROM projects_membership m
LEFT JOIN annotate_annotatorfigures f ON f.annotator_id = m.id
LEFT JOIN decided ON decided.project_id = m.project_id
JOIN LATERAL (
    SELECT count(*) AS n FROM annotate_assignment a
    WHERE a.annotator_id = m.id AND a.state IN ('submitted', 'approved', 'rejected', 'returned')) worked ON worked.n > 0
WHERE m.project_id = %(project)s AND m.kind <> 'unknown' AND m.standing <> 'removed'
  AND (worked.n IS DISTINCT FROM f.n_submitted OR f.computed_at < decided.at
       OR EXISTS (SELECT 1 FROM annotate_review r JOIN annotate_assignment a ON a.id = r.assignment_id
                  WHERE a.annotator_id = m.id AND r.done_at > f.computed_at - interval '1 minute')
       OR EXISTS (SELECT 1 FROM annotate_assignment mine
                  JOIN annotate_assignment theirs ON theirs.hit_id = mine.hit_id
                  WHERE mine.annotator_id = m.id AND mine.submitted_at IS NOT NULL
                    AND theirs.submitted_at > f.computed_at - interval '1 minute')
       OR EXISTS (SELECT 1 FROM revised JOIN annotate_assignment theirs ON theirs.id = revised.assignment_id
                  JOIN annotate_assignment mine ON mine.hit_id = theirs.hit_id AND mine.annotator_id = m.id
                  WHERE revised.at > f.computed_at AND mine.submitted_at IS NOT NULL))
ORDER BY m.id
"""
"""Whose own work, whose HITs' other work, or any decision on work is newer than the figures, revisions included; a
minute for submits that took their time."""


def find_stale_projects() -> list[Project]:
    """The projects where somebody handed in or gave back work, or work was decided on, since figures were computed."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, {"acts": TELLING_ACTS})
        return list(Project.objects.filter(pk__in=[row[0] for row in cursor.fetchall()]).order_by("pk"))


@transaction.atomic
def refresh_figures(*, project: Project, annotators: Collection[Membership] | None = None) -> Refreshed:
    """Compute the figures of these annotators (by default of all whose work is newer) and see to their findings.

    Refreshes of a project come one by one, under a lock of their own. Done twice, nothing changes the second time.
    """
    lock_in_project(AdvisoryLock.FIGURES, project.pk)
    # The transaction's own time, in the database's clock: work that is stored meanwhile is newer than these figures.
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        now = cursor.fetchone()[0]
    yardstick = find_quality_scale(project)
    chosen = _stale(project) if annotators is None else [each for each in annotators if each.project_id == project.pk]
    if yardstick is None or not chosen:
        return Refreshed()
    thresholds = read_thresholds(project)
    figures = _compute(chosen, yardstick, thresholds)
    _store(figures, _n_worked(chosen), now)
    return _see_to_findings(project, chosen, yardstick, thresholds, now)


def read_thresholds(project: Project) -> Thresholds:
    """The project's thresholds; what it has not set, or what no longer has a meaning, is the default."""
    stored = QualityRules.objects.filter(pk=project.pk).values_list("thresholds", flat=True).first() or {}
    known = {field.name for field in fields(Thresholds)}
    values = {name: value for name, value in stored.items() if name in known}
    if "degraded_test" in values:
        values["degraded_test"] = DegradedTest(values["degraded_test"])
    return Thresholds(**values)


def _compute(annotators: Collection[Membership], yardstick: QualityScale, thresholds: Thresholds) -> dict[int, Figures]:
    comparison = Comparison(fetch_scores(yardstick), yardstick)
    efforts = fetch_efforts(list(annotators), yardstick)
    texts = fetch_texts(sorted(comparison.candidates_of(efforts)))
    return {pk: compute_figures(pk, comparison, effort, texts, thresholds) for pk, effort in efforts.items()}


def _stale(project: Project) -> list[Membership]:
    with connection.cursor() as cursor:
        cursor.execute(_STALE, {"project": project.pk, "acts": TELLING_ACTS})
        return list(Membership.objects.filter(pk__in=[row[0] for row in cursor.fetchall()]).order_by("pk"))


def _n_worked(annotators: Iterable[Membership]) -> dict[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT annotator_id, count(*) FROM annotate_assignment
               WHERE annotator_id = ANY(%s) AND state IN ('submitted', 'approved', 'rejected', 'returned')
               GROUP BY annotator_id""",
            [[each.pk for each in annotators]],
        )
        return dict(cursor.fetchall())


def _store(figures: dict[int, Figures], n_worked: dict[int, int], now: datetime) -> None:
    AnnotatorFigures.objects.bulk_create(
        [
            AnnotatorFigures(annotator_id=pk, figures=pack(each), n_submitted=n_worked.get(pk, 0), computed_at=now)
            for pk, each in figures.items()
        ],
        update_conflicts=True,
        unique_fields=["annotator"],
        update_fields=["figures", "n_submitted", "computed_at"],
    )


def _see_to_findings(
    project: Project, annotators: Collection[Membership], yardstick: QualityScale, thresholds: Thresholds, now: datetime
) -> Refreshed:
    stored = AnnotatorFigures.objects.filter(annotator__project=project).exclude(annotator__standing=Standing.REMOVED)
    everyone = {pk: unpack(figures) for pk, figures in stored.values_list("annotator_id", "figures")}
    open_ones, settled = _known_findings(annotators)
    n_opened = n_passed = 0
    for annotator in annotators:
        own = everyone.get(annotator.pk)
        if own is None:
            continue
        crowd = crowd_of((each for pk, each in everyone.items() if pk != annotator.pk), span=yardstick.span)
        found = {each.kind: each for each in find(own, crowd, thresholds)}
        mine = open_ones.get(annotator.pk, {})
        for kind, finding in mine.items():
            if kind in found:
                _update(finding, found[kind], now)
            else:
                n_passed += _pass(finding, now)
        for kind in found.keys() - mine.keys():
            if _is_news(found[kind], settled.get((annotator.pk, kind))):
                n_opened += _open(project, annotator, found[kind], now)
    return Refreshed(len(annotators), n_opened, n_passed)


def _known_findings(
    annotators: Collection[Membership],
) -> tuple[dict[int, dict[str, Finding]], dict[tuple[int, str], Finding]]:
    """The open findings of each, and the last settled one of each kind."""
    open_ones: dict[int, dict[str, Finding]] = {}
    settled: dict[tuple[int, str], Finding] = {}
    for finding in Finding.objects.filter(annotator__in=annotators).order_by("pk"):
        if finding.state == State.OPEN:
            open_ones.setdefault(finding.annotator_id, {})[finding.kind] = finding
        else:
            settled[finding.annotator_id, finding.kind] = finding
    return open_ones, settled


def _is_news(found: Found, settled: Finding | None) -> bool:
    """Whether there is more evidence than a person has looked at; what the system closed may come back at any time."""
    if settled is None or settled.settled_by_id is None:
        return True
    return found.n >= GROWTH * int(settled.evidence.get("n", 0))


def _open(project: Project, annotator: Membership, found: Found, now: datetime) -> int:
    finding = Finding(annotator=annotator, kind=found.kind, evidence=_evidence(found), found_at=now, updated_at=now)
    made = Finding.objects.bulk_create([finding], ignore_conflicts=True)
    log.record(project, None, "find", annotator, after={"kind": found.kind, "n": found.n}, why=found.says)
    return len(made)


def _update(finding: Finding, found: Found, now: datetime) -> None:
    evidence = _evidence(found)
    if finding.evidence != evidence:
        Finding.objects.filter(pk=finding.pk, state=State.OPEN).update(evidence=evidence, updated_at=now)


def _pass(finding: Finding, now: datetime) -> int:
    return Finding.objects.filter(pk=finding.pk, state=State.OPEN).update(
        state=State.DISMISSED, settled_at=now, updated_at=now, note=PASSED
    )


def _evidence(found: Found) -> dict[str, Any]:
    return {"says": found.says, "n": found.n, "p": found.p, "is_serious": found.is_serious, **found.evidence}
