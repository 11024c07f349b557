"""Count the judgments that a figure includes, and by reason those that it excludes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import connection

from annotate.frames.criteria_in_use import Scope
from annotate.frames.kept import keep
from annotate.frames.rating_patterns import WITHDRAWN, execute_analytic
from annotate.frames.stages import Stage, left_out
from annotate.models.conditions import is_counted
from projects.models import Project
from results.scope.scopes import read_scope

# The keys are stored with judgments and written into frozen sets, so they keep their words; pages show these instead.
REASON_NAMES = {
    "judged anew": "older judgment",
    "another stage": "other stage",
    "another batch": "other batch",
    "not chosen": "filtered out",
}
REASON_NOTES = {
    "removed": "work of a removed annotator",
    "rejected": "rejected work",
    "surplus": "submitted when the HIT already had all its judgments",
    "set aside": "excluded by a manager",
    "already counted": "restored, but the same judgment was imported again and counts",
    "consent withdrawn": "the annotator withdrew consent or deleted their account, and removed the work",
    "withdrawn": "the candidate is withdrawn",
    "cannot be judged": "the annotator could not judge it",
    "not blind": "by someone who can see the sources",
    "judged anew": "the same annotator judged the candidate again under a newer rubric",
    "another stage": "from a batch of another stage",
    "another batch": "from a batch that was not selected",
    "not chosen": "from a dataset, split or source that was not selected",
}
"""What each stored reason means; imported judgments may have other reasons."""


@dataclass(frozen=True)
class Inclusion:
    """The judgments of candidates in a scope: how many are included, and how many are excluded for each reason."""

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
    """Count the included judgments of a scope, and the excluded ones by reason, in one statement."""
    parameters: dict[str, Any] = {
        "project": scope.project.pk,
        "criteria": list(scope.criterion.ids),
        "batch": scope.batch.pk if scope.batch else None,
        "without": list(scope.left_out),
        "blind": scope.is_blind_only,
    }
    with connection.cursor() as cursor:
        cursor.execute(_REASONS, parameters)
        counts = {reason: int(n) for reason, n in cursor.fetchall()}
    return Inclusion(counts.pop("", 0), tuple(sorted(counts.items())))


# Gives every judgment of the criterion the first reason that applies; '' stands for an included one. A stage that is
# kept apart comes first: within the stage that is shown such a judgment is not there at all, counted or not.
# Withdrawn candidates are few, so they are listed once and joined, in place of joining every judgment to its question
# and passage. A criterion has several ids when several versions of the rubric ask it; then one annotator may have
# judged a candidate more than once, and only the newest enters. The window is cut by reason too, so that an excluded
# newer judgment does not push out an included older one.
_REASONS = f"""
WITH withdrawn AS ({WITHDRAWN}),
judged AS (
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
included AS (
    SELECT CASE WHEN reason = '' AND cardinality(%(criteria)s::bigint[]) > 1 AND row_number() OVER (
                    PARTITION BY candidate_id, annotator_id, reason ORDER BY id DESC) > 1
                THEN 'judged anew' ELSE reason END AS reason FROM judged)
SELECT reason, count(*) FROM included GROUP BY reason
"""


def inclusion_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of a page that shows nothing else of its scope."""
    return {"entering": count_inclusion(read_scope(project, settings)).as_dict()}


# Judgments of the whole project by the stored reason, each part from its own index: the counted ones, which are many,
# without a look at their rows, and the others, which are few. Those of batches that a stage keeps apart are counted by
# their assignments once more, to be taken off.
_JUDGMENTS = f"""
SELECT false, '', count(*) FROM annotate_judgment j WHERE j.criterion_id = ANY(%(criteria)s) AND {is_counted("j")}
UNION ALL
SELECT false, j.not_counted_reason, count(*) FROM annotate_judgment j
WHERE j.criterion_id = ANY(%(criteria)s) AND NOT j.is_counted AND j.candidate_id IS NOT NULL GROUP BY 2
UNION ALL
SELECT true, j.not_counted_reason, count(*) FROM annotate_hit h
JOIN annotate_assignment a ON a.hit_id = h.id JOIN annotate_judgment j ON j.assignment_id = a.id
WHERE h.batch_id = ANY(%(without)s) AND j.candidate_id IS NOT NULL GROUP BY 2
ORDER BY 1, 2
"""


@dataclass(frozen=True)
class JudgmentCounts:
    """Judgments of candidates: counted and not counted ones of a stage, and how many are kept apart from it."""

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
    """Count the judgments of a stage by their stored reason, whatever their criterion."""
    return keep(project, "judgment counts", stage, partial(_count_judgments, project, stage))


def _count_judgments(project: Project, stage: Stage) -> JudgmentCounts:
    parameters = {"criteria": project.find_ids().criteria, "without": list(left_out(project, stage))}
    with execute_analytic(_JUDGMENTS, parameters) as cursor:
        rows = cursor.fetchall()
    apart = {reason: n for is_apart, reason, n in rows if is_apart}
    counts = {reason: n - apart.get(reason, 0) for is_apart, reason, n in rows if not is_apart}
    n_counted = counts.pop("")
    not_counted = tuple((reason, n) for reason, n in counts.items() if n)
    return JudgmentCounts(stage, n_counted, not_counted, sum(apart.values()))
