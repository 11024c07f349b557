"""What a list reads from its address: search text, filters, the order, the page."""

from collections.abc import Collection, Sequence
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import F, QuerySet
from django.db.models.expressions import BaseExpression, OrderBy
from django.http import HttpRequest

MOST_TEXT = 200
"""Characters of a field that are read from an address."""
PAGE_SIZE, TALL_PAGE_SIZE = 50, 25
"""Rows on a page of a list, and of one whose rows have several lines."""
LONG = 5_000
"""Rows above which those of a page are found by their keys; in shorter lists a second statement would take longer."""
KEYS = {"pk", "id", "candidate_id"}
"""What ends an order in which no two rows are equal; a list by candidate has one row of each."""


def read_text(request: HttpRequest, name: str) -> str:
    """Return what was typed in a field, without NUL, which the database refuses."""
    return request.GET.get(name, "").replace("\x00", "").strip()[:MOST_TEXT]


def read_word(request: HttpRequest, name: str, allowed: Collection[str], default: str = "") -> str:
    """Return the chosen option, or the default for one that isn't offered."""
    word = request.GET.get(name, default)
    return word if word in allowed else default


def read_sort(request: HttpRequest, allowed: Collection[str], default: str) -> str:
    """Return the name of the column to sort by, with a minus for descending."""
    sort = request.GET.get("sort", default)
    return sort if sort.removeprefix("-") in allowed else default


def split_sort(sort: str) -> tuple[str, bool]:
    """Return the column's name, and whether it is sorted in descending order."""
    return sort.removeprefix("-"), sort.startswith("-")


def order_by(sort: str, columns: dict[str, str]) -> str:
    """Return the argument of a QuerySet's `order_by`."""
    name, is_descending = split_sort(sort)
    return f"-{columns[name]}" if is_descending else columns[name]


def order_with_empty_last(expression: F | BaseExpression, *, is_descending: bool) -> OrderBy:
    """Return an ordering in which rows without a value come last in both directions."""
    return expression.desc(nulls_last=True) if is_descending else expression.asc(nulls_last=True)


def paginate(
    request: HttpRequest, rows: Sequence[Any] | Any, size: int = PAGE_SIZE, *, n: int | None = None
) -> Page[Any]:
    """Return the requested page; the last one for a number beyond it. `n` rows need not be counted once more."""
    paginator = ListPaginator(rows, size)
    if n is not None:
        paginator.count = n
    return paginator.get_page(request.GET.get("page"))


class ListPaginator(Paginator[Any]):
    """Finds the keys of a page's rows first where there are many rows, and reads only those with all their columns.

    Otherwise each row before the page is joined with whatever its list shows of it, and sorted with all its texts.
    Pages of the second half are counted from the end, so that the last one is found as fast as the first.
    """

    def page(self, number: int | str) -> Page[Any]:
        rows = self.object_list
        if not isinstance(rows, QuerySet) or not _has_plain_rows(rows) or self.count <= LONG:
            return super().page(number)
        number = self.validate_number(number)
        start = (number - 1) * self.per_page
        stop = min(start + self.per_page, self.count)
        keys = rows.values_list("pk", flat=True)
        if start > self.count // 2 and _has_total_order(rows):
            found = keys.reverse()[self.count - stop : self.count - start]
        else:
            found = keys[start:stop]
        return Page(rows.filter(pk__in=list(found)), number, self)


def _has_plain_rows(rows: QuerySet[Any]) -> bool:
    """Return whether each row of a list is one of its table, and not a group or a selection of its columns."""
    query = rows.query
    return query.group_by is None and not query.distinct and not query.values_select and not query.is_sliced


def _has_total_order(rows: QuerySet[Any]) -> bool:
    """Return whether the order leaves nothing open, so that it is the same when read from its end."""
    last = rows.query.order_by[-1] if rows.query.order_by else ""
    return isinstance(last, str) and last.removeprefix("-") in KEYS
