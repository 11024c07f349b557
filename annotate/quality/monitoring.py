"""Monitoring: keeping figures up to date as work is submitted, and opening, updating and closing findings."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from annotate.models import AnnotatorFigures, Finding, QualityRules
from annotate.models.conditions import is_known, was_finished
from annotate.quality.evidence import QualityScale, fetch_efforts, fetch_scores, fetch_texts, find_quality_scale
from annotate.quality.figures import Comparison, compute_figures
from measures.quality.crowd import summarise_crowd
from measures.quality.degraded import DegradedTest
from measures.quality.figures import Figures, pack, unpack
from measures.quality.findings import Found, find
from measures.quality.thresholds import Thresholds
from projects import log
from projects.database.locks import AdvisoryLock, lock_in_project
from projects.models import Act, Membership, Project

GROWTH = 1.5
"""The factor by which evidence must grow before a finding returns that a person has resolved.

Half as much again is news; anything less would bring a dismissed finding back with every few HITs.
"""
PASSED = "No longer indicated by the figures."

State = Finding.State
Standing = Membership.Standing


@dataclass(frozen=True)
class Refreshed:
    """The result of a refresh: numbers of annotators updated, findings opened and findings closed."""

    n_annotators: int = 0
    n_opened: int = 0
    n_passed: int = 0


# Every act that reaches everybody, and every revision of work on a HIT that the annotator submitted too.
_CHANGES = """
changes AS MATERIALIZED (
    SELECT m.id AS annotator_id, coalesce(all_of_them.n, 0) + coalesce(shared.n, 0) AS n
    FROM projects_membership m
    LEFT JOIN (SELECT project_id, count(*) AS n FROM projects_figurechange WHERE reach = 'annotators' GROUP BY 1)
        all_of_them ON all_of_them.project_id = m.project_id
    LEFT JOIN (SELECT mine.annotator_id, count(DISTINCT c.id) AS n
               FROM projects_figurechange c
               JOIN annotate_assignment theirs ON theirs.id = c.assignment_id
               JOIN annotate_assignment mine ON mine.hit_id = theirs.hit_id AND mine.submitted_at IS NOT NULL
               WHERE c.reach = 'work' {only} GROUP BY 1)
        shared ON shared.annotator_id = m.id
    {where})
"""

# Asked once a minute over all projects: anybody whose own work, or what reaches it, is newer than the figures.
_WAITING = f"""
WITH {_CHANGES.format(only="", where="")}
SELECT DISTINCT m.project_id
FROM projects_membership m
JOIN projects_project p ON p.id = m.project_id AND p.deleted_at IS NULL
JOIN changes ON changes.annotator_id = m.id
LEFT JOIN annotate_annotatorfigures f ON f.annotator_id = m.id
JOIN LATERAL (
    SELECT count(*) AS n FROM annotate_assignment a
    WHERE a.annotator_id = m.id AND {was_finished("a")}) worked ON worked.n > 0
WHERE {is_known("m")} AND m.standing <> 'removed'
  AND (worked.n IS DISTINCT FROM f.n_submitted OR changes.n IS DISTINCT FROM f.n_changes
       OR EXISTS (SELECT 1 FROM annotate_review r JOIN annotate_assignment a ON a.id = r.assignment_id
                  WHERE a.annotator_id = m.id AND r.done_at > f.computed_at))
ORDER BY 1
"""

# Whose own work, or whose HITs' other work, is newer than the figures, or whom an act reaches. Submits and reviews bear
# the time of their statement, not of their commit: the minute is for those that took long.
_STALE = f"""
WITH {_CHANGES.format(only="AND c.project_id = %(project)s", where="WHERE m.project_id = %(project)s")}
SELECT m.id
FROM projects_membership m
JOIN changes ON changes.annotator_id = m.id
LEFT JOIN annotate_annotatorfigures f ON f.annotator_id = m.id
JOIN LATERAL (
    SELECT count(*) AS n FROM annotate_assignment a
    WHERE a.annotator_id = m.id AND {was_finished("a")}) worked ON worked.n > 0
WHERE m.project_id = %(project)s AND {is_known("m")} AND m.standing <> 'removed'
  AND (worked.n IS DISTINCT FROM f.n_submitted OR changes.n IS DISTINCT FROM f.n_changes
       OR EXISTS (SELECT 1 FROM annotate_review r JOIN annotate_assignment a ON a.id = r.assignment_id
                  WHERE a.annotator_id = m.id AND r.done_at > f.computed_at - interval '1 minute')
       OR EXISTS (SELECT 1 FROM annotate_assignment mine
                  JOIN annotate_assignment theirs ON theirs.hit_id = mine.hit_id
                  WHERE mine.annotator_id = m.id AND mine.submitted_at IS NOT NULL
                    AND theirs.submitted_at > f.computed_at - interval '1 minute'))
ORDER BY m.id
"""

_COUNT_CHANGES = f"""
WITH {_CHANGES.format(only="AND c.project_id = %(project)s", where="WHERE m.project_id = %(project)s")}
SELECT annotator_id, n FROM changes
"""


def find_stale_projects() -> list[Project]:
    """Return the projects in which someone's figures are older than their work, or than an act that affects them."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING)
        return list(Project.objects.filter(pk__in=[row[0] for row in cursor.fetchall()]).order_by("pk"))


@transaction.atomic
def refresh_figures(*, project: Project, annotators: Collection[Membership] | None = None) -> Refreshed:
    """Compute the figures of these annotators (by default of all stale ones) and update their findings.

    An advisory lock lets one refresh of a project run at a time. A second refresh changes nothing.
    """
    lock_in_project(AdvisoryLock.FIGURES, project.pk)
    # The transaction's own time, in the database's clock: work that is stored meanwhile is newer than these figures.
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        now = cursor.fetchone()[0]
        # Counted before anything is read: what is committed from here on makes these figures stale.
        cursor.execute(_COUNT_CHANGES, {"project": project.pk})
        n_changes = dict(cursor.fetchall())
    yardstick = find_quality_scale(project)
    chosen = _stale(project) if annotators is None else [each for each in annotators if each.project_id == project.pk]
    if yardstick is None or not chosen:
        return Refreshed()
    thresholds = read_thresholds(project)
    figures = _compute(chosen, yardstick, thresholds)
    _store(figures, _n_worked(chosen), n_changes, now)
    return _see_to_findings(project, chosen, yardstick, thresholds, now)


def read_thresholds(project: Project) -> Thresholds:
    """Return the project's thresholds, with defaults for those that it has not set; unknown names are ignored."""
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
        cursor.execute(_STALE, {"project": project.pk})
        return list(Membership.objects.filter(pk__in=[row[0] for row in cursor.fetchall()]).order_by("pk"))


def _n_worked(annotators: Iterable[Membership]) -> dict[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT a.annotator_id, count(*) FROM annotate_assignment a
               WHERE a.annotator_id = ANY(%s) AND {was_finished("a")}
               GROUP BY a.annotator_id""",
            [[each.pk for each in annotators]],
        )
        return dict(cursor.fetchall())


def _store(figures: dict[int, Figures], n_worked: dict[int, int], n_changes: dict[int, int], now: datetime) -> None:
    AnnotatorFigures.objects.bulk_create(
        [
            AnnotatorFigures(
                annotator_id=pk,
                figures=pack(each),
                n_submitted=n_worked.get(pk, 0),
                n_changes=n_changes.get(pk, 0),
                computed_at=now,
            )
            for pk, each in figures.items()
        ],
        update_conflicts=True,
        unique_fields=["annotator"],
        update_fields=["figures", "n_submitted", "n_changes", "computed_at"],
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
        crowd = summarise_crowd((each for pk, each in everyone.items() if pk != annotator.pk), span=yardstick.span)
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
    """Return the open findings of each annotator, and the last resolved one of each kind."""
    open_ones: dict[int, dict[str, Finding]] = {}
    settled: dict[tuple[int, str], Finding] = {}
    for finding in Finding.objects.filter(annotator__in=annotators).order_by("pk"):
        if finding.state == State.OPEN:
            open_ones.setdefault(finding.annotator_id, {})[finding.kind] = finding
        else:
            settled[finding.annotator_id, finding.kind] = finding
    return open_ones, settled


def _is_news(found: Found, settled: Finding | None) -> bool:
    """Return whether there is clearly more evidence than a person has seen.

    What the system closed by itself may return at any time, because nobody has judged it.
    """
    if settled is None or settled.settled_by_id is None:
        return True
    return found.n >= GROWTH * int(settled.evidence.get("n", 0))


def _open(project: Project, annotator: Membership, found: Found, now: datetime) -> int:
    # A partial unique index allows one open finding of a kind; ignore_conflicts makes a second attempt harmless.
    finding = Finding(annotator=annotator, kind=found.kind, evidence=_evidence(found), found_at=now, updated_at=now)
    made = Finding.objects.bulk_create([finding], ignore_conflicts=True)
    log.record(project, None, Act.FIND, annotator, after={"kind": found.kind, "n": found.n}, why=found.message)
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
    return {"says": found.message, "n": found.n, "p": found.p, "is_serious": found.is_serious, **found.evidence}
