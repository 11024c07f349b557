"""What a figure leaves out: the judgments of a scope that do not enter, by reason, beside those that do."""

from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.utils.translation import gettext_lazy as _

from annotate.frames.rating_patterns import Scope

WORDS = {
    "removed": _("work of a removed annotator"),
    "rejected": _("rejected work"),
    "surplus": _("others had taken the place"),
    "set aside": _("set aside by a manager"),
    "consent withdrawn": _("the annotator withdrew the consent and took the work out"),
    "withdrawn": _("the candidate is withdrawn"),
    "cannot be judged": _("the annotator could not judge it"),
    "not blind": _("by somebody who sees the sources"),
    "judged anew": _("the same annotator judged it again under a newer rubric"),
    "another stage": _("kept apart as another stage's"),
    "another batch": _("of a batch that was not chosen"),
    "not chosen": _("of a dataset, split or source that was not chosen"),
}
"""Why a judgment does not enter, as people read it; imported judgments may say more of their own."""


@dataclass(frozen=True)
class Entering:
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


def count_entering(scope: Scope) -> Entering:
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
    return Entering(counts.pop("", 0), tuple(sorted(counts.items())))


_REASONS = """
WITH withdrawn AS (
    SELECT c.id FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
    JOIN projects_passage p ON p.id = q.passage_id
    WHERE c.withdrawn_at IS NOT NULL OR p.withdrawn_at IS NOT NULL),
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
