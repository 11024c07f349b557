"""Spread: how far the ratings of items differ, and the items and passages where they differ most."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q

from annotate.frames.criteria_in_use import Scope
from annotate.frames.rating_patterns import IS_NOT_WITHDRAWN, execute_analytic, select_counted
from annotate.models import Batch, Remark
from projects.models import Candidate, Passage
from projects.web.lists import split_sort
from results.disagreements.items import Rating, fetch_ratings, find_candidates

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
    """How far ratings differ: items by greatest difference, the mean deviation, and the items that differ most."""

    n_items: int
    mean_sd: float | None
    by_quarter: list[tuple[str, int]]
    worst: list[SpreadItem]


@dataclass(frozen=True)
class Remarks:
    """How many flags, comments and refusals to judge the items of a batch have."""

    n_flags: int
    n_comments: int
    n_cannot: int


class _RatedRows:
    """The rows of a statement over the rated items of a scope, fetched by the slice.

    Their total number comes with each slice: counting apart would group all judgments a second time.
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
        self.order = f"{name} {'DESC' if is_descending else 'ASC'}, {self.key}"
        self._slices: dict[tuple[int, int], list[tuple[Any, ...]]] = {}
        self._count: int | None = None

    def read(self, start: int, n: int) -> None:
        """Fetch a slice, and with it the total number, before a paginator asks for either."""
        found = f"SELECT *, count(*) OVER () FROM ({self.rows}) found"
        statement = f"{found} ORDER BY {self.order} OFFSET %(start)s LIMIT %(n)s"
        rows = _execute(self.scope, statement, self.pair, start=start, n=n)
        self._slices[start, n] = [row[:-1] for row in rows]
        if rows:
            self._count = int(rows[0][-1])

    def count(self) -> int:
        if self._count is None:
            self._count = int(_execute(self.scope, f"SELECT count(*) FROM ({self.rows}) found", self.pair)[0][0])
        return self._count

    def __len__(self) -> int:
        return self.count()

    def _slice(self, part: slice) -> list[tuple[Any, ...]]:
        start = part.start or 0
        # A paginator cuts a shorter slice out of the page that was read, at the end of the list.
        known = next((rows for (at, n), rows in self._slices.items() if at == start and at + n >= part.stop), None)
        if known is None:
            self.read(start, part.stop - start)
            known = self._slices[start, part.stop - start]
        return known[: part.stop - start]


class Items(_RatedRows):
    """The items whose ratings differ, by default the largest deviation first."""

    rows = "SELECT candidate_id, n, mean, sd, gap FROM rated WHERE gap > 0"
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
        found = Passage.objects.select_related("dataset").defer("text", "documents").in_bulk([row[0] for row in rows])
        return [SpreadPassage(found[row[0]], *row[1:]) for row in rows]


def measure_spread(scope: Scope) -> Spread:
    """Return the spread of items with two counted ratings or more, and the ratings of those that differ most."""
    width = float(scope.criterion.high - scope.criterion.low)
    quarters = {quarter: (n, float(total)) for quarter, n, total in _execute(scope, _COUNT_BY_QUARTER, width=width)}
    n_items = sum(n for n, _total in quarters.values())
    worst = Items(scope)[:MOST_ITEMS]
    # In one query for all of them, and not one for each.
    ratings = fetch_ratings([item.candidate.pk for item in worst], criteria=scope.criterion.ids, batch=scope.batch)
    return Spread(
        n_items=n_items,
        mean_sd=sum(total for _n, total in quarters.values()) / n_items if n_items else None,
        by_quarter=[(str(name), quarters.get(quarter, (0, 0.0))[0]) for quarter, name in enumerate(QUARTERS)],
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


def _execute(scope: Scope, statement: str, pair: tuple[str, str] | None = None, **over: Any) -> list[tuple[Any, ...]]:
    judgments, parameters = select_counted(scope)
    rated = _RATED.format(judgments=judgments, pair=_IS_OF_PAIR if pair else "")
    parameters |= {"project": scope.project.pk, "pair": list(pair or ())} | over
    with execute_analytic(rated + statement, parameters) as cursor:
        return list(cursor.fetchall())


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
