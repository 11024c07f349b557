"""Every form and every query of a page, filled with what no browser sends: refused or ignored, never an error."""

import random
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import parse_qsl, quote_from_bytes

import pytest
from django.db import transaction
from pytest_django import DjangoDbBlocker

from tests.access_world import ROUTES, World, make_world
from tests.page_reader import list_links, read_forms
from tests.routes import Route
from tests.visiting import find_holder, send

pytestmark = pytest.mark.drill

NASTY = (
    *(b"", b" ", b"\0", b"\n\n", b"a\x1fb", b"\xff\xfe", b"\xed\xa0\x80", "\u202eevil\u2066".encode(), b"x" * 60_000),
    *(b"-1", b"0", b"2147483648", b"9223372036854775808", b"-9223372036854775809", b"9" * 30, "\u0663\u00bd".encode()),
    *(b"nan", b"inf", b"1e309", b"1e-400", b"1e999999999", b"1,5", b"1_000", b"0x10", b"1.00000000000000000000000001"),
    *(b"0001-01-01", b"9999-12-31T23:59", b"2026-02-30", b"24:61"),
    *(b"[]", b"{}", b"null", b"[[[[", b"<script>", b"{0.__class__}", b"%s", b"..", b"https://[", b"a=b=c:1-5:nominal"),
)
N_VALUES = 6
"""So many of them for each field, and more in a form of few fields."""
MOST_TRIES = 100
FIELDS_OF_LISTS = ("page", "sort", "q", "batch", "criterion", "kind", "by", "stage", "next")
LEFT_OUT = ("sign-out", "language")
"""Forms of every page, which its own test fills once."""


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    with django_db_blocker.unblock(), transaction.atomic():
        yield replace(make_world(), savepoint=transaction.savepoint())
        transaction.set_rollback(True)


@pytest.mark.parametrize("route", [route for route in ROUTES if not route.is_api], ids=lambda route: route.name)
def test_no_form_and_no_query_is_an_error_of_the_server(route: Route, world: World) -> None:
    assert route.policy is not None
    rng, path = random.Random(route.name), route.fill(world.samples)
    who = "anonymous" if route.policy.name == "public" else find_holder(route.policy)
    first = send(world, who, "GET", path, route)
    is_page = b"<html" in first.content[:1000] and first["Content-Type"].startswith("text/html")
    page = first.content.decode() if is_page else "<html></html>"
    wrong = []
    for name, method, address, fields in (*_fill_forms(page, path, rng), *_fill_queries(page, path, rng)):
        if method == "GET":
            answer = send(world, who, "GET", f"{address.partition('?')[0]}?{fields}", route)
        else:
            answer = send(world, who, "POST", address, route, fields=fields)
        if answer.status_code >= 500:
            wrong.append(f"{method} {address}, {name}: {fields[:200]}")
    assert not wrong, "\n".join(wrong)


def _fill_forms(page: str, path: str, rng: random.Random) -> Iterator[tuple[str, str, str, str]]:
    """Yield the field, the method, the address and the fields as they are sent, one of them nasty."""
    for form in read_forms(page):
        if any(each in form.action for each in LEFT_OUT):
            continue
        for name in form.names:
            others = [(key, value.encode()) for key, value in form.values if key != name]
            # What is missing elsewhere would be all that such a form is refused for.
            filled = [(key, value or b"1") for key, value in others]
            for value in rng.sample(NASTY, max(N_VALUES, min(len(NASTY), MOST_TRIES // len(form.names)))):
                for rest in [others, filled] if filled != others else [others]:
                    yield name, form.method, form.action or path, _encode([*rest, (name, value)])
            yield f"without {name}", form.method, form.action or path, _encode(others)


def _fill_queries(page: str, path: str, rng: random.Random) -> Iterator[tuple[str, str, str, str]]:
    """Yield the same for the queries of links to this page, and for those that lists have."""
    queries = [link.partition("?")[2] for link in list_links(page) if link.startswith(("?", f"{path}?"))]
    names = {*FIELDS_OF_LISTS, *(name for query in queries for name, _value in parse_qsl(query))}
    for name in sorted(names):
        for value in rng.sample(NASTY, N_VALUES):
            yield name, "GET", path, _encode([(name, value)])


def _encode(fields: list[tuple[str, bytes]]) -> str:
    return "&".join(f"{quote_from_bytes(name.encode())}={quote_from_bytes(value, safe='')}" for name, value in fields)
