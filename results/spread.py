"""Spread: how far the ratings of an item lie apart, and the items and passages on which they lie furthest apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from annotate.frames import Scope, ask_fast, in_places, select_counted
from annotate.models import Batch, Remark
from projects.models import Candidate, Passage
from results.scores.items import Rating, candidates_of, ratings_of

MOST_ITEMS = 20
QUARTERS: tuple[StrOrPromise, ...] = (
    _("all equal"),
    _("up to a quarter of the scale"),
    _("up to half"),
    _("up to three quarters"),
    _("more"),
)


@dataclass(frozen=True)
class SpreadItem:
    """An item with the figures of its ratings; the gap is the highest less the lowest."""

    candidate: Candidate
    n: int
    mean: float
    sd: float
    gap: float
    ratings: Sequence[Rating] = ()


@dataclass(frozen=True)
class SpreadPassage:
    """A passage, its items with two ratings or more, and their mean deviation."""

    passage: Passage
    n: int
    mean_sd: float
    widest: float


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


class _Found:
    """What a statement over the rated items of a scope finds, fetched by the slice."""

    rows = ""
    order = ""

    def __init__(self, scope: Scope, *, pair: tuple[str, str] | None = None) -> None:
        self.scope, self.pair = scope, pair

    def count(self) -> int:
        return int(_ask(self.scope, f"SELECT count(*) FROM ({self.rows}) found", self.pair)[0][0])

    def __len__(self) -> int:
        return self.count()

    def _slice(self, part: slice) -> list[tuple[Any, ...]]:
        start = part.start or 0
        statement = f"{self.rows} ORDER BY {self.order} OFFSET %(start)s LIMIT %(n)s"
        return _ask(self.scope, statement, self.pair, start=start, n=part.stop - start)


class Items(_Found):
    """The items whose ratings differ, the widest first."""

    rows = "SELECT candidate_id, n, mean, sd, gap FROM rated WHERE gap > 0"
    order = "sd DESC, candidate_id"

    def __getitem__(self, part: slice) -> list[SpreadItem]:
        rows = self._slice(part)
        found = candidates_of(self.scope.project).in_bulk([row[0] for row in rows])
        return [SpreadItem(found[row[0]], *row[1:]) for row in rows]


class Passages(_Found):
    """The passages that have an item with two ratings, by the mean deviation of these items."""

    rows = "SELECT passage_id, count(*) AS n, avg(sd) AS mean_sd, max(gap) AS widest FROM rated GROUP BY passage_id"
    order = "mean_sd DESC, passage_id"

    def __getitem__(self, part: slice) -> list[SpreadPassage]:
        rows = self._slice(part)
        found = Passage.objects.select_related("dataset").defer("text", "documents").in_bulk([row[0] for row in rows])
        return [SpreadPassage(found[row[0]], *row[1:]) for row in rows]


def measure_spread(scope: Scope) -> Spread:
    """Items with two counted ratings or more, and the worst of them with all their ratings in the scope's batch."""
    width = float(scope.criterion.high - scope.criterion.low)
    quarters = {quarter: (n, float(total)) for quarter, n, total in _ask(scope, _BY_QUARTER, width=width)}
    n_items = sum(n for n, _total in quarters.values())
    worst = Items(scope)[:MOST_ITEMS]
    ratings = ratings_of([item.candidate.pk for item in worst], criteria=scope.criterion.ids, batch=scope.batch)
    return Spread(
        n_items=n_items,
        mean_sd=sum(total for _n, total in quarters.values()) / n_items if n_items else None,
        by_quarter=[(str(name), quarters.get(place, (0, 0.0))[0]) for place, name in enumerate(QUARTERS)],
        worst=[
            SpreadItem(item.candidate, item.n, item.mean, item.sd, item.gap, ratings[item.candidate.pk])
            for item in worst
        ],
    )


def count_remarks(batch: Batch) -> Remarks:
    found = Remark.objects.filter(assignment__hit__batch=batch).aggregate(
        n_flags=Count("pk", filter=Q(is_flagged=True)),
        n_comments=Count("pk", filter=~Q(comment="")),
        n_cannot=Count("pk", filter=~Q(cannot_judge_reason="")),
    )
    return Remarks(**found)


def _ask(scope: Scope, statement: str, pair: tuple[str, str] | None = None, **over: Any) -> list[tuple[Any, ...]]:
    judgments, parameters = select_counted(scope)
    rated = _RATED.format(judgments=judgments, places=in_places(scope), pair=_OF_PAIR if pair else "")
    parameters |= {"project": scope.project.pk, "pair": list(pair or ())} | over
    with ask_fast(rated + statement, parameters) as cursor:
        return list(cursor.fetchall())


_RATED = """
WITH rated AS (
    SELECT j.candidate_id, q.passage_id, j.n, j.mean, j.sd, j.gap
    FROM (
        SELECT candidate_id, count(*) AS n, avg(value) AS mean, stddev_samp(value) AS sd,
               max(value) - min(value) AS gap
        FROM ({judgments}) j {pair} GROUP BY candidate_id HAVING count(*) >= 2) j
    JOIN projects_candidate c ON c.id = j.candidate_id JOIN projects_question q ON q.id = c.question_id
    JOIN projects_passage p ON p.id = q.passage_id JOIN projects_dataset d ON d.id = c.dataset_id
    WHERE c.withdrawn_at IS NULL AND p.withdrawn_at IS NULL {places})
"""
_OF_PAIR = """WHERE annotator_id IN (
    SELECT id FROM projects_membership
    WHERE project_id = %(project)s AND pseudonym = ANY(%(pair)s) AND kind <> 'unknown')
"""
_BY_QUARTER = "SELECT ceil(4 * gap / %(width)s)::int, count(*), sum(sd) FROM rated GROUP BY 1"
