"""What a figure leaves out: the judgments of a scope that do not enter, by reason, beside those that do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection

from annotate.frames.criteria_in_use import Scope
from annotate.frames.stages import Stage, left_out
from annotate.models.conditions import is_judgeable
from projects.models import Project
from results.scope.scopes import read_scope

WORDS = {
    "removed": "work of a removed annotator",
    "rejected": "rejected work",
    "surplus": "others had taken the place",
    "set aside": "set aside by a manager",
    "consent withdrawn": "the annotator withdrew the consent and took the work out",
    "withdrawn": "the candidate is withdrawn",
    "cannot be judged": "the annotator could not judge it",
    "not blind": "by somebody who sees the sources",
    "judged anew": "the same annotator judged it again under a newer rubric",
    "another stage": "kept apart as another stage's",
    "another batch": "of a batch that was not chosen",
    "not chosen": "of a dataset, split or source that was not chosen",
}
"""Why a judgment does not enter, as people read it; imported judgments may say more of their own."""


@dataclass(frozen=True)
class Inclusion:
    """Judgments of candidates in a scope: those that enter, and those that do not, by reason; together all."""

    n_included: int
    left_out: tuple[tuple[str, int], ...]

    @property
    def n_excluded(self) -> int:
        return sum(n for _, n in self.left_out)

    @property
    def n_total(self) -> int:
        return self.n_included + self.n_excluded

    def as_dict(self) -> dict[str, Any]:
        return {"n_included": self.n_included, "left_out": list(self.left_out), "n_total": self.n_total}


def count_inclusion(scope: Scope) -> Inclusion:
    """Count in one statement what a figure over this scope rests on, and what it leaves out."""
    parameters = {
        "criteria": list(scope.criterion.ids),
        "batch": scope.batch.pk if scope.batch else None,
        "without": list(scope.left_out),
        "blind": scope.is_blind_only,
    }
    with connection.cursor() as cursor:
        cursor.execute(_REASONS, parameters)
        counts = {reason: int(n) for reason, n in cursor.fetchall()}
    return Inclusion(counts.pop("", 0), tuple(sorted(counts.items())))


_REASONS = f"""
WITH withdrawn AS (
    SELECT c.id FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
    JOIN projects_passage p ON p.id = q.passage_id
    WHERE NOT {is_judgeable("c", "p")}),
said AS (
    SELECT j.id, j.candidate_id, j.annotator_id, CASE
        WHEN h.batch_id = ANY (%(without)s) THEN 'another stage'
        WHEN NOT j.is_counted THEN j.not_counted_reason
        WHEN w.id IS NOT NULL THEN 'withdrawn'
        WHEN j.value IS NULL THEN 'cannot be judged'
        WHEN %(blind)s AND a.not_blind THEN 'not blind' ELSE '' END AS reason
    FROM annotate_judgment j
    JOIN annotate_assignment a ON a.id = j.assignment_id JOIN annotate_hit h ON h.id = a.hit_id
    LEFT JOIN withdrawn w ON w.id = j.candidate_id
    WHERE j.criterion_id = ANY (%(criteria)s) AND j.candidate_id IS NOT NULL
      AND (%(batch)s::bigint IS NULL OR h.batch_id = %(batch)s)),
entering AS (
    SELECT CASE WHEN reason = '' AND cardinality(%(criteria)s::bigint[]) > 1 AND row_number() OVER (
                    PARTITION BY candidate_id, annotator_id, reason ORDER BY id DESC) > 1
                THEN 'judged anew' ELSE reason END AS reason FROM said)
SELECT reason, count(*) FROM entering GROUP BY reason
"""


def inclusion_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"entering": count_inclusion(read_scope(project, settings)).as_dict()}


_JUDGMENTS = """
SELECT {is_apart}, j.not_counted_reason, count(*) FROM annotate_judgment j {batches}
WHERE j.candidate_id IS NOT NULL AND j.criterion_id IN (
    SELECT cr.id FROM projects_criterion cr JOIN projects_rubric r ON r.id = cr.rubric_id
    WHERE r.project_id = %(project)s)
GROUP BY 1, 2 ORDER BY 1, 2
"""
_BATCHES = "JOIN annotate_assignment a ON a.id = j.assignment_id JOIN annotate_hit h ON h.id = a.hit_id"


@dataclass(frozen=True)
class JudgmentCounts:
    """Judgments of candidates in a stage: those that count, and those that do not, by reason; and all others."""

    stage: Stage
    n_counted: int
    not_counted: tuple[tuple[str, int], ...]
    n_kept_apart: int

    @property
    def n_not_counted(self) -> int:
        return sum(n for _, n in self.not_counted)

    @property
    def stage_label(self) -> str:
        return {Stage.FULL: "full collection", Stage.TRIAL: "trial", Stage.ALL: "all stages"}[self.stage]

    @property
    def n_in_stage(self) -> int:
        return self.n_counted + self.n_not_counted

    @property
    def n_total(self) -> int:
        return self.n_in_stage + self.n_kept_apart


def count_judgments(project: Project, stage: Stage) -> JudgmentCounts:
    without = list(left_out(project, stage))
    query = _JUDGMENTS.format(
        is_apart="h.batch_id = ANY(%(without)s)" if without else "false", batches=_BATCHES if without else ""
    )
    with connection.cursor() as cursor:
        cursor.execute(query, {"project": project.pk, "without": without})
        rows = cursor.fetchall()
    counts = {reason: n for is_apart, reason, n in rows if not is_apart}
    n_kept_apart = sum(n for is_apart, _, n in rows if is_apart)
    return JudgmentCounts(stage, counts.pop("", 0), tuple(counts.items()), n_kept_apart)
