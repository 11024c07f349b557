"""Browsers of 2023, as on phones that get no newer one: a HIT is rated as everywhere, in light colours."""

import pytest
from playwright.sync_api import Page, Route, expect

from annotate.models import Judgment
from projects.models import Membership
from tests.annotate.open_batches import open_batch
from tests.browser.conftest import LAPTOP, PHONE, SignedIn
from tests.browser.rating import start, wait_for_keys

WITHOUT = """
  delete AbortSignal.any;
  delete window.requestIdleCallback;
  delete CSS.highlights;
  for (const act of ["showPopover", "hidePopover", "togglePopover"]) delete HTMLElement.prototype[act];
"""
"""JavaScript: takes away what browsers got later, besides what the styles ask for."""
LATER = ("light-dark(", ":popover-open", "animation-timeline", "text-wrap", "field-sizing")
ACCENT, ON_ACCENT = "rgb(9, 92, 107)", "rgb(255, 255, 255)"


def serve_older_styles(route: Route) -> None:
    serve_without(LATER, route)


def serve_styles_without_has(route: Route) -> None:
    serve_without((*LATER, ":has("), route)


def serve_without(names: tuple[str, ...], route: Route) -> None:
    response = route.fetch()
    text = response.text()
    for name in names:
        text = text.replace(name, f"{name[0]}un{name[1:]}")
    route.fulfill(response=response, body=text)


def colours(page: Page, selector: str) -> tuple[str, str]:
    background, colour = page.eval_on_selector(
        selector, "(e) => [getComputedStyle(e).backgroundColor, getComputedStyle(e).color]"
    )
    return background, colour


@pytest.mark.parametrize("screen", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_a_hit_is_rated_and_every_choice_is_seen(
    signed_in: SignedIn, annotator: Membership, screen: dict[str, int]
) -> None:
    open_batch(annotator.project, n_hits=1, n_items=2)
    page = signed_in(annotator.user, viewport=screen, color_scheme="dark", reduced_motion="reduce")
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.add_init_script(WITHOUT)
    page.route("**/*.css", serve_older_styles)
    start(page, annotator.project)
    wait_for_keys(page)
    page.locator("#item0 .point").nth(3).click()
    chosen, other = (colours(page, f"#item0 .point:nth-child({n})") for n in (4, 3))
    assert chosen == (ACCENT, ON_ACCENT)
    assert other[0] == "rgb(255, 255, 255)"
    assert colours(page, "body")[0] == "rgb(246, 247, 248)"
    page.locator("#item1").focus()
    page.keyboard.press("2")
    expect(page.locator("[data-saving]")).to_contain_text("Saved")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/desk/")
    assert set(Judgment.objects.values_list("value", flat=True)) == {2, 4}
    assert faults == []


def test_the_chosen_point_is_seen_where_has_is_not_known(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1, n_items=2)
    page = signed_in(annotator.user, viewport=LAPTOP)
    page.route("**/*.css", serve_styles_without_has)
    start(page, annotator.project)
    wait_for_keys(page)
    radio = page.locator("#item0 [type=radio]")
    page.locator("#item0 .point").nth(3).click()
    assert [each.evaluate("(e) => getComputedStyle(e).opacity") for each in radio.all()] == ["0", "0", "0", "1", "0"]
    box = radio.nth(3).bounding_box()
    assert box
    assert box["width"] == box["height"] == 16
    page.locator("#item0 .point").nth(1).click()
    assert radio.nth(1).is_checked()
