import re
import uuid
from typing import Any

import pytest
from django.http import HttpResponse
from django.urls import Resolver404, URLPattern, URLResolver, get_resolver, include, path, re_path

from config.sorted_routes import sorted_path
from tests.routes import all_routes

VALUES = {"int": "7", "uuid": str(uuid.UUID(int=7)), "slug": "bay", "str": "long.csv", "path": "a/b"}
ADDRESSES = [re.sub(r"<(?:(\w+):)?\w+>", lambda found: VALUES[found[1] or "str"], each.path) for each in all_routes()]
WRONG = ["/nothing/", "/p/bay/nothing/", "/p/bay/work", "/p//work/", "/p/bay/work/nothing/", "//", "/p", "/work/"]


def answer(*_arguments: Any, **_values: Any) -> HttpResponse:
    return HttpResponse()


def find(resolver: URLResolver, address: str) -> dict[str, Any] | None:
    """What is found but for the routes that were tried."""
    try:
        return vars(resolver.resolve(address)) | {"tried": ()}
    except Resolver404:
        return None


def test_every_address_leads_where_the_order_of_the_routes_says(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = [*ADDRESSES, *WRONG, *(f"{each}more/" for each in ADDRESSES), *(each[:-1] for each in ADDRESSES)]
    found = {address: find(get_resolver(), address) for address in addresses}
    in_order = URLResolver(get_resolver().pattern, get_resolver().urlconf_name)
    monkeypatch.setattr("config.sorted_routes.SortedRoutes.resolve", URLResolver.resolve)
    assert found == {address: find(in_order, address) for address in addresses}
    assert all(found[address] for address in ADDRESSES if not address.startswith("/admin/"))
    assert not any(found[address] for address in WRONG)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("x/p/1/one/", "first"),
        ("x/p/1/two/", "second"),
        ("x/p/1/three/", "any"),
        ("x/p/a/b/c/", "slashes"),
        ("x/q/1/", "value"),
        ("x/p/1/", "value"),
        ("x/p/", None),
        ("x/deep/more/", "within"),
        ("x/p/1/late/", "expression"),
        ("y/p/1/one/", None),
    ],
)
def test_values_in_place_of_words(address: str, name: str | None) -> None:
    routes: list[URLPattern | URLResolver] = [
        path("p/<int:n>/one/", answer, name="first"),
        path("p/<int:n>/t<slug:word>/", answer, name="any"),
        path("p/<int:n>/two/", answer, name="too late"),
        path("<slug:word>/<int:n>/", answer, name="value"),
        path("deep/", include([path("more/", answer, name="within")])),
        re_path("^p/[0-9]/l", answer, name="expression"),
        path("p/<path:rest>/", answer, name="slashes"),
    ]
    routes.insert(1, path("p/<int:n>/two/", answer, name="second"))
    found = find(sorted_path("x/", include((routes, "x"))), address)
    assert (found and found["view_name"]) == (name and f"x:{name}")
