"""Every page, with nasty text in every column: it answers, runs nothing, fits, and axe finds nothing."""

import os

import pytest
from playwright.sync_api import Page

from projects.models import User
from tests.browser import axe
from tests.browser.conftest import PHONE, WIDE, SignedIn
from tests.browser.nasty import World, make_world
from tests.conftest import Site
from tests.every_page import addresses

SIZES = {"wide": WIDE, "phone": PHONE}
LOOKS = [("wide", "dark", "narrow"), ("phone", "light", "wide")]
if int(os.environ.get("SCALE", "1")) > 1:
    LOOKS += [("wide", "light", "wide"), ("phone", "dark", "narrow")]

N_PARTS = 3
"""Every third page, so that no single test is long."""
LEAST_PAGES, LEAST_NASTY = 50, 25


@pytest.fixture
def world(live_site: Site) -> World:
    return make_world()


@pytest.mark.parametrize("part", range(N_PARTS))
@pytest.mark.parametrize(("size", "scheme", "font"), LOOKS)
def test_every_page(signed_in: SignedIn, world: World, size: str, scheme: str, part: int) -> None:
    wrong: list[str] = []
    people: dict[str, User | None] = {"nobody": None, "owner": world.owner, "annotator": world.annotator}
    pages = {who: signed_in(user, viewport=SIZES[size], color_scheme=scheme) for who, user in people.items()}
    for page in pages.values():
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(f"dialog {dialog.message}"))
    todo = [
        (address.who, address.path)
        for address in addresses(world.samples, owner=world.owner, annotator=world.annotator)
    ]
    todo += [("owner", f"/p/{world.samples['slug']}/{path}") for path in world.more]
    assert len(todo) >= LEAST_PAGES
    n_nasty = 0
    for who, path in todo[part::N_PARTS]:
        wrong += [f"{who} {path}: {fault}" for fault in faults(pages[who], path, SIZES[size]["width"])]
        n_nasty += "__xss" in pages[who].content()
    assert not wrong, "\n".join(wrong)
    assert n_nasty >= LEAST_NASTY // N_PARTS


def faults(page: Page, path: str, width: int) -> list[str]:
    answer = page.goto(path)
    found = [] if answer is not None and answer.status == 200 else [f"status {answer and answer.status}"]
    if page.evaluate("window.__xss") is not None or page.locator("[onload], [onerror]").count():
        found.append("a text became a part of the page")
    if (broad := page.evaluate("document.documentElement.scrollWidth")) > width:
        found.append(f"{broad} pixels wide")
    return found + axe.faults(page)
