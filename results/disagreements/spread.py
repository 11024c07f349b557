"""Spread: how far the ratings of items differ, and the items and passages where they differ most.

Points that are categories without an order lie no distance apart: of these it is counted which ratings differ at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True, kw_only=True)
class SpreadItem:
    """An item with the figures of its ratings; the gap is the highest less the lowest.

    Of categories there are `differing`, the share of the pairs of its ratings that differ, and how many were chosen.
    """

    candidate: Candidate
    n: int
    mean: float | None = None
    sd: float | None = None
    gap: float | None = None
    differing: float | None = None
    n_categories: int | None = None
    ratings: Sequence[Rating] = ()


@dataclass(frozen=True, kw_only=True)
class SpreadPassage:
    """A passage with the number of its items that have two ratings or more, and the mean and the most of these."""

    passage: Passage
    n: int
    mean_sd: float | None = None
    widest: float | None = None
    mean_differing: float | None = None
    most_categories: int | None = None


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How far ratings differ: items by greatest difference, the mean deviation, the ids of those that differ most.

    Of categories, items are counted by how many were chosen, and the mean is that of the shares of differing pairs.
    """

    n_items: int
    mean_sd: float | None = None
    by_quarter: list[tuple[str, int]] = field(default_factory=list)
    mean_differing: float | None = None
    by_categories: list[tuple[int, int]] = field(default_factory=list)
    worst: list[int]


@dataclass(frozen=True)
class Remarks:
    """How many flags, comments and refusals to judge the items of a batch have."""

    n_flags: int
    n_comments: int
    n_cannot: int


class _RatedRows:
    """The rows of a statement over the rated items of a scope, fetched by the slice.

    Their order is kept while no judgment changes, so that any page, and their number, take no look at them all.
    """

    select = ""
    """SQL of the rows, with {figures} for their columns."""
    key = ""
    """The column that orders rows with equal figures."""
    of_numbers: Mapping[str, str] = {}
    """The columns that a list can be sorted by, the usual one first, with their SQL."""
    of_categories: Mapping[str, str] = {}
    """The same where points are categories without an order."""

    def __init__(self, scope: Scope, *, pair: tuple[str, str] | None = None, sort: str = "") -> None:
        self.scope, self.pair = scope, pair
        self.has_order = scope.criterion.has_order
        columns = self.of_numbers if self.has_order else self.of_categories
        self.figures = tuple(columns)
        self.rows = self.select.format(figures=", ".join(f"{sql} AS {name}" for name, sql in columns.items()))
        # An address may name a column that the list of another criterion has.
        self.sort = sort if split_sort(sort)[0] in columns else f"-{self.figures[0]}"
        name, is_descending = split_sort(self.sort)
        self.order_by = f"{name} {'DESC' if is_descending else 'ASC'}, {self.key}"

    @cached_property
    def order(self) -> Order:
        settings = [self.key, self.sort, scope_settings(self.scope), self.pair]
        return keep(self.scope.project, "spread", settings, self._fetch_order)

    def count(self) -> int:
        return len(self.order)

    def __len__(self) -> int:
        return self.count()

    def _slice(self, part: slice) -> list[tuple[int, dict[str, Any]]]:
        ids = self.order[part]
        statement, parameters = _select_rated(self.scope, self.pair, only=self._list_candidates(ids))
        with execute_analytic(f"{statement} {self.rows}", parameters) as cursor:
            found = {pk: dict(zip(self.figures, figures, strict=True)) for pk, *figures in cursor.fetchall()}
        # In the order that is kept: equal figures may differ in the last digit where others are read beside them.
        return [(pk, found[pk]) for pk in ids if pk in found]

    def _fetch_order(self) -> Order:
        statement, parameters = _select_rated(self.scope, self.pair)
        return fetch_order(f"{statement} {self.rows}", self.order_by, parameters, key=self.key)

    def _list_candidates(self, ids: list[int]) -> list[int]:
        """Return the candidates whose ratings make these rows."""
        return ids


class Items(_RatedRows):
    """The items whose ratings differ, by default those first whose ratings differ most."""

    select = "SELECT candidate_id, {figures} FROM rated WHERE differs"
    key = "candidate_id"
    of_numbers: Mapping[str, str] = {name: name for name in ("sd", "n", "mean", "gap")}
    of_categories: Mapping[str, str] = {name: name for name in ("differing", "n", "n_categories")}

    def __getitem__(self, part: slice) -> list[SpreadItem]:
        rows = self._slice(part)
        found = find_candidates(self.scope.project).in_bulk([pk for pk, _figures in rows])
        return [SpreadItem(candidate=found[pk], **figures) for pk, figures in rows]


class Passages(_RatedRows):
    """The passages that have an item with two ratings, by default by the mean of how far those of each differ."""

    select = """
SELECT q.passage_id, {figures}
FROM rated r JOIN projects_candidate c ON c.id = r.candidate_id JOIN projects_question q ON q.id = c.question_id
GROUP BY q.passage_id"""
    key = "passage_id"
    of_numbers: Mapping[str, str] = {"mean_sd": "avg(r.sd)", "n": "count(*)", "widest": "max(r.gap)"}
    of_categories: Mapping[str, str] = {
        "mean_differing": "avg(r.differing)",
        "n": "count(*)",
        "most_categories": "max(r.n_categories)",
    }

    def __getitem__(self, part: slice) -> list[SpreadPassage]:
        rows = self._slice(part)
        passages = Passage.objects.select_related("dataset").defer("text", "documents")
        found = passages.annotate(start=Left("text", 100)).in_bulk([pk for pk, _figures in rows])
        return [SpreadPassage(passage=found[pk], **figures) for pk, figures in rows]

    def _list_candidates(self, ids: list[int]) -> list[int]:
        return list(Candidate.objects.filter(question__passage__in=ids).values_list("pk", flat=True))


def measure_spread(scope: Scope) -> Spread:
    """Return the spread of items with two counted ratings or more."""
    if not scope.criterion.has_order:
        return _measure_differing(scope)
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


def _measure_differing(scope: Scope) -> Spread:
    rated, parameters = _select_rated(scope)
    with execute_analytic(rated + _COUNT_BY_CATEGORIES, parameters) as cursor:
        found = [(n_categories, n, float(total)) for n_categories, n, total in cursor.fetchall()]
    n_items = sum(n for _n_categories, n, _total in found)
    return Spread(
        n_items=n_items,
        mean_differing=sum(total for _n_categories, _n, total in found) / n_items if n_items else None,
        by_categories=[(n_categories, n) for n_categories, n, _total in found],
        worst=Items(scope).order[:MOST_ITEMS],
    )


def fetch_items(scope: Scope, ids: Sequence[int]) -> list[SpreadItem]:
    """Return these items with their ratings as they are now, except those that two ratings no longer count of."""
    rated, parameters = _select_rated(scope, only=ids)
    columns = Items.of_numbers if scope.criterion.has_order else Items.of_categories
    with execute_analytic(f"{rated} SELECT candidate_id, {', '.join(columns)} FROM rated", parameters) as cursor:
        rows = {pk: dict(zip(columns, figures, strict=True)) for pk, *figures in cursor.fetchall()}
    found = find_candidates(scope.project).in_bulk(list(rows))
    # In one query for all of them, and not one for each.
    ratings = fetch_ratings(list(rows), criteria=scope.criterion.ids, batch=scope.batch)
    return [SpreadItem(candidate=found[pk], ratings=ratings[pk], **rows[pk]) for pk in ids if pk in rows]


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
    statement = _RATED if scope.criterion.has_order else _RATED_CATEGORIES
    rated = statement.format(judgments=judgments, pair=_IS_OF_PAIR if pair else "")
    return rated, parameters | {"project": scope.project.pk, "pair": list(pair or ())}


# Every list here begins with the items that have two counted ratings or more: with fewer there is no deviation.
_RATED = f"""
WITH rated AS (
    SELECT candidate_id, count(*) AS n, avg(value) AS mean, stddev_samp(value) AS sd, max(value) - min(value) AS gap,
           max(value) > min(value) AS differs
    FROM ({{judgments}}) j WHERE {IS_NOT_WITHDRAWN} {{pair}} GROUP BY candidate_id HAVING count(*) >= 2)
"""
# Of n ratings, k of which chose one category, k * (k - 1) of the n * (n - 1) pairs are of that category twice.
_RATED_CATEGORIES = f"""
WITH rated AS (
    SELECT candidate_id, sum(k)::int AS n, count(*)::int AS n_categories, count(*) > 1 AS differs,
           1 - sum(k * (k - 1))::float8 / (sum(k) * (sum(k) - 1))::float8 AS differing
    FROM (SELECT candidate_id, count(*) AS k FROM ({{judgments}}) j WHERE {IS_NOT_WITHDRAWN} {{pair}}
          GROUP BY candidate_id, value) chosen
    GROUP BY candidate_id HAVING sum(k) >= 2)
"""
# Nameless scores from an import belong to nobody, so they make no pair.
_IS_OF_PAIR = """AND annotator_id IN (
    SELECT id FROM projects_membership
    WHERE project_id = %(project)s AND pseudonym = ANY(%(pair)s) AND kind <> 'unknown')
"""
# Rounding up puts equal ratings into quarter 0, and a gap of exactly a quarter of the scale into quarter 1.
_COUNT_BY_QUARTER = "SELECT ceil(4 * gap / %(width)s)::int, count(*), sum(sd) FROM rated GROUP BY 1"
_COUNT_BY_CATEGORIES = "SELECT n_categories, count(*), sum(differing) FROM rated GROUP BY 1 ORDER BY 1"
