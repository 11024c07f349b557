"""Spread: how far the ratings of an item lie apart in a batch, and the items on which they lie furthest apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Count, Q
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from annotate.frames import CriterionInUse
from annotate.models import Batch, Judgment, Remark
from projects.models import Candidate

MOST_ITEMS = 20
QUARTERS: tuple[StrOrPromise, ...] = (
    _("all equal"),
    _("up to a quarter of the scale"),
    _("up to half"),
    _("up to three quarters"),
    _("more"),
)

_RATED = """
WITH rated AS (
    SELECT j.candidate_id, count(*) AS n, avg(j.value) AS mean, stddev_samp(j.value) AS sd,
           max(j.value) - min(j.value) AS gap
    FROM annotate_hit h JOIN annotate_assignment a ON a.hit_id = h.id
    JOIN annotate_judgment j ON j.assignment_id = a.id
    JOIN projects_candidate c ON c.id = j.candidate_id JOIN projects_question q ON q.id = c.question_id
    JOIN projects_passage p ON p.id = q.passage_id
    WHERE h.batch_id = %(batch)s AND j.is_counted AND j.value IS NOT NULL AND j.criterion_id = ANY(%(criteria)s)
      AND c.withdrawn_at IS NULL AND p.withdrawn_at IS NULL
    GROUP BY j.candidate_id HAVING count(*) >= 2)
"""
_BY_QUARTER = "SELECT ceil(4 * gap / %(width)s)::int, count(*), sum(sd) FROM rated GROUP BY 1"
_WORST = "SELECT candidate_id, n, mean, sd, gap FROM rated WHERE gap > 0 ORDER BY sd DESC, candidate_id LIMIT %(most)s"


@dataclass(frozen=True)
class Rating:
    """What one annotator said of an item."""

    pseudonym: str
    kind: str
    value: float | None
    is_counted: bool
    remark: Remark | None


@dataclass(frozen=True)
class SpreadItem:
    """An item with its figures and all its ratings in the batch."""

    candidate: Candidate
    hit_number: int
    n: int
    mean: float
    sd: float
    gap: float
    ratings: list[Rating]


@dataclass(frozen=True)
class Spread:
    """How far ratings lie apart: items by their greatest difference, the mean deviation, and the worst items."""

    n_items: int
    mean_sd: float | None
    by_quarter: list[tuple[str, int]]
    worst: list[SpreadItem]


@dataclass(frozen=True)
class Remarks:
    """How often something was written of an item of the batch."""

    n_flags: int
    n_comments: int
    n_cannot: int


def measure_spread(batch: Batch, criterion: CriterionInUse) -> Spread:
    """Items with two counted ratings or more; nothing is turned, as a difference has no direction."""
    parameters: dict[str, Any] = {
        "batch": batch.pk,
        "criteria": list(criterion.ids),
        "width": float(criterion.high - criterion.low),
        "most": MOST_ITEMS,
    }
    with connection.cursor() as cursor:
        cursor.execute(_RATED + _BY_QUARTER, parameters)
        quarters = {quarter: (n, float(total)) for quarter, n, total in cursor.fetchall()}
        cursor.execute(_RATED + _WORST, parameters)
        worst = cursor.fetchall()
    n_items = sum(n for n, _ in quarters.values())
    return Spread(
        n_items=n_items,
        mean_sd=sum(total for _, total in quarters.values()) / n_items if n_items else None,
        by_quarter=[(str(name), quarters.get(place, (0, 0.0))[0]) for place, name in enumerate(QUARTERS)],
        worst=_with_ratings(batch, criterion, worst),
    )


def count_remarks(batch: Batch) -> Remarks:
    found = Remark.objects.filter(assignment__hit__batch=batch).aggregate(
        n_flags=Count("pk", filter=Q(is_flagged=True)),
        n_comments=Count("pk", filter=~Q(comment="")),
        n_cannot=Count("pk", filter=~Q(cannot_judge_reason="")),
    )
    return Remarks(**found)


def _with_ratings(
    batch: Batch, criterion: CriterionInUse, worst: Sequence[tuple[int, int, float, float, float]]
) -> list[SpreadItem]:
    ids = [row[0] for row in worst]
    candidates = (
        Candidate.objects.select_related("question__passage__dataset")
        .prefetch_related("question__references")
        .in_bulk(ids)
    )
    judgments = (
        Judgment.objects.filter(assignment__hit__batch=batch, candidate__in=ids, criterion__in=criterion.ids)
        .select_related("annotator", "assignment__hit")
        .order_by("value", "annotator__pseudonym")
    )
    remarks = {
        (remark.assignment_id, remark.item_id): remark
        for remark in Remark.objects.filter(assignment__hit__batch=batch, item__candidate__in=ids)
    }
    ratings: dict[int, list[Rating]] = {each: [] for each in ids}
    hits: dict[int, int] = {}
    for judgment in judgments:
        assert judgment.candidate_id is not None
        hits[judgment.candidate_id] = judgment.assignment.hit.number
        ratings[judgment.candidate_id].append(
            Rating(
                judgment.annotator.pseudonym,
                judgment.annotator.kind,
                judgment.value,
                judgment.is_counted,
                remarks.get((judgment.assignment_id, judgment.item_id)),
            )
        )
    return [SpreadItem(candidates[row[0]], hits[row[0]], *row[1:], ratings[row[0]]) for row in worst]
