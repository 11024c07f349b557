"""Every page, with nasty text in every column: it answers, runs nothing, fits, and axe finds nothing serious."""

import os
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from playwright.sync_api import Page

from projects.access import Right
from projects.models import User
from tests.browser.conftest import PHONE, WIDE, SignedIn
from tests.browser.nasty import World, make_world
from tests.conftest import Site
from tests.routes import Route, all_routes

SIZES = {"wide": WIDE, "phone": PHONE}
LOOKS = [("wide", "dark"), ("phone", "light")]
if int(os.environ.get("SCALE", "1")) > 1:
    LOOKS += [("wide", "light"), ("phone", "dark")]

NO_PAGES = (
    *("export-long", "export-aggregated", "export-jsonl", "export-mocha"),
    *("import-file", "import-job", "annotate:session"),
)
"""Files, fragments, and what answers scripts."""

LEAST_PAGES, LEAST_NASTY = 50, 25


@pytest.fixture
def world(live_site: Site) -> World:
    return make_world()


@pytest.mark.parametrize(("size", "scheme"), LOOKS)
def test_every_page(signed_in: SignedIn, world: World, size: str, scheme: str) -> None:
    wrong: list[str] = []
    people: dict[str, User | None] = {"nobody": None, "owner": world.owner, "annotator": world.annotator}
    pages = {who: signed_in(user, viewport=SIZES[size], color_scheme=scheme) for who, user in people.items()}
    for page in pages.values():
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(f"dialog {dialog.message}"))
    todo = list(addresses(world))
    n_nasty = 0
    for who, path in todo:
        wrong += [f"{who} {path}: {fault}" for fault in faults(pages[who], path, SIZES[size]["width"])]
        n_nasty += "__xss" in pages[who].content()
    assert not wrong, "\n".join(wrong)
    assert len(todo) >= LEAST_PAGES
    assert n_nasty >= LEAST_NASTY


def faults(page: Page, path: str, width: int) -> list[str]:
    answer = page.goto(path)
    found = [] if answer is not None and answer.status == 200 else [f"status {answer and answer.status}"]
    if page.evaluate("window.__xss") is not None or page.locator("[onload], [onerror]").count():
        found.append("a text became a part of the page")
    if (broad := page.evaluate("document.documentElement.scrollWidth")) > width:
        found.append(f"{broad} pixels wide")
    violations = Axe().run(page).response["violations"]
    return found + [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in violations
        if each["impact"] in ("serious", "critical")
    ]


def addresses(world: World) -> Iterator[tuple[str, str]]:
    for route in all_routes():
        if route.is_admin or route.name.endswith(NO_PAGES):
            continue
        path, who_may = route.fill(world.samples), visitors(route)
        if answers_get(world.annotator if who_may == ["annotator"] else world.owner, path):
            yield from ((who, path) for who in who_may)
    for path in world.more:
        yield "owner", f"/p/{world.samples['slug']}/{path}"


def visitors(route: Route) -> list[str]:
    """Those who see the page, and see it each in another way."""
    assert route.policy is not None
    if route.policy.name == "public":
        return ["nobody", "owner"] if route.name == "projects:join" else ["nobody"]
    if route.policy.right is Right.WORK:
        return ["annotator"]
    if route.policy.name == "creates projects":
        return ["owner"]
    return ["owner"] if route.policy.right not in (None, Right.MEMBER) else ["owner", "annotator"]


def answers_get(user: User, path: str) -> bool:
    """Every view refuses OPTIONS, and says what it takes."""
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return "GET" in client.options(path).headers["Allow"]
