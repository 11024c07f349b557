"""Faint text is found by the numbers of WCAG 2, and where axe finds it too."""

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.browser.conftest import SignedIn
from tests.browser.faint_text import find_faint

AXE = """() => axe.run({ runOnly: ["color-contrast"] })
  .then(({ violations }) => violations.flatMap(({ nodes }) => nodes.map(({ html }) => html)))"""

ENOUGH = {
    "grey on white, 4.54:1": "<p style='color:#767676'>text</p>",
    "large grey on white, 3.03:1": "<p style='color:#949494;font-size:24px'>text</p>",
    "large and bold": "<p style='color:#949494;font-size:18.7px;font-weight:700'>text</p>",
    "white on a dark box": "<div style='background:#eee'><p style='background:#333;color:#fff'>text</p></div>",
    "a colour of another space": "<p style='color:oklch(0.4 0.1 250)'>text</p>",
    "a veil that darkens enough": "<div style='background:#000'><p style='background:#fff2;color:#fff'>text</p></div>",
    "nothing to read": "<p style='color:#eee'>&nbsp;· </p>",
    "hidden": "<p style='color:#eee;visibility:hidden'>text</p><p style='color:#eee;opacity:0'>text</p>",
    "switched off": "<button disabled style='color:#eee;background:#fff'>text</button>",
    "what a switched-off field is called": "<label style='color:#eee'>text <input disabled></label>",
}
TOO_FAINT = {
    "grey on white, 4.48:1": "<p style='color:#777'>text</p>",
    "large grey on white, 2.98:1": "<p style='color:#969696;font-size:24px'>text</p>",
    "large but not bold": "<p style='color:#949494;font-size:18.7px'>text</p>",
    "half of black": "<p style='color:rgb(0 0 0 / .5)'>text</p>",
    "all of it half there": "<div style='opacity:.5'><p style='color:#000'>text</p></div>",
    "a box that is half there": "<div style='background:#000;opacity:.3'><p style='color:#fff'>text</p></div>",
    "a veil that lightens": "<div style='background:#000'><p style='background:#fff8;color:#fff'>text</p></div>",
    "a colour of another space": "<p style='color:oklch(0.8 0.1 250)'>text</p>",
    "what is written in a field": "<input aria-label=a value=text style='color:#999;background:#fff'>",
}


@pytest.fixture
def page(signed_in: SignedIn) -> Page:
    page = signed_in(None)
    page.set_content("<!doctype html><html lang=en style='background:#fff'><title>a</title><body>")
    page.evaluate(AXE_SCRIPT)
    return page


def test_text_that_stands_out_is_let_be(page: Page) -> None:
    for name, html in ENOUGH.items():
        assert look(page, html) == (0, 0), name


def test_text_that_is_too_faint_is_found_as_by_axe(page: Page) -> None:
    for name, html in TOO_FAINT.items():
        assert look(page, html) == (1, 1), name


def test_the_contrast_is_said(page: Page) -> None:
    page.evaluate("html => { document.body.innerHTML = html; }", "<p style='color:#777'>text</p>")
    assert find_faint(page) == ['color-contrast: 4.48:1 <p style="color:#777">text</p>']


def look(page: Page, html: str) -> tuple[int, int]:
    """Show this alone; how many texts are too faint, and how many axe takes for too faint."""
    page.evaluate("html => { document.body.innerHTML = html; }", html)
    return len(find_faint(page)), len(page.evaluate(AXE))
