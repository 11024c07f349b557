"""Texts longer than the screen: they are seen whole, read to their end, and the question stays in reach."""

import os
from itertools import count
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotate.models import Draft
from projects.models import Membership, Project
from tests.annotate.open_batches import add_hit, open_batch
from tests.browser.conftest import LAPTOP, PHONE, WIDE, ZOOMED, SignedIn
from tests.browser.rating import start, wait_for_keys
from tests.factories import make_candidates, make_dataset, make_passage, make_question

SCREENS = {"laptop": LAPTOP, "phone": PHONE, "zoomed": ZOOMED}
if int(os.environ.get("SCALE", "1")) > 1:
    SCREENS["wide"] = WIDE
FORMS = pytest.mark.parametrize("viewport", SCREENS.values(), ids=SCREENS)

_numbers = count(1)


def long_text(n_words: int) -> str:
    return " ".join(f"word{next(_numbers)}" for _ in range(n_words)) + " the end."


def start_long(page: Page, project: Project, *, n_references: int = 3, **over: Any) -> None:
    """A HIT of three answers, each about three screens long."""
    size = page.viewport_size
    assert size is not None
    n_words = size["width"] * size["height"] // 1200 + 60
    batch = open_batch(project, n_hits=0, **over)
    passage = make_passage(make_dataset(project), text="A first line.\n\n\n \n\t\n\n\nA last line.")
    references = tuple(f"Reference text {n}: {long_text(20)}" for n in range(n_references))
    question = make_question(passage, references=references)
    candidates = [make_candidates(question, text=long_text(n_words))[0] for _ in range(3)]
    add_hit(batch, candidates, 0)
    start(page, project)
    wait_for_keys(page)


def rated(page: Page) -> str:
    return page.locator("[data-count]").inner_text()


def rest(page: Page) -> None:
    """Wait until the page no longer moves."""
    page.evaluate(
        """() => new Promise((done) => {
          let last = -1, n = 0;
          const look = () => {
            n = scrollY === last ? n + 1 : 0;
            last = scrollY;
            if (n > 5) done(); else requestAnimationFrame(look);
          };
          look();
        })"""
    )


def press(page: Page, key: str) -> None:
    page.keyboard.press(key)
    rest(page)


def read_on(page: Page) -> None:
    """Press ↓ until the last line of the current answer is on screen."""
    for _ in range(200):
        if page.evaluate(END_IS_SEEN):
            return
        press(page, "ArrowDown")
    pytest.fail("The end of the answer never came.")


END_IS_SEEN = """() => {
  const { bottom } = document.querySelector('.item.is-current .candidate').getBoundingClientRect();
  const acts = document.querySelector('.rate-acts');
  const cover = getComputedStyle(acts).position === 'fixed' ? acts.offsetHeight : 0;
  return bottom <= innerHeight - cover - 10;
}"""


SIZED = """(height) => document.querySelectorAll(".candidate").forEach((each, place) => {
  each.textContent = "Word";
  if (place) each.style.minHeight = `${height}px`;
})"""
"""JavaScript: the first answer is a word, the others are this many pixels high."""


@FORMS
def test_nothing_to_rate_or_to_compare_with_is_cut(
    signed_in: SignedIn, annotator: Membership, viewport: dict[str, int]
) -> None:
    page = signed_in(annotator.user, viewport=viewport)
    start_long(page, annotator.project, n_references=30)
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.candidate, .question-head, .question-head .text')]
          .filter((each) => each.scrollHeight > each.clientHeight + 1)
          .map((each) => each.textContent.trim().slice(0, 60))"""
    )
    assert cut == []
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


@FORMS
def test_a_digit_rates_only_what_was_read_to_its_end(
    signed_in: SignedIn, annotator: Membership, viewport: dict[str, int]
) -> None:
    page = signed_in(annotator.user, viewport=viewport)
    start_long(page, annotator.project)
    press(page, "4")
    assert rated(page) == "0"
    expect(page.locator("[data-note]")).to_contain_text("Read to the end of this answer first")
    start_of_text = page.locator(".item.is-current .candidate").bounding_box()
    assert start_of_text is not None
    assert 0 <= start_of_text["y"] < viewport["height"]
    read_on(page)
    press(page, "4")
    assert rated(page) == "1"
    # the next answer is shown from its start, below the bars
    expect(page.locator("#item1.is-current")).to_be_visible()
    following = page.locator("#item1").bounding_box()
    line = page.locator(".question-line-box").bounding_box()
    assert following is not None
    assert line is not None
    assert line["y"] + line["height"] - 1 <= following["y"] < viewport["height"] / 2
    press(page, "4")
    assert rated(page) == "1"


def test_what_was_read_is_remembered(signed_in: SignedIn, annotator: Membership) -> None:
    page = signed_in(annotator.user, viewport=LAPTOP)
    start_long(page, annotator.project)
    press(page, "4")
    read_on(page)
    with page.expect_response(lambda response: response.url.endswith("/draft/")):
        pass
    assert list(Draft.objects.get().answers["read"]) == ["0"]
    page.reload()
    wait_for_keys(page)
    press(page, "4")
    assert rated(page) == "1"


def test_a_batch_may_let_long_answers_be_rated_at_once(signed_in: SignedIn, annotator: Membership) -> None:
    page = signed_in(annotator.user, viewport=LAPTOP)
    start_long(page, annotator.project, must_read_to_end=False)
    press(page, "4")
    assert rated(page) == "1"


def test_a_key_shown_twice_goes_through_an_answer_and_back(signed_in: SignedIn, annotator: Membership) -> None:
    page = signed_in(annotator.user, viewport=LAPTOP)
    start_long(page, annotator.project)
    press(page, "4")
    read_on(page)
    press(page, "ArrowDown")
    expect(page.locator("#item1.is-current")).to_be_visible()
    press(page, "ArrowUp")
    expect(page.locator("#item0.is-current")).to_be_visible()


def test_an_answer_as_long_as_the_screen_is_read_by_keys_as_well(signed_in: SignedIn, annotator: Membership) -> None:
    """Its text fits between the bars, but not together with the line above it."""
    page = signed_in(annotator.user, viewport=PHONE, reduced_motion="reduce")
    start_long(page, annotator.project)
    for height in range(500, 680, 30):
        page.locator("#item0").focus()
        page.evaluate(SIZED, height)
        press(page, "j")
        expect(page.locator("#item1.is-current")).to_be_visible()
        read_on(page)
        expect(page.locator("#item1.is-current")).to_be_visible()
        page.evaluate("scrollTo(0, 0)")


@FORMS
def test_the_question_stays_in_reach_below_its_references(
    signed_in: SignedIn, annotator: Membership, viewport: dict[str, int]
) -> None:
    page = signed_in(annotator.user, viewport=viewport)
    start_long(page, annotator.project, n_references=30)
    expect(page.locator(".question-line-box")).to_be_hidden()
    press(page, "4")
    expect(page.locator(".question-line-box")).to_be_visible()
    opener = page.locator("[data-question-open]")
    expect(opener).to_contain_text("Where did the cat sit?")
    expect(opener).to_contain_text("30 references")
    page.keyboard.press("q")
    panel = page.locator(".question-panel")
    expect(panel).to_be_visible()
    expect(panel.locator(".reference")).to_have_count(30)
    current = page.locator(".item.is-current").get_attribute("id")
    page.keyboard.press("End")
    expect(panel.locator(".reference").last).to_be_in_viewport(ratio=0.5)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    expect(panel.locator("h2").first).to_be_in_viewport()
    assert page.locator(".item.is-current").get_attribute("id") == current
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    opener.click()
    expect(panel).to_be_visible()
    page.locator(".item.is-current .candidate").dispatch_event("pointerdown")
    expect(panel).to_be_hidden()


def test_the_bars_leave_room_at_400_percent(signed_in: SignedIn, annotator: Membership) -> None:
    page = signed_in(annotator.user, viewport=ZOOMED)
    start_long(page, annotator.project)
    press(page, "4")
    covered = page.evaluate(
        """() => [...document.querySelectorAll('*')]
          .filter((each) => ['fixed', 'sticky'].includes(getComputedStyle(each).position) && !each.hidden)
          .map((each) => (each.matches('.question-line') ? each.firstElementChild : each).getBoundingClientRect())
          .filter((box) => box.height && box.bottom > 0 && box.top < innerHeight)
          .reduce((sum, box) => sum + Math.min(box.bottom, innerHeight) - Math.max(box.top, 0), 0)"""
    )
    note = page.locator("[data-note]").bounding_box()
    assert covered - (note["height"] if note else 0) <= 0.25 * ZOOMED["height"]


def test_at_400_percent_the_line_leads_to_the_passage_and_back(signed_in: SignedIn, annotator: Membership) -> None:
    page = signed_in(annotator.user, viewport=ZOOMED)
    start_long(page, annotator.project)
    press(page, "4")
    before = page.evaluate("scrollY")
    page.locator("[data-to-passage]").evaluate("(each) => each.click()")  # the mouse's click would move the page first
    expect(page.locator(".passage-text")).to_be_in_viewport()
    press(page, "j")
    expect(page.locator(".passage-text")).not_to_be_in_viewport()
    assert abs(page.evaluate("scrollY") - before) < 40


def test_answers_without_words_say_so_and_blank_lines_are_folded(signed_in: SignedIn, annotator: Membership) -> None:
    batch = open_batch(annotator.project, n_hits=0)
    passage = make_passage(make_dataset(annotator.project), text="A first line.\n\n\n \n\t\n\n\nA last line.")
    question = make_question(passage)
    texts = ["", "  \n ", "\u200b\u2060\ufeff", "\u3164", "No."]
    add_hit(batch, [make_candidates(question, text=text)[0] for text in texts], 0)
    page = signed_in(annotator.user)
    start(page, annotator.project)
    wait_for_keys(page)
    shown = sorted(page.locator(".candidate").all_inner_texts())
    assert shown == ["(empty answer)"] * 4 + ["No."]
    assert page.locator(".passage-text").inner_text() == "A first line.\n\nA last line."


def test_the_size_of_the_text_is_that_of_all_texts(signed_in: SignedIn, annotator: Membership) -> None:
    page = signed_in(annotator.user)
    open_batch(annotator.project, n_hits=1)
    start(page, annotator.project)
    wait_for_keys(page)
    texts = (".candidate", ".question-head h2", ".reference .text", ".passage-text")
    sizes = "(each) => parseFloat(getComputedStyle(each).fontSize)"
    before = [page.locator(each).first.evaluate(sizes) for each in texts]
    page.get_by_role("button", name="Larger text").click()
    after = [page.locator(each).first.evaluate(sizes) for each in texts]
    assert all(one < other for one, other in zip(before, after, strict=True))
    page.reload()
    wait_for_keys(page)
    assert [page.locator(each).first.evaluate(sizes) for each in texts] == after
