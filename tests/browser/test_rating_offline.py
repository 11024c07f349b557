"""Without a network, for seconds and for minutes, and after the browser was killed: nothing is lost."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import BrowserContext, BrowserType, Error, Page, Route, expect

from annotate.models import Assignment, Batch, Draft, Judgment
from projects.models import Membership
from tests.annotate.open_batches import open_batch
from tests.browser.conftest import SignedIn
from tests.browser.rating import go_offline, intercept, start, wait_for_keys
from tests.conftest import Site
from tests.people import start_session
from tests.processes import wait_until

NOT_SAVED = re.compile(r"kept on this device$")
LONGEST_WAIT_MS = 36_000
"""Of the back-off, with its chance part."""
STEP_MS = 1_000
WIDTHS = (1440, 1280, 1024, 900)
COUNT_TRIES = """
window.tries = [];
window.nSettled = 0;
const send = window.fetch;
window.fetch = (url, ...rest) => {
  if (!String(url).includes("/draft/")) return send(url, ...rest);
  tries.push(performance.now());
  return send(url, ...rest).finally(() => { nSettled += 1; });
};
"""
LEAVE = """() => {
  const event = new Event("beforeunload", { cancelable: true });
  dispatchEvent(event);
  return event.defaultPrevented;
}"""


def saved(page: Page) -> Any:
    return expect(page.locator("[data-saved]"))


def drafted() -> dict[str, Any]:
    return {place: entry["correctness"][0] for place, entry in Draft.objects.get().answers["answers"].items()}


@pytest.fixture
def page(signed_in: SignedIn, annotator: Membership) -> Page:
    open_batch(annotator.project, n_hits=1, n_items=3)
    return signed_in(annotator.user)


def count_failures(page: Page) -> list[str]:
    """Grows by one with each save that finds no network."""
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(request.url) if "/draft/" in request.url else None)
    return failed


@pytest.mark.parametrize("is_noticed", [True, False], ids=["the browser sees it", "the browser sees nothing"])
def test_what_cannot_be_fetched_comes_later_and_rating_goes_on(
    page: Page, annotator: Membership, is_noticed: bool
) -> None:
    wrong: list[str] = []
    if not is_noticed:
        page.clock.install(time=timezone.now())
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.route(re.compile(r"/js/rate/(passage|hint|missing|rubric)\b"), lambda route: route.abort())
    start(page, annotator.project)
    wait_for_keys(page)
    page.keyboard.press("5")
    page.wait_for_load_state("networkidle")
    page.locator("[data-submit]").first.click()
    expect(page.locator("[data-announcement]")).to_have_text("2 answers still need a rating.")
    expect(page.locator(".item.is-current")).to_have_id("item1")
    page.unroute_all()
    if is_noticed:
        page.evaluate("dispatchEvent(new Event('online'))")
    else:
        page.clock.run_for(60_000)  # a slow machine is at the second attempt, which waits twice as long as the first
    page.locator("[data-find-open]").click()
    expect(page.locator("[data-find-open]")).to_have_attribute("aria-expanded", "true")
    page.locator("[data-submit]").first.click()
    expect(page.locator("[data-missing]")).to_be_visible()
    assert wrong == []


def test_ten_seconds_offline(page: Page, annotator: Membership) -> None:
    start(page, annotator.project)
    wait_for_keys(page)
    failed = count_failures(page)
    go_offline(page)
    page.keyboard.press("5")
    saved(page).to_have_text(NOT_SAVED)
    page.wait_for_timeout(5_000)
    page.keyboard.press("4")
    page.wait_for_timeout(5_000)
    saved(page).to_have_text(NOT_SAVED)
    assert len(failed) >= 2
    assert not Draft.objects.exists()
    page.context.set_offline(False)
    saved(page).to_have_text("Saved")
    assert drafted() == {"0": 5, "1": 4}


def test_ten_minutes_offline_are_tried_ever_more_seldom(page: Page, annotator: Membership) -> None:
    page.clock.install(time=timezone.now())
    page.add_init_script(COUNT_TRIES)
    start(page, annotator.project)
    wait_for_keys(page)
    page.clock.pause_at(timezone.now() + timedelta(minutes=1))
    go_offline(page)
    page.keyboard.press("5")
    began = page.evaluate("performance.now()")
    for _ in range(10 * 60_000 // STEP_MS + 1):
        run_for(page, STEP_MS)
    tried = page.evaluate("tries")
    waits = [later - earlier for earlier, later in pairwise([began, *tried])]
    assert sum(waits) > 10 * 60_000 - LONGEST_WAIT_MS
    assert waits[0] < 1_000
    assert waits[1] <= 1_200 + 2 * STEP_MS
    assert all(20_000 < wait <= LONGEST_WAIT_MS + 2 * STEP_MS for wait in waits[7:])
    assert 20 <= len(waits) <= 32
    saved(page).to_have_text(NOT_SAVED)
    page.keyboard.press("4")
    page.keyboard.press("3")
    assert not Draft.objects.exists()
    page.context.set_offline(False)  # the browser says so, and the page tries at once
    saved(page).to_have_text("Saved")
    assert drafted() == {"0": 5, "1": 4, "2": 3}
    page.clock.resume()
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/desk/")
    assert sorted(Judgment.objects.values_list("value", flat=True), key=str) == [3, 4, 5]


def run_for(page: Page, milliseconds: int) -> None:
    """Let the page's clock run, then wait until each save under way has found out that there is no network."""
    page.clock.run_for(milliseconds)
    wait_until(lambda: page.evaluate("nSettled === tries.length"), "a save knows nothing of the lost network")


def test_a_killed_browser_offers_the_answers_again(
    browser_type: BrowserType,
    browser_type_launch_args: dict[str, Any],
    annotator: Membership,
    live_site: Site,
    tmp_path: Path,
) -> None:
    open_batch(annotator.project, n_hits=1, n_items=3)
    launch = {**browser_type_launch_args, "base_url": live_site.url}
    with browser_at(browser_type, tmp_path, launch) as context:
        sign_in(context, annotator, live_site)
        page = context.new_page()
        start(page, annotator.project)
        wait_for_keys(page)
        address = page.url
        go_offline(page)
        page.keyboard.press("2")
        page.keyboard.press("c")
        page.keyboard.type("half a sent")
        saved(page).to_have_text(NOT_SAVED)
        wait_until(lambda: any(b"half a sent" in each.read_bytes() for each in stored_in(tmp_path)), "nothing on disk")
        kill_browser(tmp_path)
    assert not Draft.objects.exists()
    with browser_at(browser_type, tmp_path, launch) as context:
        sign_in(context, annotator, live_site)
        page = context.new_page()
        page.goto(address)
        wait_for_keys(page)
        expect(page.locator("[data-count]")).to_have_text("1")
        expect(page.locator("[name=comment1]")).to_have_value("half a sent")
        saved(page).to_have_text("Saved")
    assert drafted() == {"0": 2}
    assert Assignment.objects.open().count() == 1


def sign_in(context: BrowserContext, annotator: Membership, site: Site) -> None:
    assert annotator.user is not None
    session = start_session(annotator.user)
    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": site.url}])


@contextmanager
def browser_at(browser_type: BrowserType, folder: Path, launch: dict[str, Any]) -> Iterator[BrowserContext]:
    """A browser that keeps what it stores in this folder, as people's own browsers do."""
    context = browser_type.launch_persistent_context(folder, **launch)
    context.set_default_timeout(60_000)
    yield context
    with suppress(Error):  # a killed one is closed
        context.close()


def stored_in(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*/Local Storage/leveldb/*") if path.suffix in (".log", ".ldb")]


def kill_browser(folder: Path) -> None:
    """The main process of our own browser, known by its folder."""
    argument = f"--user-data-dir={folder}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\x00")
        except OSError:
            continue
        if argument in words and not any(word.startswith(b"--type=") for word in words):
            os.kill(int(process.name), signal.SIGKILL)


def rate_three(page: Page, annotator: Membership, **over: Any) -> str:
    """Rate a HIT of three answers; return its address."""
    start(page, annotator.project)
    wait_for_keys(page)
    for _ in range(3):
        page.keyboard.press("4")
    saved(page).to_have_text("Saved")
    return page.url


def test_a_submit_without_a_network_waits_in_sight_and_goes_once(page: Page, annotator: Membership) -> None:
    """A rating that is cleared meanwhile stops it, and the page says which one is missing."""
    address = rate_three(page, annotator)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    submit_offline(page)
    expect(page.locator("[data-note]")).to_have_text("Will be submitted when you're back online.")
    expect(page.locator(".rate-acts [data-submit]")).to_have_text("Waiting for the network…")
    assert page.evaluate(LEAVE), "a page that still has to submit is left without a question"
    page.locator("#item1").focus()
    page.keyboard.press("Backspace")
    page.context.set_offline(False)
    expect(page.locator("[data-missing]")).to_be_focused()
    expect(page.locator("[data-missing] li")).to_have_text(["Answer 2"])
    expect(page.locator("[data-note]")).to_have_text("One answer still needs a rating.")
    expect(page.locator(".rate-acts [data-submit]")).to_have_text("Submit")
    saved(page).to_have_text("Saved")
    assert address not in sent
    expect(page.get_by_text("Your ratings are saved.")).to_be_visible()
    go_offline(page)
    page.locator("#item1").focus()
    page.keyboard.press("c")
    page.keyboard.type("Unsure.")
    saved(page).to_have_text("Offline: 1 change kept on this device")
    expect(page.get_by_text("Your ratings are saved.")).to_be_hidden()
    page.keyboard.press("Escape")
    page.context.set_offline(False)
    page.locator("#item1").focus()
    page.keyboard.press("4")
    saved(page).to_have_text("Saved")
    submit_offline(page)
    assert page.url == address
    assert Assignment.objects.submitted().count() == 0
    page.context.set_offline(False)
    page.wait_for_url(lambda url: url != address)
    assert Assignment.objects.submitted().count() == 1
    assert sent.count(address) == 1


def submit_offline(page: Page) -> None:
    go_offline(page)
    page.keyboard.press("Control+Enter")
    saved(page).to_have_text("Will be submitted when you're back online.")


def test_the_bar_stays_as_high_while_a_submit_waits(page: Page, annotator: Membership) -> None:
    rate_three(page, annotator)
    heights = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        heights[width] = measure_bar(page)
    submit_offline(page)
    expect(page.locator(".rate-acts [data-submit]")).to_have_text("Waiting for the network…")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert measure_bar(page) == heights[width], f"at {width} pixels"
    assert page.locator(".rate-count progress").evaluate("(bar) => bar.value === bar.max")


def measure_bar(page: Page) -> float:
    return float(page.locator(".rate-bar").evaluate("(bar) => bar.getBoundingClientRect().height"))


def test_what_is_missing_of_nothing_is_not_said_to_be_saved(page: Page, annotator: Membership) -> None:
    start(page, annotator.project)
    wait_for_keys(page)
    page.keyboard.press("Control+Enter")
    expect(page.locator("[data-missing]")).to_contain_text("3 answers still need a rating.")
    expect(page.get_by_text("Your ratings are saved.")).to_be_hidden()
    page.locator("#item0").focus()
    page.keyboard.press("4")
    saved(page).to_have_text("Saved")
    expect(page.get_by_text("Your ratings are saved.")).to_be_visible()


def test_a_submit_that_reaches_no_server_waits_too(page: Page, annotator: Membership) -> None:
    address = rate_three(page, annotator)
    answers = iter([503, 502])

    def refuse(route: Route) -> None:
        status = next(answers, None) if route.request.method == "POST" else None
        if status is None:
            route.continue_()
        else:
            route.fulfill(status=status, body="<h1>Bad gateway</h1>", content_type="text/html")

    intercept(page, address, refuse)
    page.keyboard.press("Control+Enter")
    saved(page).to_have_text("Will be submitted when you're back online.")
    page.wait_for_url(lambda url: url != address)
    assert Assignment.objects.submitted().count() == 1


SIGN_IN_TO_NETWORK = "<!doctype html><title>Guest network</title><h1>Sign in to the network</h1>"


def test_a_network_that_asks_for_a_sign_in_saves_nothing(page: Page, annotator: Membership) -> None:
    start(page, annotator.project)
    wait_for_keys(page)
    given: list[str] = []
    asked = True

    def answer_instead(route: Route) -> None:
        if asked:
            given.append("{}" if given else SIGN_IN_TO_NETWORK)
            route.fulfill(body=given[-1], content_type="text/html" if "<" in given[-1] else "application/json")
        else:
            route.continue_()

    intercept(page, "**/draft/", answer_instead)
    page.keyboard.press("5")
    saved(page).to_have_text("Not saved yet: 1 rating kept on this device")
    for _ in range(200):
        if len(given) > 1:
            break
        page.wait_for_timeout(100)
    assert len(given) > 1
    saved(page).to_have_text("Not saved yet: 1 rating kept on this device")
    assert not Draft.objects.exists()
    asked = False
    saved(page).to_have_text("Saved")
    assert drafted() == {"0": 5}


@pytest.mark.parametrize("body", [SIGN_IN_TO_NETWORK, "{}"], ids=["page", "JSON"])
def test_a_network_that_asks_for_a_sign_in_takes_no_submit(page: Page, annotator: Membership, body: str) -> None:
    address = rate_three(page, annotator)
    asked = True

    def answer_instead(route: Route) -> None:
        if asked and route.request.method == "POST":
            route.fulfill(body=body, content_type="text/html" if "<" in body else "application/json")
        else:
            route.continue_()

    intercept(page, address, answer_instead)
    page.keyboard.press("Control+Enter")
    saved(page).to_have_text("Will be submitted when you're back online.")
    assert page.url == address
    asked = False
    page.wait_for_url(lambda url: url != address)
    assert Assignment.objects.submitted().count() == 1


def test_a_submit_whose_answer_is_lost_is_not_counted_twice(page: Page, annotator: Membership) -> None:
    address = rate_three(page, annotator)
    lost: list[int] = []

    def lose(route: Route) -> None:
        if route.request.method != "POST" or lost:
            return route.continue_()
        lost.append(route.fetch(max_redirects=0).status)
        return route.abort()

    intercept(page, address, lose)
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: url != address)
    assert lost == [200]
    assert Judgment.objects.count() == 3


def test_one_at_a_time_waits_for_the_network_as_well(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1, n_items=2, presentation=Batch.Presentation.ONE)
    page = signed_in(annotator.user)
    start(page, annotator.project)
    wait_for_keys(page)
    page.keyboard.press("4")
    saved(page).to_have_text("Saved")
    go_offline(page)
    page.keyboard.press("Control+Enter")
    saved(page).to_have_text("Will be submitted when you're back online.")
    page.context.set_offline(False)
    expect(page.locator("#rate")).to_have_attribute("data-alone", "1")


def test_whoever_was_signed_out_meanwhile_signs_in_and_nothing_is_lost(page: Page, annotator: Membership) -> None:
    address = rate_three(page, annotator)
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="You're signed out")).to_be_visible()
    assert page.url == address
    assert Draft.objects.get().answers["answers"].keys() == {"0", "1", "2"}
