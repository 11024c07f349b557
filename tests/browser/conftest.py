"""A real browser on a real site."""

import os
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, Page, expect

from projects.models import User
from tests.browser import chromium, fonts
from tests.browser.contexts import KeptContexts
from tests.browser.watching import Watch
from tests.conftest import Site
from tests.people import start_session

WIDE = {"width": 1440, "height": 900}
LAPTOP = {"width": 1366, "height": 625}
"""A screen of 1366 × 768, less the bars of the browser."""
PHONE = {"width": 390, "height": 844}
ZOOMED = {"width": 320, "height": 256}
"""A screen of 1280 × 1024 at 400 %."""

SignedIn = Callable[..., Page]

SCALE = int(os.environ.get("SCALE", "1"))
WITH_WIDE_FONT = pytest.mark.parametrize("font", fonts.FILES if SCALE > 1 else ["wide"])
WITH_NARROW_FONT = pytest.mark.parametrize("font", fonts.FILES if SCALE > 1 else ["narrow"])
"""For tests of layout: with the font that is worse for what they look at, at full strength with both."""

expect.set_options(timeout=30_000)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    found = chromium.find()
    if found is None:
        pytest.fail("No Chromium was found: run `make test`, which brings one, or name one in CHROMIUM.")
    quick = chromium.QUICK if SCALE == 1 else ()
    return {**browser_type_launch_args, "executable_path": str(found), "args": [*chromium.flags(), *quick]}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_context_args, "viewport": WIDE, "locale": "en-GB", "timezone_id": "UTC"}


@pytest.fixture(scope="session")
def browser_with(
    launch_browser: Callable[..., Browser], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Browser]]:
    """`browser_with("wide")` draws with this font; without a name, with those that the machine has."""
    launched: list[Browser] = []

    @cache
    def launch(font: str) -> Browser:
        variables = fonts.environment(font, tmp_path_factory.mktemp(font)) if font else {}
        if font and not variables:
            warnings.warn(f"No {font} font is on this machine: layout is tested with its own alone.", stacklevel=2)
        launched.append(launch_browser(env={**os.environ, **variables}))
        return launched[-1]

    yield launch
    for browser in launched:
        browser.close()


@pytest.fixture
def font() -> str:
    """The machine's own, where a test does not name one."""
    return ""


@pytest.fixture(scope="session")
def _contexts() -> KeptContexts:
    """Closed with their browsers."""
    return KeptContexts(take_time)


@pytest.fixture
def signed_in(
    browser_with: Callable[[str], Browser],
    font: str,
    browser_context_args: dict[str, Any],
    live_site: Site,
    _contexts: KeptContexts,
) -> Iterator[SignedIn]:
    """`signed_in(user)` opens a page of the site as that user; `signed_in(user, viewport=PHONE)` on a phone."""
    opened: list[BrowserContext] = []

    def open_page(user: User | None, **options: Any) -> Page:
        page = _contexts.take(browser_with(font), {**browser_context_args, "base_url": live_site.url, **options})
        opened.append(page.context)
        if user is not None:
            name, value = settings.SESSION_COOKIE_NAME, start_session(user)
            page.context.add_cookies([{"name": name, "value": value, "url": live_site.url, "httpOnly": True}])
        return page

    yield open_page
    for context in opened:
        _contexts.give_back(context, live_site.url)


BOUNCE_SECONDS = 0.13
"""The rating page takes the same digit sooner than this for a bounce of the key; nobody presses it so fast."""


def take_time(page: Page) -> Page:
    """A digit is pressed again only after the time that a finger takes."""
    press, type_text, last = page.keyboard.press, page.keyboard.type, dict[str, float]()

    def wait_for_finger(key: str) -> None:
        if key.isdigit() and (wait := last.get(key, 0.0) + BOUNCE_SECONDS - time.monotonic()) > 0:
            page.wait_for_timeout(wait * 1000)

    def press_like_a_person(key: str, **options: Any) -> None:
        wait_for_finger(key)
        press(key, **options)
        last[key] = time.monotonic()

    def type_like_a_person(text: str, **options: Any) -> None:
        wait_for_finger(text[:1])
        type_text(text, **options)
        last[text[-1:]] = time.monotonic()

    page.keyboard.press = press_like_a_person  # type: ignore[method-assign]
    page.keyboard.type = type_like_a_person  # type: ignore[method-assign]
    return page


@pytest.fixture
def pictures(output_path: str) -> Path:
    """Where a test leaves its pictures: a folder of its own below that of pytest-playwright, `test-results`."""
    return Path(output_path)


@pytest.fixture
def watch(live_site: Site) -> Iterator[Watch]:
    """`watch.over(page)` listens; at the end nothing wrong was heard."""
    watch = Watch(urlsplit(live_site.url).netloc)
    yield watch
    watch.stop()
    assert watch.wrong == []
