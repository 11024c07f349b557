"""The “?” beside a figure: its sentence opens by mouse, touch and key, is read out, and is whole on every screen."""

import pytest
from playwright.sync_api import Locator, Page, expect

from projects.models import Membership
from projects.web.glossary import GLOSSARY
from tests.browser.conftest import PHONE, WIDE, SignedIn
from tests.factories import make_batch, make_corpus

NARROWEST = {"width": 320, "height": 256}

BELOW_THEIR_LABEL = """(labels) => labels.filter((label) => {
  const range = document.createRange();
  range.selectNodeContents(label.firstChild);
  const line = [...range.getClientRects()].at(-1), hint = label.querySelector(".hint > span").getBoundingClientRect();
  return hint.top >= line.bottom;
}).map((label) => label.textContent.trim())"""
"""JavaScript: the labels of figures whose hint has a line of its own."""


@pytest.fixture
def batch_page(owner: Membership) -> str:
    make_corpus(owner.project)
    return f"/p/{owner.project.slug}/batches/{make_batch(owner.project).number}/"


def hint(page: Page, key: str) -> tuple[Locator, Locator]:
    """The button and the sentence of the first of these on a page."""
    button = page.get_by_role("button", name=f"About {GLOSSARY[key].term}", exact=True).first
    return button, page.locator(f"#{button.get_attribute('popovertarget')}")


@pytest.mark.parametrize("size", [WIDE, PHONE, NARROWEST])
def test_a_sentence_opens_and_closes_without_a_script(
    signed_in: SignedIn, owner: Membership, batch_page: str, size: dict[str, int]
) -> None:
    page = signed_in(owner.user, viewport=size, has_touch=True, java_script_enabled=False)
    page.goto(batch_page)
    button, sentence = hint(page, "batch-unfilled")
    expect(sentence).to_be_hidden()
    button.tap()
    expect(sentence).to_be_visible()
    expect(sentence).to_have_text(GLOSSARY["batch-unfilled"].sentence)
    expect(sentence).to_be_in_viewport(ratio=1)
    page.keyboard.press("Escape")
    expect(sentence).to_be_hidden()


def test_it_is_reached_by_keyboard_and_read_out(signed_in: SignedIn, owner: Membership, batch_page: str) -> None:
    page = signed_in(owner.user)
    page.goto(batch_page)
    button, sentence = hint(page, "batch-unfilled")
    expect(button).to_have_accessible_description(GLOSSARY["batch-unfilled"].sentence)
    button.focus()
    page.keyboard.press("Enter")
    expect(sentence).to_be_visible()
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(sentence).to_be_hidden()


def test_the_last_column_of_a_wide_table_is_explained_within_the_window(
    signed_in: SignedIn, owner: Membership, batch_page: str
) -> None:
    page = signed_in(owner.user, viewport=PHONE, has_touch=True)
    page.goto(batch_page)
    button = page.locator("th .hint").last
    button.tap()
    sentence = page.locator(f"#{button.get_attribute('popovertarget')}")
    expect(sentence).to_be_visible()
    expect(sentence).to_be_in_viewport(ratio=1)


def test_a_narrow_figure_keeps_its_hint_beside_the_last_line_of_its_label(
    signed_in: SignedIn, owner: Membership, batch_page: str
) -> None:
    page = signed_in(owner.user, viewport=PHONE)
    page.goto(batch_page)
    labels = page.locator(".stat-label:has(.hint)")
    assert labels.count() > 1
    for width in range(6, 12):
        labels.evaluate_all(
            "(found, width) => found.forEach((label) => { label.parentElement.style.flex = `0 0 ${width}rem`; })", width
        )
        assert labels.evaluate_all(BELOW_THEIR_LABEL) == [], width
