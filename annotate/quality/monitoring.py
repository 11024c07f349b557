"""Monitoring: refresh figures as work is submitted, and open, update and close findings accordingly."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from annotate.models import AnnotatorFigures, Finding, QualityRules
from annotate.models.conditions import is_identified, is_member, was_finished
from annotate.quality.evidence import QualityScale, fetch_scores, fetch_texts, fetch_work_records, find_quality_scale
from annotate.quality.figures import PreparedScores, compute_figures
from measures.quality.crowd import summarise_crowd
from measures.quality.degraded import DegradedTest
from measures.quality.figures import Figures, pack, unpack
from measures.quality.findings import Found, find
from measures.quality.thresholds import Thresholds
from projects import log
from projects.database.locks import AdvisoryLock, lock_in_project
from projects.models import Act, Event, Membership, Project
from projects.webhooks.recording import record_event

GROWTH = 1.5
"""The factor by which evidence must grow before a finding returns that a person has resolved.

Half as much again is news; anything less would bring a dismissed finding back with every few HITs.
"""
CLOSED_NOTE = "No longer indicated by the figures."

State = Finding.State
Standing = Membership.Standing


@dataclass(frozen=True)
class Refreshed:
    """The result of a refresh: numbers of annotators updated, findings opened and findings closed."""

    n_annotators: int = 0
    n_opened: int = 0
    n_closed: int = 0


# The number of changes that affect each annotator's figures (docs/decisions/0014): acts that reach all annotators of
# the project, and acts on work of a HIT that the annotator submitted too. `only` and `where` limit it to one project or
# not at all. MATERIALIZED, because both statements below read it for every annotator.
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

# Projects in which someone's figures are out of date, asked once a minute over all projects. It compares counts, since
# times can't be trusted: a long transaction commits after figures that were computed later. IS DISTINCT FROM also finds
# annotators without figures. Own work is enough to look at here: whose work on a shared HIT affects others has new work
# of their own, so that their project is found anyway.
_STALE_PROJECTS = f"""
WITH {_CHANGES.format(only="", where="")}
SELECT DISTINCT m.project_id
FROM projects_membership m
JOIN projects_project p ON p.id = m.project_id AND p.deleted_at IS NULL
JOIN changes ON changes.annotator_id = m.id
LEFT JOIN annotate_annotatorfigures f ON f.annotator_id = m.id
JOIN LATERAL (
    SELECT count(*) AS n FROM annotate_assignment a
    WHERE a.annotator_id = m.id AND {was_finished("a")}) worked ON worked.n > 0
WHERE {is_identified("m")} AND {is_member("m")}
  AND (worked.n IS DISTINCT FROM f.n_submitted OR changes.n IS DISTINCT FROM f.n_changes
       OR EXISTS (SELECT 1 FROM annotate_review r JOIN annotate_assignment a ON a.id = r.assignment_id
                  WHERE a.annotator_id = m.id AND r.done_at > f.computed_at))
ORDER BY 1
"""

# Annotators of one project whose figures are out of date, including those whose HITs others have submitted since: they
# are compared with these. Submissions and reviews have the time of their statement, not of their commit; subtracting a
# minute finds those that were committed late.
_STALE_ANNOTATORS = f"""
WITH {_CHANGES.format(only="AND c.project_id = %(project)s", where="WHERE m.project_id = %(project)s")}
SELECT m.id
FROM projects_membership m
JOIN changes ON changes.annotator_id = m.id
LEFT JOIN annotate_annotatorfigures f ON f.annotator_id = m.id
JOIN LATERAL (
    SELECT count(*) AS n FROM annotate_assignment a
    WHERE a.annotator_id = m.id AND {was_finished("a")}) worked ON worked.n > 0
WHERE m.project_id = %(project)s AND {is_identified("m")} AND {is_member("m")}
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
        cursor.execute(_STALE_PROJECTS)
        return list(Project.objects.filter(pk__in=[row[0] for row in cursor.fetchall()]).order_by("pk"))


@transaction.atomic
def refresh_figures(*, project: Project, annotators: Collection[Membership] | None = None) -> Refreshed:
    """Compute the figures of these annotators (by default of all stale ones) and update their findings.

    An advisory lock lets one refresh of a project run at a time. A second refresh changes nothing.
    """
    lock_in_project(AdvisoryLock.FIGURES, project.pk)
    # The start of this transaction by the database's clock: work stored while it runs is newer than these figures.
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        now = cursor.fetchone()[0]
        # Counted before anything else is read: whatever is committed from here on makes these figures stale once more,
        # so that nothing is missed.
        cursor.execute(_COUNT_CHANGES, {"project": project.pk})
        n_changes = dict(cursor.fetchall())
    scale = find_quality_scale(project)
    chosen = (
        _find_stale(project) if annotators is None else [each for each in annotators if each.project_id == project.pk]
    )
    if scale is None or not chosen:
        return Refreshed()
    thresholds = read_thresholds(project)
    figures = _compute(chosen, scale, thresholds)
    _store(figures, _count_finished(chosen), n_changes, now)
    return _update_findings(project, chosen, scale, thresholds, now)


def read_thresholds(project: Project) -> Thresholds:
    """Return the project's thresholds, with defaults for those that it has not set; unknown names are ignored."""
    stored = QualityRules.objects.filter(pk=project.pk).values_list("thresholds", flat=True).first() or {}
    # A threshold that a later version no longer has stays in the row and does no harm.
    known = {field.name for field in fields(Thresholds)}
    values = {name: value for name, value in stored.items() if name in known}
    if "degraded_test" in values:
        values["degraded_test"] = DegradedTest(values["degraded_test"])
    return Thresholds(**values)


def _compute(annotators: Collection[Membership], scale: QualityScale, thresholds: Thresholds) -> dict[int, Figures]:
    comparison = PreparedScores(fetch_scores(scale), scale)
    records = fetch_work_records(list(annotators), scale)
    texts = fetch_texts(sorted(comparison.find_candidates(records)))
    return {pk: compute_figures(pk, comparison, record, texts, thresholds) for pk, record in records.items()}


def _find_stale(project: Project) -> list[Membership]:
    with connection.cursor() as cursor:
        cursor.execute(_STALE_ANNOTATORS, {"project": project.pk})
        return list(Membership.objects.filter(pk__in=[row[0] for row in cursor.fetchall()]).order_by("pk"))


def _count_finished(annotators: Iterable[Membership]) -> dict[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT a.annotator_id, count(*) FROM annotate_assignment a
               WHERE a.annotator_id = ANY(%s) AND {was_finished("a")}
               GROUP BY a.annotator_id""",
            [[each.pk for each in annotators]],
        )
        return dict(cursor.fetchall())


def _store(figures: dict[int, Figures], n_finished: dict[int, int], n_changes: dict[int, int], now: datetime) -> None:
    AnnotatorFigures.objects.bulk_create(
        [
            AnnotatorFigures(
                annotator_id=pk,
                figures=pack(each),
                n_submitted=n_finished.get(pk, 0),
                n_changes=n_changes.get(pk, 0),
                computed_at=now,
            )
            for pk, each in figures.items()
        ],
        update_conflicts=True,
        unique_fields=["annotator"],
        update_fields=["figures", "n_submitted", "n_changes", "computed_at"],
    )


def _update_findings(
    project: Project, annotators: Collection[Membership], scale: QualityScale, thresholds: Thresholds, now: datetime
) -> Refreshed:
    # Removed annotators don't set the standard that the others are compared with.
    stored = AnnotatorFigures.objects.filter(annotator__project=project).exclude(annotator__standing=Standing.REMOVED)
    everyone = {pk: unpack(figures) for pk, figures in stored.values_list("annotator_id", "figures")}
    open_ones, resolved = _fetch_findings(annotators)
    n_opened = n_closed = 0
    for annotator in annotators:
        own = everyone.get(annotator.pk)
        if own is None:
            continue
        # An annotator is never compared with themselves: in a small project they would pull the median to themselves.
        crowd = summarise_crowd((each for pk, each in everyone.items() if pk != annotator.pk), span=scale.span)
        found = {each.kind: each for each in find(own, crowd, thresholds)}
        mine = open_ones.get(annotator.pk, {})
        for kind, finding in mine.items():
            if kind in found:
                _update(finding, found[kind], now)
            else:
                n_closed += _close(finding, now)
        for kind in found.keys() - mine.keys():
            if _has_more_evidence(found[kind], resolved.get((annotator.pk, kind))):
                n_opened += _open(project, annotator, found[kind], now)
    return Refreshed(len(annotators), n_opened, n_closed)


def _fetch_findings(
    annotators: Collection[Membership],
) -> tuple[dict[int, dict[str, Finding]], dict[tuple[int, str], Finding]]:
    """Return the open findings of each annotator, and the last resolved one of each kind."""
    open_ones: dict[int, dict[str, Finding]] = {}
    resolved: dict[tuple[int, str], Finding] = {}
    for finding in Finding.objects.filter(annotator__in=annotators).order_by("pk"):
        if finding.state == State.OPEN:
            open_ones.setdefault(finding.annotator_id, {})[finding.kind] = finding
        else:
            resolved[finding.annotator_id, finding.kind] = finding
    return open_ones, resolved


def _has_more_evidence(found: Found, resolved: Finding | None) -> bool:
    """Return whether the evidence has clearly grown since a person resolved the last finding of this kind.

    One that was closed automatically may return at any time, because no one has judged it.
    """
    if resolved is None or resolved.settled_by_id is None:
        return True
    return found.n >= GROWTH * int(resolved.evidence.get("n", 0))


def _open(project: Project, annotator: Membership, found: Found, now: datetime) -> int:
    # A partial unique index allows one open finding of a kind; ignore_conflicts makes a second attempt harmless.
    finding = Finding(
        annotator=annotator, kind=found.kind, evidence=_make_evidence(found), found_at=now, updated_at=now
    )
    created = Finding.objects.bulk_create([finding], ignore_conflicts=True)
    log.record(project, None, Act.FIND, annotator, after={"kind": found.kind, "n": found.n}, why=found.message)
    # One alert of a kind is open at a time, and its time tells it from earlier ones.
    record_event(
        project,
        Event.FINDING_OPENED,
        key=f"finding:{annotator.pk}:{found.kind}:{now.timestamp()}",
        data={"annotator": annotator.pseudonym, "kind": found.kind, "n": found.n, "is_serious": found.is_serious},
    )
    return len(created)


def _update(finding: Finding, found: Found, now: datetime) -> None:
    evidence = _make_evidence(found)
    # The filter by state, here and in _close: a manager may have resolved it since it was read.
    if finding.evidence != evidence:
        Finding.objects.filter(pk=finding.pk, state=State.OPEN).update(evidence=evidence, updated_at=now)


def _close(finding: Finding, now: datetime) -> int:
    return Finding.objects.filter(pk=finding.pk, state=State.OPEN).update(
        state=State.DISMISSED, settled_at=now, updated_at=now, note=CLOSED_NOTE
    )


def _make_evidence(found: Found) -> dict[str, Any]:
    return {"says": found.message, "n": found.n, "p": found.p, "is_serious": found.is_serious, **found.evidence}
