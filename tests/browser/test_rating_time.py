"""Time on the rating page: what counts as active, and how the time left is shown. The page's clock is ours here."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotate.models import Assignment, Draft
from projects.models import Membership
from tests.annotate.open_batches import open_batch
from tests.browser.conftest import PHONE, SignedIn
from tests.browser.rating import start, wait_for_keys

MINUTE_MS = 60_000
TURN_SILENTLY_TO = """(state) => {
  Object.defineProperty(document, "visibilityState", {value: state, configurable: true});
}"""
"""No event says that the page is hidden."""

TURN_TO = """(state) => {
  Object.defineProperty(document, "visibilityState", {value: state, configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""

JUMP_BY = """(milliseconds) => {
  const now = performance.now.bind(performance);
  performance.now = () => now() + milliseconds;
}"""
"""Time goes by and no timer runs."""


@pytest.fixture
def page(signed_in: SignedIn, annotator: Membership) -> Page:
    """The rating page with its clock standing still, at the moment when the first of three items was rated."""
    open_batch(annotator.project, n_hits=1, n_items=3)
    opened = stopped(signed_in(annotator.user), annotator)
    rate(opened)
    return opened


def stopped(opened: Page, annotator: Membership) -> Page:
    opened.emulate_media(reduced_motion="reduce")
    opened.clock.install(time=timezone.now())
    start(opened, annotator.project)
    wait_for_keys(opened)
    opened.clock.pause_at(timezone.now() + timedelta(minutes=2))
    return opened


def rate(page: Page) -> list[float]:
    """Rate the current item, which goes on to the next; active seconds by item, as the page sent them."""
    page.keyboard.press("4")
    page.clock.run_for(500)
    expect(page.locator("[data-saved]")).to_have_text("Saved")
    page.screenshot()  # a frame: going on to the next item scrolls, which is a sign of life that must not come later
    sent: list[float] = Draft.objects.get().answers["seconds"]
    return sent


def stir(page: Page) -> None:
    """A sign of life."""
    for x in (300, 310):
        page.mouse.move(x, 300)


def test_a_minute_after_the_last_sign_of_life_nothing_counts_any_more(page: Page) -> None:
    page.clock.run_for(40_000)
    stir(page)
    page.clock.run_for(10 * MINUTE_MS)
    counted = rate(page)
    assert 98 <= counted[1] <= 103
    assert counted[2] == 0


@pytest.mark.parametrize("turn_to", [TURN_TO, TURN_SILENTLY_TO], ids=["told", "silent"])
def test_a_hidden_tab_does_not_count(page: Page, turn_to: str) -> None:
    page.clock.run_for(10_700)
    page.evaluate(turn_to, "hidden")
    page.clock.run_for(20_000)
    page.evaluate(turn_to, "visible")
    page.clock.run_for(5_000)
    assert rate(page)[1] == pytest.approx(0.5 + 10.7 + 5, abs=0.2)


def test_a_tab_that_was_throttled_while_hidden_does_not_count_it(page: Page) -> None:
    """A browser may hold the timers of a hidden tab back altogether."""
    page.clock.run_for(10_000)
    page.evaluate(TURN_TO, "hidden")
    page.evaluate(JUMP_BY, 30_000)
    page.evaluate(TURN_TO, "visible")
    assert 10 <= rate(page)[1] <= 10.8


def test_time_spent_reading_survives_a_reload(page: Page) -> None:
    page.clock.run_for(20_000)
    page.reload()
    wait_for_keys(page)
    assert rate(page)[1] == pytest.approx(0.5 + 20, abs=1)


@pytest.mark.parametrize("wakes_by", ["timer", "key"])
def test_a_laptop_that_slept_did_not_work(page: Page, wakes_by: str) -> None:
    page.clock.run_for(10_000)
    if wakes_by == "timer":
        page.clock.fast_forward(8 * 60 * MINUTE_MS)
    else:
        page.evaluate(JUMP_BY, 8 * 60 * MINUTE_MS)
    counted = rate(page)[1]
    assert 10 <= counted <= 13


def test_seconds_belong_to_the_item_that_was_current(page: Page) -> None:
    page.clock.run_for(20_000)
    rate(page)
    page.clock.run_for(7_000)
    page.keyboard.press("k")
    page.clock.run_for(3_000)
    page.keyboard.press("j")
    sent = rate(page)
    assert sent[1] == pytest.approx(0.5 + 20 + 3, abs=0.2)
    assert sent[2] == pytest.approx(0.5 + 7, abs=0.2)
    page.clock.resume()
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/desk/")
    stored = Assignment.objects.get()
    assert stored.item_seconds is not None
    assert stored.item_seconds[1] == pytest.approx(sent[1], abs=0.2)
    assert stored.active_seconds == pytest.approx(sum(stored.item_seconds), abs=0.1)


LEFT_MS = "() => rate.dataset.due - rate.dataset.now - performance.now()"
LEFT = (
    (71.2 * 60, "2 days left", False),
    (48.01 * 60, "2 days left", False),
    (47.95 * 60, "47 h left", False),
    (2 * 60 + 0.2, "2 h left", False),
    (119.2, "119 min left", False),
    (59.9, "59 min left", False),
    (29.9, "29 min left", False),
    (10.2, "10 min left", False),
    (9.8, "9 min left", True),
    (1.2, "1 min left", True),
    (0.8, "Less than a minute left", True),
    (0.2, "Less than a minute left", True),
    (-0.8, "Time is up. You can still submit.", True),
    (-90, "Time is up. You can still submit.", True),
)
"""Minutes left, what the page says of them, and whether it says it in bold."""


def test_the_time_left_is_announced_at_each_threshold(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1, time_limit_minutes=3 * 24 * 60)
    page = stopped(signed_in(annotator.user), annotator)
    shown = page.locator("[data-due-text]")
    for minutes, words, is_short in LEFT:
        left = page.evaluate(LEFT_MS)
        page.clock.fast_forward(int(left - minutes * MINUTE_MS))
        expect(shown).to_have_text(words)
        whole = expect(page.locator(".rate-due"))
        (whole.to_contain_class if is_short else whole.not_to_contain_class)("is-short")
    for digit in "543":
        page.keyboard.press(digit)
    page.clock.resume()
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/desk/")
    assert Assignment.objects.submitted().count() == 1


def test_the_time_left_does_not_tick(signed_in: SignedIn, annotator: Membership) -> None:
    """It changes once a minute, without a number of seconds and without a live region."""
    open_batch(annotator.project, n_hits=1, time_limit_minutes=60)
    page = stopped(signed_in(annotator.user), annotator)
    shown = page.locator("[data-due-text]")
    texts = []
    for _ in range(240):
        page.clock.run_for(15_000)
        texts.append(shown.inner_text())
    changes = [words for words, before in zip(texts[1:], texts, strict=False) if words != before]
    assert changes == [
        *(f"{n} min left" for n in range(int(texts[0].split()[0]) - 1, 0, -1)),
        "Less than a minute left",
        "Time is up. You can still submit.",
    ]
    assert shown.evaluate("each => each.closest('[aria-live], [role=status], [role=alert], [role=timer]')") is None


def test_the_time_left_goes_on_while_the_device_sleeps(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1, time_limit_minutes=60)
    page = stopped(signed_in(annotator.user), annotator)
    shown = page.locator("[data-due-text]")
    before = int(shown.inner_text().split()[0])
    page.clock.set_system_time(timezone.now() + timedelta(minutes=2 + 40))
    page.clock.run_for(10_000)
    assert before - int(shown.inner_text().split()[0]) in (39, 40, 41)


@pytest.mark.parametrize(("zone", "shift"), [("UTC", 0), ("Asia/Kathmandu", 5 * 60 + 45)])
def test_the_time_is_shown_in_the_readers_own_zone_and_in_utc(
    signed_in: SignedIn, annotator: Membership, zone: str, shift: int
) -> None:
    open_batch(annotator.project, n_hits=1)
    page = signed_in(annotator.user, timezone_id=zone)
    start(page, annotator.project)
    page.locator(".rate-due summary").click()
    due_at = Assignment.objects.get().due_at
    assert due_at is not None
    texts = page.locator(".rate-due-more")
    expect(texts).to_contain_text(f"{due_at:%H:%M} UTC")
    expect(texts).to_contain_text(f"{due_at + timedelta(minutes=shift):%H:%M}")


def test_more_time_is_asked_for_at_the_time_once(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1)
    page = signed_in(annotator.user, viewport=PHONE)
    start(page, annotator.project)
    page.locator(".rate-due summary").click()
    expect(page.locator(".rate-due-more")).to_contain_text("After that you can still submit.")
    page.get_by_role("button", name="Restart the timer").click()
    expect(page.locator(".message")).to_contain_text("Timer restarted.")
    page.locator(".rate-due summary").click()
    expect(page.locator(".rate-due-more")).to_contain_text("You've already restarted the timer.")
    assert Assignment.objects.get().extended_at is not None
