from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.urls import path
from pytest_django import Settings

from projects.access import public

urlpatterns = [
    path("open/", public(lambda request: HttpResponse()), name="open"),
    path("forgotten/", lambda request: HttpResponse(), name="forgotten"),
]


def list_routes() -> list[str]:
    call_command("routes", stdout=(said := StringIO()))
    return said.getvalue().splitlines()


def test_every_route_is_listed_with_its_right() -> None:
    said = dict(line.split(maxsplit=1) for line in list_routes())
    assert said["/accessibility/"] == "public"
    assert said["/p/<slug:slug>/people/"] == "manage"
    assert {right for route, right in said.items() if route.startswith("/admin/")} == {"staff"}


def test_a_view_without_a_policy_fails(settings: Settings) -> None:
    settings.ROOT_URLCONF = __name__
    with pytest.raises(CommandError, match=r"^No policy is declared for /forgotten/$"):
        list_routes()
