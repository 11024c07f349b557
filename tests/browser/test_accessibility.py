"""What people with little sight, no mouse or large fingers need of every page that annotators come to."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Page, ViewportSize, expect

from annotate.batches.control_plan import ControlPlan
from annotate.controls.making import make_pool
from annotate.moderation import members
from annotate.moderation.members import Exclusion
from projects.models import Membership, Project, User
from tests.annotate.controls.controlled_batches import make_places
from tests.annotate.open_batches import open_batch
from tests.annotate.panels.samples import make_panel
from tests.annotate.payments.paid_work import paid_batch
from tests.annotate.submitted_work import rate
from tests.browser.conftest import PHONE, WITH_NARROW_FONT, WITH_WIDE_FONT, SignedIn
from tests.browser.nasty import World, make_world
from tests.browser.rating import start, wait_for_keys
from tests.browser.targets import CONTROLS, find_small
from tests.conftest import Site
from tests.every_page import addresses
from tests.factories import make_batch
from tests.people import start_session

NARROW: ViewportSize = {"width": 320, "height": 640}
ZOOMED: ViewportSize = {"width": 1280, "height": 800}
MAGNIFIED: list[ViewportSize] = [{"width": 320, "height": 256}, {"width": 720, "height": 450}]
TABLET: ViewportSize = {"width": 900, "height": 700}
MOST_STOPS = 400

BROAD = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

BROKEN = """() => {
  const seen = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const around = node.parentElement;
    if (!around.checkVisibility({ visibilityProperty: true })) continue;
    if (around.closest("script, style, code, .visually-hidden")) continue;
    for (const word of node.data.matchAll(/[\\p{L}\\p{M}\\p{N}’']{2,16}/gu)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const tops = [...range.getClientRects()].filter((box) => box.width > 0.5).map((box) => box.top);
      if (tops.length && Math.max(...tops) - Math.min(...tops) > 6) seen.push(word[0]);
    }
  }
  return seen;
}"""
"""JavaScript: the words of normal length that are broken over two lines."""

FOCUS = """() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const around = [e, e.parentElement, e.closest("fieldset, label, .item")].filter(Boolean);
  const look = () => around.map((each) => {
    const style = getComputedStyle(each);
    return [style.outline, style.boxShadow, style.borderColor, style.backgroundColor].join();
  }).join();
  const withFocus = look();
  e.blur();
  const drawn = look() !== withFocus;
  e.focus({ focusVisible: true, preventScroll: true });
  const box = e.getBoundingClientRect();
  const x = box.left + box.width / 2;
  const y = (Math.max(box.top, 0) + Math.min(box.bottom, innerHeight)) / 2;
  const top = document.elementFromPoint(x, y);
  const isInSight = Boolean(top) && (e.contains(top) || top.contains(e) || e.closest("label")?.contains(top));
  return { html: e.outerHTML.slice(0, 120), drawn, isInSight };
}"""
"""JavaScript: what has the focus, whether that is drawn, and whether nothing lies over it."""


MOVED = """() => {
  const bars = ".rate-bar, .passage-bar, .passage > summary, .passage-edge, .question-line.is-needed";
  return [...document.querySelectorAll(bars)].flatMap((bar) => [bar, ...bar.querySelectorAll("*")]).filter((each) => {
    const before = scrollY;
    each.focus();
    return document.activeElement === each && scrollY !== before;
  }).map((each) => each.outerHTML.slice(0, 120));
}"""
"""JavaScript: what moves the page when it gets the focus, although it stays on the screen."""


@pytest.fixture
def world(live_site: Site) -> World:
    return make_world()


@pytest.fixture
def plain_world(live_site: Site) -> World:
    """The same pages with the words of everyday."""
    return make_world(is_nasty=False)


def annotators_pages(world: World) -> list[tuple[User | None, str]]:
    people: dict[str, User | None] = {"nobody": None, "annotator": world.annotator}
    return [
        (people[address.who], address.path)
        for address in addresses(world.samples, owner=world.owner, annotator=world.annotator)
        if address.who in people
    ]


@WITH_WIDE_FONT
def test_nothing_needs_scrolling_sideways_on_320_pixels_nor_with_text_twice_as_large(
    signed_in: SignedIn, world: World
) -> None:
    wrong = []
    todo = annotators_pages(world)
    assert len(todo) >= 20
    pages = {user: signed_in(user, viewport=NARROW) for user in {user for user, _ in todo}}
    for user, path in todo:
        page = pages[user]
        page.set_viewport_size(NARROW)
        page.goto(path)
        if (broad := page.evaluate(BROAD)) > 0:
            wrong.append(f"{path} at 320 pixels: {broad} pixels too broad")
        page.set_viewport_size(ZOOMED)
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        if (broad := page.evaluate(BROAD)) > 0:
            wrong.append(f"{path} at 200 %: {broad} pixels too broad")
    assert not wrong, "\n".join(wrong)


def test_a_phone_with_a_large_text_breaks_no_word_and_needs_no_scrolling_sideways(
    launch_browser: Callable[..., Browser],
    browser_type_launch_args: dict[str, Any],
    browser_context_args: dict[str, Any],
    live_site: Site,
    plain_world: World,
) -> None:
    """Whoever reads badly chooses a size of text in the browser; 24 pixels is what Chrome calls very large."""
    flags = [*browser_type_launch_args["args"], "--blink-settings=defaultFontSize=24"]
    wrong = []
    with closing(launch_browser(args=flags)) as browser:
        context = browser.new_context(**{**browser_context_args, "base_url": live_site.url, "viewport": NARROW})
        name, value = settings.SESSION_COOKIE_NAME, start_session(plain_world.annotator)
        context.add_cookies([{"name": name, "value": value, "url": live_site.url}])
        page = context.new_page()
        for user, path in annotators_pages(plain_world):
            if user is not None:
                page.goto(path)
                broad, broken = page.evaluate(BROAD), page.evaluate(BROKEN)
                wrong += [f"{path}: {broad} pixels too broad, {broken} broken"] if broad > 0 or broken else []
    assert not wrong, "\n".join(wrong)


@WITH_NARROW_FONT
def test_what_is_pressed_fits_a_finger_on_a_phone_and_a_pointer_elsewhere(signed_in: SignedIn, world: World) -> None:
    todo = annotators_pages(world)
    wrong = []
    for viewport, touch, least in ((PHONE, True, 44), (ZOOMED, False, 24)):
        pages = {user: signed_in(user, viewport=viewport, has_touch=touch) for user in {user for user, _ in todo}}
        for user, path in todo:
            pages[user].goto(path)
            wrong += [f"{path}: {each}" for each in find_small(pages[user], least)]
    assert not wrong, "\n".join(wrong)


@WITH_NARROW_FONT
def test_what_managers_tick_and_unfold_is_large_enough_on_a_phone(
    signed_in: SignedIn, project: Project, manager: Membership
) -> None:
    make_places(project, n_passages=2)
    batch = make_batch(project, controls=ControlPlan(known_per_hit=1))
    make_pool(batch=batch, actor=manager)
    panel = make_panel(manager)
    page = signed_in(manager.user, viewport=PHONE, has_touch=True)
    wrong = []
    for path in (f"batches/{batch.number}/", f"batches/{batch.number}/controls/", f"panels/{panel.number}/"):
        page.goto(f"/p/{project.slug}/{path}")
        wrong += [f"{path}: {each}" for each in page.evaluate(CONTROLS, 24)]
    assert not wrong, "\n".join(wrong)


@WITH_WIDE_FONT
def test_numbers_on_the_desk_are_on_one_line_at_400_percent(
    signed_in: SignedIn, annotator: Membership, manager: Membership
) -> None:
    paid_batch(annotator.project, n_hits=2)
    rate(annotator, 2)
    members.remove(target=annotator, actor=manager, why="Poor.", exclusion=Exclusion())
    page = signed_in(annotator.user, viewport=MAGNIFIED[0])
    page.goto("/desk/")
    tops = page.evaluate(
        "() => [...document.querySelectorAll('.desk-numbers dd')].map((e) => Math.round(e.getBoundingClientRect().top))"
    )
    assert len(tops) == 3
    assert len(set(tops)) == 1


@WITH_WIDE_FONT
@pytest.mark.parametrize(("size", "language"), [(MAGNIFIED[0], "de")], ids=["400 %"])
def test_no_word_is_broken_on_a_page_at_200_and_400_percent(
    signed_in: SignedIn, plain_world: World, size: ViewportSize, language: str
) -> None:
    User.objects.update(language=language)
    todo = annotators_pages(plain_world)
    pages = {user: signed_in(user, viewport=size) for user in {user for user, _ in todo}}
    wrong = []
    for user, path in todo:
        pages[user].goto(path)
        wrong += [f"{path}: {each}" for each in pages[user].evaluate(BROKEN)]
    assert not wrong, "\n".join(dict.fromkeys(wrong))


@pytest.mark.parametrize("size", [ZOOMED, PHONE, *MAGNIFIED], ids=["wide", "phone", "400 %", "200 %"])
def test_the_focus_is_seen_wherever_it_goes_on_the_rating_page(
    signed_in: SignedIn, annotator: Membership, size: dict[str, int]
) -> None:
    open_batch(annotator.project, n_hits=1, n_items=10)
    page = signed_in(annotator.user, viewport=size)
    start(page, annotator.project)
    wait_for_keys(page)
    page.evaluate("document.activeElement.blur()")
    seen = stops(page)
    assert len(seen) > 40
    assert [stop["html"] for stop in seen if not stop["drawn"]] == []
    assert [stop["html"] for stop in seen if not stop["isInSight"]] == []


@pytest.mark.parametrize("is_open", [False, True], ids=["folded", "open"])
@pytest.mark.parametrize("size", [PHONE, TABLET], ids=["phone", "tablet"])
def test_going_back_the_focus_is_not_hidden_under_the_bars_of_the_rating_page(
    signed_in: SignedIn, annotator: Membership, size: dict[str, int], is_open: bool
) -> None:
    open_batch(annotator.project, n_hits=1, n_items=10)
    page = signed_in(annotator.user, viewport=size)
    start(page, annotator.project)
    wait_for_keys(page)
    if is_open:
        page.locator("#passage > summary").click()
    page.locator(".give-back summary").focus()
    seen = stops(page, "Shift+Tab")
    assert len(seen) > 40
    assert [stop["html"] for stop in seen if not stop["isInSight"]] == []


@pytest.mark.parametrize("size", [PHONE, TABLET, ZOOMED], ids=["phone", "tablet", "wide"])
def test_the_focus_in_a_bar_that_stays_moves_nothing(
    signed_in: SignedIn, annotator: Membership, size: dict[str, int]
) -> None:
    open_batch(annotator.project, n_hits=1, n_items=10)
    page = signed_in(annotator.user, viewport=size)
    start(page, annotator.project)
    wait_for_keys(page)
    page.evaluate("scrollTo(0, 900)")
    expect(page.locator(".question-line.is-needed")).to_have_count(1)
    assert page.evaluate(MOVED) == []


def stops(page: Page, key: str = "Tab") -> list[dict[str, str | bool]]:
    """Every stop of the tab key from one end of the page to the other, which it must reach."""
    found: list[dict[str, str | bool]] = []
    for _ in range(MOST_STOPS):
        page.keyboard.press(key)
        stop = page.evaluate(FOCUS)
        if stop is None:
            return found
        found.append(stop)
    raise AssertionError("The tab key goes round and round.")


def test_the_statement_can_be_reached_from_every_kind_of_page(signed_in: SignedIn, annotator: Membership) -> None:
    for user, path in ((None, "/sign-in/"), (annotator.user, "/desk/")):
        page = signed_in(user)
        page.goto(path)
        page.locator("footer").get_by_role("link", name="Accessibility").click()
        expect(page.get_by_role("heading", name="Accessibility", exact=True)).to_be_visible()
