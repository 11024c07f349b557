"""Forced colours and more contrast: pictures show what is chosen, current or done, which axe can't see."""

import base64
import os
from itertools import combinations
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import FloatRect, Locator, Page

from annotate.models import QualityRules, Review
from annotate.reviews import spot_checks
from projects.models import Membership
from tests.annotate.open_batches import open_batch
from tests.annotate.qualification.factories import make_test
from tests.annotate.quality.scripted_annotators import GOOD, work
from tests.browser import axe
from tests.browser.conftest import SignedIn
from tests.browser.rating import start, wait_for_keys
from tests.browser.test_rating_keys import scales

LOOKS: dict[str, dict[str, Any]] = {
    "forced": {"forced_colors": "active"},
    "more-dark": {"contrast": "more", "color_scheme": "dark"},
}
if int(os.environ.get("SCALE", "1")) > 1:
    LOOKS["forced-dark"] = {"forced_colors": "active", "color_scheme": "dark"}
    LOOKS["more"] = {"contrast": "more"}
CLEARLY = 0.01
"""The share of a picture's pixels that must look quite different."""

DIFFERENCE = """async (pictures) => {
  const pixels = await Promise.all(pictures.map(async (picture) => {
    const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${picture}`)).blob());
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    canvas.drawImage(bitmap, 0, 0);
    return canvas.getImageData(0, 0, bitmap.width, bitmap.height);
  }));
  const [one, other] = pixels;
  const [width, height] = [Math.min(one.width, other.width), Math.min(one.height, other.height)];
  let n = 0;
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const differs = (channel) => Math.abs(one.data[4 * (y * one.width + x) + channel]
        - other.data[4 * (y * other.width + x) + channel]) > 80;
      if ([0, 1, 2].some(differs)) n += 1;
    }
  }
  return n / (width * height);
}"""
"""JavaScript: the share of pixels that differ much between two pictures, in the part that both have."""


class Pictures:
    """Takes pictures of a page, and compares them in an empty one."""

    def __init__(self, page: Page) -> None:
        self.page, self.empty = page, page.context.new_page()
        page.bring_to_front()

    def take(self, element: Locator, air: int = 0) -> bytes:
        element.scroll_into_view_if_needed()
        box = element.bounding_box()
        assert box is not None
        clip: FloatRect = {
            "x": max(box["x"] - air, 0),
            "y": max(box["y"] - air, 0),
            "width": box["width"] + 2 * air,
            "height": box["height"] + 2 * air,
        }
        return self.page.screenshot(clip=clip, animations="disabled")

    def difference(self, one: bytes, other: bytes) -> float:
        found: float = self.empty.evaluate(DIFFERENCE, [base64.b64encode(each).decode() for each in (one, other)])
        return found


@pytest.fixture(params=LOOKS)
def look(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"reduced_motion": "reduce", **LOOKS[request.param]}


@pytest.fixture
def rating(signed_in: SignedIn, annotator: Membership, look: dict[str, Any]) -> Pictures:
    open_batch(annotator.project, n_hits=1, n_items=10)
    page = signed_in(annotator.user, **look)
    start(page, annotator.project)
    wait_for_keys(page)
    return Pictures(page)


def test_the_chosen_rating_and_the_current_answer_are_seen(rating: Pictures) -> None:
    page = rating.page
    point, number = page.locator("#item0 .point").nth(3), page.locator("#item0 .item-number")
    item = page.locator("#item0")
    before = [rating.take(element, air) for element, air in ((point, 0), (number, 0), (item, 6))]
    page.keyboard.press("4")
    page.mouse.move(0, 0)
    after = [rating.take(element) for element in (point, number)]
    assert rating.difference(before[0], after[0]) > 0.3
    assert rating.difference(before[1], after[1]) > 0.3
    page.keyboard.press("k")
    page.keyboard.press("Backspace")
    page.keyboard.press("j")
    page.locator("#item0").evaluate("(item) => document.activeElement.blur()")
    assert rating.difference(before[2], rating.take(item, 6)) > CLEARLY


def test_progress_is_seen(rating: Pictures) -> None:
    page, bar = rating.page, rating.page.locator(".rate-count progress")
    pictures = {}
    for n in range(1, 8):
        page.keyboard.press(str(1 + n % 5))
        if n in (3, 7):
            pictures[n] = rating.take(bar)
    assert rating.difference(pictures[3], pictures[7]) > 0.2


def test_flags_and_saving_are_seen(rating: Pictures) -> None:
    page = rating.page
    flag, saved = page.locator("#item0 .flag"), page.locator("[data-saving]")
    before = rating.take(flag)
    page.locator("[name=flag0]").evaluate("(flag) => (flag.checked = true)")
    assert rating.difference(before, rating.take(flag)) > CLEARLY
    dots = []
    for state in ("saved", "saving", "kept"):
        saved.evaluate(
            "(line, state) => { line.dataset.state = state; line.style.width = '8px'; line.textContent = ''; }", state
        )
        dots.append(rating.take(saved))
    assert rating.difference(dots[0], dots[1]) > CLEARLY
    assert rating.difference(dots[0], dots[2]) > CLEARLY


def test_the_criterion_and_the_slider_are_seen(
    signed_in: SignedIn, annotator: Membership, look: dict[str, Any]
) -> None:
    scales(annotator.project, (1, 5), (1, 5), (0, 100))
    open_batch(annotator.project, n_hits=1, n_items=2)
    page = signed_in(annotator.user, **look)
    start(page, annotator.project)
    wait_for_keys(page)
    pictures = Pictures(page)
    first = page.locator("#item0 .criterion-name strong").first
    before = pictures.take(first, 6)
    page.keyboard.press("j")
    assert pictures.difference(before, pictures.take(first, 6)) > CLEARLY
    slider = page.locator("#item0 input[type=range]")
    before = pictures.take(slider)
    page.locator("#item0 input[data-number]").fill("70")
    after = pictures.take(slider)
    assert pictures.difference(before, after) > CLEARLY / 2
    page.locator("#item0 input[data-number]").fill("20")
    assert pictures.difference(after, pictures.take(slider)) > CLEARLY / 2


def test_the_test_page_shows_the_chosen_rating(
    signed_in: SignedIn, annotator: Membership, look: dict[str, Any]
) -> None:
    make_test(annotator.project, n_items=4)
    page = signed_in(annotator.user, **look)
    page.goto(f"/p/{annotator.project.slug}/qualification/")
    page.get_by_role("button", name="Start the test").click()
    wait_for_keys(page)
    pictures, point = Pictures(page), page.locator(".item .point").nth(2)
    before = pictures.take(point)
    page.keyboard.press("3")
    page.mouse.move(0, 0)
    assert pictures.difference(before, pictures.take(point)) > 0.3


def test_a_spot_check_shows_the_chosen_rating(
    signed_in: SignedIn, annotator: Membership, manager: Membership, look: dict[str, Any]
) -> None:
    project = annotator.project
    open_batch(project, n_hits=1)
    work(annotator, GOOD)
    QualityRules.objects.create(project=project, spot_check_share=0.0, spot_check_floor=1, seed=11)
    assert spot_checks.draw_spot_checks(project=project) == 1
    page = signed_in(manager.user, **look)
    page.goto(reverse("annotate:review-show", args=[project.slug, Review.objects.get().pk]))
    pictures, point = Pictures(page), page.locator(".item .point").nth(2)
    before = pictures.take(point)
    page.locator(".item input[type=radio]").nth(2).check(force=True)
    page.locator("body").evaluate("() => document.activeElement.blur()")
    page.mouse.move(0, 0)
    assert pictures.difference(before, pictures.take(point)) > 0.3


def test_progress_and_states_of_managers_are_seen(
    signed_in: SignedIn, manager: Membership, look: dict[str, Any]
) -> None:
    """A page of batches: 3 of 10 is not 7 of 10, a state is not another, and the current page stands out."""
    batch = open_batch(manager.project, n_hits=2)
    page = signed_in(manager.user, **look)
    page.goto(f"/p/{manager.project.slug}/batches/{batch.number}/")
    pictures, bar = Pictures(page), page.locator("progress").first
    seen = []
    for value in (3, 7):
        bar.evaluate("(bar, value) => { bar.max = 10; bar.value = value; }", value)
        seen.append(pictures.take(bar))
    assert pictures.difference(*seen) > 0.2
    dot = page.locator(".status").first
    drawn = {}
    for state in ("draft", "good", "warn", "failed"):
        dot.evaluate("(dot, state) => { dot.className = `status status--${state}`; dot.textContent = ''; }", state)
        drawn[state] = pictures.take(dot)
    for one, other in combinations(drawn, 2):
        assert pictures.difference(drawn[one], drawn[other]) > 0.02, (one, other)


def test_where_one_is_is_seen(signed_in: SignedIn, manager: Membership, look: dict[str, Any]) -> None:
    open_batch(manager.project)
    page = signed_in(manager.user, **look)
    page.goto(f"/p/{manager.project.slug}/batches/")
    pictures = Pictures(page)
    for selector in (".nav-groups [aria-current]", ".nav-pages [aria-current]"):
        page.locator(selector).evaluate("(link, id) => (link.id = id)", selector[1:11].strip())
        current = page.locator(f"#{selector[1:11].strip()}")
        with_mark = pictures.take(current, 2)
        current.evaluate("(link) => { link.removeAttribute('aria-current'); link.style.fontWeight = 600; }")
        assert pictures.difference(with_mark, pictures.take(current, 2)) > CLEARLY, selector


def test_the_menu_and_its_current_language_are_seen(
    signed_in: SignedIn, annotator: Membership, look: dict[str, Any]
) -> None:
    open_batch(annotator.project)
    page = signed_in(annotator.user, **look)
    page.goto(f"/p/{annotator.project.slug}/desk/")
    pictures = Pictures(page)
    page.locator(".header .menu > summary").click()
    language = page.locator(".menu-languages [aria-current]")
    language.evaluate("(button) => (button.id = 'current')")
    with_mark = pictures.take(page.locator("#current"))
    language.evaluate("(button) => button.removeAttribute('aria-current')")
    assert pictures.difference(with_mark, pictures.take(page.locator("#current"))) > CLEARLY
    menu = page.locator(".header .menu-list")
    border = menu.evaluate("(menu) => getComputedStyle(menu).borderTopWidth")
    assert border != "0px"
    if "contrast" in look:  # axe computes with the colours of the page, not with those that the system forces
        assert axe.serious_faults(page) == []
