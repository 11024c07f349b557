"""Pages of long lists: the rows of the whole list in its order, whether found from its beginning or from its end."""

from typing import Any

import pytest
from django.core.paginator import Paginator
from django.db.models import F, TextField, Value
from django.db.models.functions import NullIf
from django.template.loader import render_to_string
from django.test import RequestFactory

from projects.models import Passage, Project
from projects.web import lists
from tests.factories import make_dataset, make_passage

pytestmark = pytest.mark.django_db

N_PASSAGES, SIZE, N_PAGES = 23, 5, 5


@pytest.mark.parametrize(
    "order",
    [
        ["pk"],
        ["-title", "pk"],
        ["split", "title", "-pk"],
        [lists.order_with_empty_last(F("label"), is_descending=True), "id"],
        [lists.order_with_empty_last(F("label"), is_descending=False), "id"],
    ],
    ids=str,
)
def test_every_page_of_a_long_list(project: Project, order: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "LONG", 0)
    dataset = make_dataset(project)
    for number in range(N_PASSAGES):
        make_passage(dataset, title=f"{number % 3}", split="train" if number % 4 else "")
    # Every third has no title here, which is what an order with empty values last has to place.
    rows = (
        Passage.objects.filter(dataset=dataset)
        .annotate(label=NullIf("title", Value("0", TextField())))
        .order_by(*order)
    )
    asked = [RequestFactory().get("/", {"page": number}) for number in range(1, N_PAGES + 1)]
    pages = [lists.paginate(request, rows, SIZE).object_list for request in asked]
    assert [len(page) for page in pages] == [5, 5, 5, 5, 3]
    assert [row.pk for page in pages for row in page] == [row.pk for row in rows]


def test_an_order_with_ties_is_read_from_its_beginning_alone(project: Project) -> None:
    """Read from the end, rows that are equal might come in another order, and so on two pages or on none."""
    rows = Passage.objects.filter(dataset__project=project)
    assert [lists._has_total_order(rows.order_by(*order)) for order in (["title"], [F("pk").asc()], [])] == [False] * 3
    assert lists._has_total_order(rows.order_by("title", "-pk"))


@pytest.mark.parametrize(("n", "shown"), [(0, ""), (1, ""), (2, "1–2 of 2 HITs")])
def test_a_list_of_one_row_is_not_counted_below_it(rf: RequestFactory, n: int, shown: str) -> None:
    page = Paginator(range(n), 50).page(1)
    pager = render_to_string("_pager.html", {"page": page, "pager_noun": "HITs"}, rf.get("/"))
    assert (shown in pager) if shown else not pager.strip()
