"""What lists read from their address: a text, one of some words, the order, the page."""

from collections.abc import Collection, Sequence
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest


def read_text(request: HttpRequest, name: str) -> str:
    return request.GET.get(name, "").replace("\x00", "").strip()[:200]


def read_word(request: HttpRequest, name: str, allowed: Collection[str], default: str = "") -> str:
    word = request.GET.get(name, default)
    return word if word in allowed else default


def read_sort(request: HttpRequest, allowed: Collection[str], default: str) -> str:
    """A column's name, with a minus for the other way round."""
    sort = request.GET.get("sort", default)
    return sort if sort.removeprefix("-") in allowed else default


def order_by(sort: str, columns: dict[str, str]) -> str:
    field = columns[sort.removeprefix("-")]
    return f"-{field}" if sort.startswith("-") else field


def read_page(request: HttpRequest) -> int:
    """The number of the page that is asked for; the first where it is none."""
    asked = request.GET.get("page", "")
    return max(1, int(asked)) if asked.isascii() and asked.isdigit() and len(asked) < 8 else 1


def page_of(request: HttpRequest, rows: Sequence[Any] | Any, size: int = 50) -> Page[Any]:
    return Paginator(rows, size).get_page(request.GET.get("page"))
