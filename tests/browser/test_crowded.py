"""Small targets are found by the distances of WCAG 2.2, and where axe finds them too."""

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.browser.conftest import SignedIn
from tests.browser.crowded import find_crowded

AXE = """() => axe.run({ runOnly: ["target-size"] })
  .then(({ violations }) => violations.flatMap(({ nodes }) => nodes.map(({ html }) => html)))"""
STYLE = "<style>button{padding:0;border:0;margin:0;font:10px/1 sans-serif;width:20px;height:20px}</style>"
A, B = "<button>A</button>", "<button>B</button>"
ROW = "<div style='display:flex;gap:{}px'>"

ENOUGH = {
    "24 pixels": "<div style='display:flex'>" + A.replace("<button", "<button style='width:24px;height:24px'") * 2,
    "small but apart": ROW.format(4) + A + B,
    "small beside a large one": ROW.format(2) + A + B.replace("<button", "<button style='width:80px;height:80px'"),
    "a link in a sentence": "<p style='line-height:1'>See <a href=/a>A</a> and <a href=/b>B</a>.</p>",
    "hidden": ROW.format(0) + A + B.replace("<button", "<button style='visibility:hidden'"),
    "switched off": ROW.format(0) + A + B.replace("<button", "<button disabled"),
    "alone": A,
}
CROWDED = {
    "side by side": (ROW.format(0) + A + B, 2),
    "3 pixels apart": (ROW.format(3) + A + B, 2),
    "touching a large one": (ROW.format(0) + A + B.replace("<button", "<button style='width:80px;height:80px'"), 1),
    "one above the other": ("<div style='display:grid'>" + A + B, 2),
    "links without a sentence": (ROW.format(2) + "<a href=/a>A</a><a href=/b>B</a>", 2),
    "three": (ROW.format(0) + A + B + A, 3),
}


@pytest.fixture
def page(signed_in: SignedIn) -> Page:
    page = signed_in(None)
    page.set_content(f"<!doctype html><html lang=en><title>a</title>{STYLE}<body>")
    page.evaluate(AXE_SCRIPT)
    return page


def test_targets_that_are_large_or_apart_are_let_be(page: Page) -> None:
    for name, html in ENOUGH.items():
        assert look(page, html) == (0, 0), name


def test_small_targets_that_are_too_close_are_found_as_by_axe(page: Page) -> None:
    for name, (html, n) in CROWDED.items():
        assert look(page, html) == (n, n), name


def test_the_size_is_said(page: Page) -> None:
    page.evaluate("html => { document.body.innerHTML = html; }", ROW.format(0) + A + B)
    assert find_crowded(page)[0] == "target-size: 20×20 <button>A</button>"


def look(page: Page, html: str) -> tuple[int, int]:
    """Show this alone; how many targets are too close, and how many axe takes for too close."""
    page.evaluate("html => { document.body.innerHTML = html; }", html)
    return len(find_crowded(page)), len(page.evaluate(AXE))
