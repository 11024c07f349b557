"""A context that a test gives back is as a new one for the next, or is not given to it."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, BrowserContext, BrowserType, Page

from tests.browser import chromium
from tests.browser.contexts import KeptContexts
from tests.conftest import Site

WRITE = """() => new Promise((done) => {
  localStorage.kept = sessionStorage.kept = "mine";
  indexedDB.open("mine").onsuccess = () => done();
})"""
ALLOWED = "navigator.permissions.query({name: 'clipboard-read'}).then((found) => found.state === 'granted')"
READ = "async () => [localStorage.kept, sessionStorage.kept, (await indexedDB.databases()).length, navigator.onLine]"


def open_page(context: BrowserContext) -> Page:
    page = context.new_page()
    page.goto("/sign-in/")
    return page


def test_the_next_test_finds_nothing_of_the_one_before(
    browser_with: Callable[[str], Browser], browser_context_args: dict[str, Any], live_site: Site
) -> None:
    contexts, options = KeptContexts(), {**browser_context_args, "base_url": live_site.url}
    context = contexts.take(browser_with(""), options)
    page, other = open_page(context), open_page(context)
    page.evaluate(WRITE)
    assert page.evaluate(READ) == ["mine", "mine", 1, True]
    context.add_cookies([{"name": "session", "value": "mine", "url": live_site.url}])
    context.grant_permissions(["clipboard-read"])
    assert page.evaluate(ALLOWED)
    context.set_offline(True)
    contexts.give_back(context, live_site.url)
    assert page.is_closed()
    assert other.is_closed()
    assert contexts.take(browser_with(""), options) is context
    assert context.pages == []
    assert [each["name"] for each in context.cookies()] == []
    page = open_page(context)
    assert page.evaluate(READ) == [None, None, 0, True]
    assert not page.evaluate(ALLOWED)
    context.close()


def test_contexts_of_others_with_a_clock_or_without_a_page_are_not_kept(
    browser_with: Callable[[str], Browser], browser_context_args: dict[str, Any], live_site: Site
) -> None:
    contexts, options = KeptContexts(), {**browser_context_args, "base_url": live_site.url}
    used = [contexts.take(browser_with(""), options) for _ in range(3)]
    open_page(used[0]).clock.install()
    open_page(used[1]).context.close()
    for context in used:
        contexts.give_back(context, live_site.url)
    assert contexts.take(browser_with(""), options) not in used


def test_features_that_playwright_turns_off_stay_off(
    browser_type: BrowserType, browser_type_launch_args: dict[str, Any]
) -> None:
    """Of two lists Chromium reads the last alone, so that of the tests has to name those of Playwright too."""
    flags = [*browser_type_launch_args["args"], chromium.QUICK, "--enable-automation"]  # without it, none are told
    browser = browser_type.launch(**{**browser_type_launch_args, "args": flags})
    arguments = browser.new_browser_cdp_session().send("Browser.getBrowserCommandLine")["arguments"]
    browser.close()
    lists = [each.partition("=")[2].split(",") for each in arguments if each.startswith("--disable-features=")]
    assert {*lists[0]} < {*lists[-1]}
