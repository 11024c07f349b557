"""Every page, with nasty text in every column: it answers, runs nothing, fits, and axe finds nothing."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, ViewportSize

from projects.models import User
from tests.browser import axe, faint_text
from tests.browser.conftest import PHONE, WIDE, SignedIn
from tests.browser.nasty import World, make_world
from tests.conftest import Site
from tests.every_page import addresses

LOOKS = {"dark": WIDE, "light": PHONE}
"""One visit shows a page in both, so that none is fetched twice. Contrast is looked at in both, the rest of what axe
finds in one of them, or in both.
"""
NARROW = ViewportSize(width=320, height=640)
"""A screen of 1280 pixels at 400 %: no page needs scrolling sideways there (WCAG 1.4.10)."""
SCALE = int(os.environ.get("SCALE", "1"))
FONTS = ["wide"]
if SCALE > 1:
    FONTS.append("narrow")

N_PARTS = 3
"""Every third page, so that no single test is long."""
LEAST_PAGES, LEAST_NASTY = 50, 25
LOOK = """() => {
  const inputs = [...document.querySelectorAll(".form-row > .field > :is(input, select):last-child")];
  const ends = Map.groupBy(inputs, (e) => e.closest(".form-row"));
  const isUneven = (row) => row.some((e) => row.some((other) =>
    e.parentElement.offsetTop === other.parentElement.offsetTop
    && Math.abs(e.getBoundingClientRect().bottom - other.getBoundingClientRect().bottom) > 1));
  const fields = document.querySelectorAll(
    "input:not([type=hidden], [type=checkbox], [type=radio], [type=range]), select, textarea:read-write"
  );
  const small = innerWidth < 640 ? [...fields].filter((e) => parseFloat(getComputedStyle(e).fontSize) < 16) : [];
  return [
    "__xss" in window || document.querySelector("[onload], [onerror]") !== null,
    document.documentElement.scrollWidth,
    [...ends.values()].filter(isUneven).length,
    small.map((e) => e.name || e.id),
  ];
}"""
"""JavaScript: whether a text became a part of the page, how broad that is, in how many rows of forms the inputs are
on different lines, and which fields have a text so small that an iPhone enlarges the page around them. A locator would
first give each page the script that finds elements, which takes longer than to look.
"""


@pytest.fixture
def world(live_site: Site) -> World:
    return make_world()


@pytest.mark.parametrize("part", range(N_PARTS))
@pytest.mark.parametrize("font", FONTS)
def test_every_page(signed_in: SignedIn, world: World, part: int) -> None:
    wrong: list[str] = []
    people: dict[str, User | None] = {"nobody": None, "owner": world.owner, "annotator": world.annotator}
    pages = {who: signed_in(user) for who, user in people.items()}
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
    for number, (who, path) in enumerate(todo[part::N_PARTS]):
        # Every other page is fetched on the phone, for what it does only when it starts there.
        looks = list(LOOKS.items())[:: -1 if number % 2 else 1]
        wrong += [f"{who} {path}: {fault}" for fault in faults(pages[who], path, looks)]
        n_nasty += pages[who].evaluate("document.documentElement.outerHTML.includes('__xss')")
    assert not wrong, "\n".join(wrong)
    assert n_nasty >= LEAST_NASTY // N_PARTS


def faults(page: Page, path: str, looks: list[tuple[Any, dict[str, int]]]) -> Iterator[str]:
    for is_first, (scheme, size) in zip((True, False), looks, strict=True):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # no colour on its way from one to the other
        page.set_viewport_size(ViewportSize(width=size["width"], height=size["height"]))
        if is_first:
            answer = page.goto(path)
            if answer is None or answer.status != 200:
                yield f"status {answer and answer.status}"
        is_hurt, broad, n_uneven, small = page.evaluate(LOOK)
        if is_hurt:
            yield "a text became a part of the page"
        if n_uneven:
            yield f"{scheme}: inputs of {n_uneven} rows on different lines"
        if small:
            yield f"{scheme}: small text in {', '.join(small)}"
        if broad > size["width"]:
            yield f"{scheme}: {broad} pixels wide"
        looks_with_axe = is_first or SCALE > 1
        found = axe.faults(page) if looks_with_axe else faint_text.find_faint(page)
        yield from (f"{scheme}: {fault}" for fault in found)
    page.set_viewport_size(NARROW)
    if (broad := page.evaluate("document.documentElement.scrollWidth")) > NARROW["width"]:
        yield f"{broad} pixels wide on {NARROW['width']}"
