"""A context that a test gives back is as a new one for the next, or is not given to it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, BrowserType, Page

from tests.browser import chromium
from tests.browser.contexts import KeptContexts
from tests.conftest import Site

WRITE = """() => new Promise((done) => {
  localStorage.kept = sessionStorage.kept = window.name = "mine";
  indexedDB.open("mine").onsuccess = () => done();
})"""
ALLOWED = "navigator.permissions.query({name: 'clipboard-read'}).then((found) => found.state === 'granted')"
READ = """async () => [
  localStorage.kept, sessionStorage.kept, window.name, (await indexedDB.databases()).length, navigator.onLine,
]"""
HOVERED = "document.querySelectorAll('button:hover').length"
WIDTH = "document.documentElement.clientWidth"


@pytest.fixture
def take(
    browser_with: Callable[[str], Browser], browser_context_args: dict[str, Any], live_site: Site
) -> Iterator[Callable[[], Page]]:
    """Take a page of a context that nobody else takes, and give it back by calling `give_back` of its answer."""
    contexts, options = KeptContexts(lambda page: page), {**browser_context_args, "base_url": live_site.url}
    taken: set[BrowserContext] = set()

    def take_page() -> Page:
        for context in taken:
            contexts.give_back(context, live_site.url)
        taken.clear()
        page = contexts.take(browser_with(""), options)
        taken.add(page.context)
        return page

    yield take_page
    for context in taken:
        context.close()


def test_the_next_test_finds_nothing_of_the_one_before(take: Callable[[], Page], live_site: Site) -> None:
    page = take()
    context, other = page.context, page.context.new_page()
    for each in (page, other):
        each.goto("/sign-in/")
    page.evaluate(WRITE)
    page.get_by_role("button").first.hover()
    assert page.evaluate(READ) == ["mine", "mine", "mine", 1, True]
    assert page.evaluate(HOVERED)
    context.add_cookies([{"name": "session", "value": "mine", "url": live_site.url}])
    context.grant_permissions(["clipboard-read"])
    assert page.evaluate(ALLOWED)
    context.set_offline(True)

    assert take() is page
    assert (page.url, context.pages, context.cookies()) == ("about:blank", [page], [])
    page.goto("/sign-in/")
    assert page.evaluate(READ) == [None, None, "", 0, True]
    assert not page.evaluate(ALLOWED)
    assert not page.evaluate(HOVERED)
    assert page.evaluate("history.length") == 2, "the empty page and this one"
    page.go_back()
    assert page.url == "about:blank"


@pytest.mark.parametrize(
    "change",
    [
        lambda page: page.set_viewport_size({"width": 300, "height": 300}),
        lambda page: page.emulate_media(color_scheme="dark"),
        lambda page: page.on("dialog", lambda dialog: dialog.dismiss()),
        lambda page: page.route("**", lambda route: route.abort()),
        lambda page: page.add_init_script("document.title = 1"),
        lambda page: page.keyboard.down("Shift"),
        lambda page: page.mouse.down(),
        lambda page: page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4}),
    ],
    ids=["viewport", "media", "listener", "route", "script", "key", "button", "session"],
)
def test_a_page_that_keeps_a_change_is_replaced(take: Callable[[], Page], change: Callable[[Page], Any]) -> None:
    page = take()
    context = page.context
    page.goto("/sign-in/")
    change(page)
    other = take()
    assert other is not page
    assert page.is_closed()
    assert (other.context, context.pages) == (context, [other])
    other.goto("/sign-in/")
    assert other.evaluate(WIDTH) == 1440
    assert take() is other, "which is kept itself"


def test_contexts_of_others_with_a_clock_or_without_a_page_are_not_kept(take: Callable[[], Page]) -> None:
    page = take()
    page.goto("/sign-in/")
    page.clock.install()
    other = take()
    assert other.context is not page.context
    other.context.close()
    assert take().context not in {page.context, other.context}


def test_features_that_playwright_turns_off_stay_off(
    browser_type: BrowserType, browser_type_launch_args: dict[str, Any]
) -> None:
    """Of two lists Chromium reads the last alone, so that of the tests has to name those of Playwright too."""
    flags = [*browser_type_launch_args["args"], *chromium.QUICK, "--enable-automation"]  # without it, none are told
    browser = browser_type.launch(**{**browser_type_launch_args, "args": flags})
    arguments = browser.new_browser_cdp_session().send("Browser.getBrowserCommandLine")["arguments"]
    browser.close()
    lists = [each.partition("=")[2].split(",") for each in arguments if each.startswith("--disable-features=")]
    assert {*lists[0]} < {*lists[-1]}
