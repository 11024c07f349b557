"""Spread: how far the ratings of items differ, and the items and passages where they differ most."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.db.models import Count, Q
from django.db.models.functions import Left

from annotate.frames.criteria_in_use import Scope
from annotate.frames.kept import Order, fetch_order, keep
from annotate.frames.rating_patterns import IS_NOT_WITHDRAWN, execute_analytic, select_counted
from annotate.models import Batch, Remark
from projects.models import Candidate, Passage
from projects.web.lists import split_sort
from results.disagreements.judged_candidate import Rating, fetch_ratings, find_candidates
from results.scope.scopes import scope_settings

MOST_ITEMS = 20
QUARTERS: tuple[str, ...] = (
    "all equal",
    "up to a quarter of the scale",
    "up to half",
    "up to three quarters",
    "more",
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
    """A passage with the number of its items that have two ratings or more, and their mean deviation."""

    passage: Passage
    n: int
    mean_sd: float
    widest: float


@dataclass(frozen=True)
class Spread:
    """How far ratings differ: items by greatest difference, the mean deviation, the ids of those that differ most."""

    n_items: int
    mean_sd: float | None
    by_quarter: list[tuple[str, int]]
    worst: list[int]


@dataclass(frozen=True)
class Remarks:
    """How many flags, comments and refusals to judge the items of a batch have."""

    n_flags: int
    n_comments: int
    n_cannot: int


_ITEMS = "SELECT candidate_id, n, mean, sd, gap FROM rated"


class _RatedRows:
    """The rows of a statement over the rated items of a scope, fetched by the slice.

    Their order is kept while no judgment changes, so that any page, and their number, take no look at them all.
    """

    rows = ""
    key = ""
    """The column that orders rows with equal figures."""
    figures: tuple[str, ...] = ()
    """The columns that a list can be sorted by, the usual one first."""

    def __init__(self, scope: Scope, *, pair: tuple[str, str] | None = None, sort: str = "") -> None:
        self.scope, self.pair = scope, pair
        self.sort = sort or f"-{self.figures[0]}"
        name, is_descending = split_sort(self.sort)
        if name not in self.figures:
            raise ValueError(f"{name!r} is no column to sort by.")
        self.order_by = f"{name} {'DESC' if is_descending else 'ASC'}, {self.key}"

    @cached_property
    def order(self) -> Order:
        settings = [self.key, self.sort, scope_settings(self.scope), self.pair]
        return keep(self.scope.project, "spread", settings, self._fetch_order)

    def count(self) -> int:
        return len(self.order)

    def __len__(self) -> int:
        return self.count()

    def _slice(self, part: slice) -> list[tuple[Any, ...]]:
        ids = self.order[part]
        statement, parameters = _select_rated(self.scope, self.pair, only=self._list_candidates(ids))
        with execute_analytic(f"{statement} {self.rows}", parameters) as cursor:
            found = {row[0]: row for row in cursor.fetchall()}
        # In the order that is kept: equal figures may differ in the last digit where others are read beside them.
        return [found[pk] for pk in ids if pk in found]

    def _fetch_order(self) -> Order:
        statement, parameters = _select_rated(self.scope, self.pair)
        return fetch_order(f"{statement} {self.rows}", self.order_by, parameters, key=self.key)

    def _list_candidates(self, ids: list[int]) -> list[int]:
        """Return the candidates whose ratings make these rows."""
        return ids


class Items(_RatedRows):
    """The items whose ratings differ, by default the largest deviation first."""

    rows = f"{_ITEMS} WHERE gap > 0"
    key = "candidate_id"
    figures = ("sd", "n", "mean", "gap")

    def __getitem__(self, part: slice) -> list[SpreadItem]:
        rows = self._slice(part)
        found = find_candidates(self.scope.project).in_bulk([row[0] for row in rows])
        return [SpreadItem(found[row[0]], *row[1:]) for row in rows]


class Passages(_RatedRows):
    """The passages that have an item with two ratings, by default by the mean deviation of these items."""

    rows = """
SELECT q.passage_id, count(*) AS n, avg(r.sd) AS mean_sd, max(r.gap) AS widest
FROM rated r JOIN projects_candidate c ON c.id = r.candidate_id JOIN projects_question q ON q.id = c.question_id
GROUP BY q.passage_id"""
    key = "passage_id"
    figures = ("mean_sd", "n", "widest")

    def __getitem__(self, part: slice) -> list[SpreadPassage]:
        rows = self._slice(part)
        passages = Passage.objects.select_related("dataset").defer("text", "documents")
        found = passages.annotate(start=Left("text", 100)).in_bulk([row[0] for row in rows])
        return [SpreadPassage(found[row[0]], *row[1:]) for row in rows]

    def _list_candidates(self, ids: list[int]) -> list[int]:
        return list(Candidate.objects.filter(question__passage__in=ids).values_list("pk", flat=True))


def measure_spread(scope: Scope) -> Spread:
    """Return the spread of items with two counted ratings or more."""
    width = float(scope.criterion.high - scope.criterion.low)
    rated, parameters = _select_rated(scope)
    with execute_analytic(rated + _COUNT_BY_QUARTER, parameters | {"width": width}) as cursor:
        quarters = {quarter: (n, float(total)) for quarter, n, total in cursor.fetchall()}
    n_items = sum(n for n, _total in quarters.values())
    return Spread(
        n_items=n_items,
        mean_sd=sum(total for _n, total in quarters.values()) / n_items if n_items else None,
        by_quarter=[(str(name), quarters.get(quarter, (0, 0.0))[0]) for quarter, name in enumerate(QUARTERS)],
        worst=Items(scope).order[:MOST_ITEMS],
    )


def fetch_items(scope: Scope, ids: Sequence[int]) -> list[SpreadItem]:
    """Return these items with their ratings as they are now, except those that two ratings no longer count of."""
    rated, parameters = _select_rated(scope, only=ids)
    with execute_analytic(f"{rated} {_ITEMS}", parameters) as cursor:
        rows = {row[0]: row[1:] for row in cursor.fetchall()}
    found = find_candidates(scope.project).in_bulk(list(rows))
    # In one query for all of them, and not one for each.
    ratings = fetch_ratings(list(rows), criteria=scope.criterion.ids, batch=scope.batch)
    return [replace(SpreadItem(found[pk], *rows[pk]), ratings=ratings[pk]) for pk in ids if pk in rows]


def count_remarks(batch: Batch) -> Remarks:
    found = Remark.objects.filter(assignment__hit__batch=batch).aggregate(
        n_flags=Count("pk", filter=Q(is_flagged=True)),
        n_comments=Count("pk", filter=~Q(comment="")),
        n_cannot=Count("pk", filter=~Q(cannot_judge_reason="")),
    )
    return Remarks(**found)


def _select_rated(
    scope: Scope, pair: tuple[str, str] | None = None, *, only: Sequence[int] | None = None
) -> tuple[str, dict[str, Any]]:
    """Return SQL that the rated items of a scope begin with, of these candidates alone if any are named."""
    judgments, parameters = select_counted(scope, only=only)
    rated = _RATED.format(judgments=judgments, pair=_IS_OF_PAIR if pair else "")
    return rated, parameters | {"project": scope.project.pk, "pair": list(pair or ())}


# Every list here begins with the items that have two counted ratings or more: with fewer there is no deviation.
_RATED = f"""
WITH rated AS (
    SELECT candidate_id, count(*) AS n, avg(value) AS mean, stddev_samp(value) AS sd, max(value) - min(value) AS gap
    FROM ({{judgments}}) j WHERE {IS_NOT_WITHDRAWN} {{pair}} GROUP BY candidate_id HAVING count(*) >= 2)
"""
# Nameless scores from an import belong to nobody, so they make no pair.
_IS_OF_PAIR = """AND annotator_id IN (
    SELECT id FROM projects_membership
    WHERE project_id = %(project)s AND pseudonym = ANY(%(pair)s) AND kind <> 'unknown')
"""
# Rounding up puts equal ratings into quarter 0, and a gap of exactly a quarter of the scale into quarter 1.
_COUNT_BY_QUARTER = "SELECT ceil(4 * gap / %(width)s)::int, count(*), sum(sd) FROM rated GROUP BY 1"
