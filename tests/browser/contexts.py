"""Browser contexts that one test takes after another: scripts and styles of every page are fetched and compiled once.

The page goes with its context, where a test has changed nothing of it that outlives a document: a page of its own, in a
process of its own, costs as much as half of what is then shown on it.
"""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page
from playwright.sync_api import Error as PlaywrightError

HAS_CLOCK = "'__pwClock' in window"
LEAVE_SILENTLY = """() => {
  const stop = (event) => event.stopImmediatePropagation();
  for (const name of ["beforeunload", "pagehide", "visibilitychange"]) addEventListener(name, stop, true);
  sessionStorage.clear();
  window.name = "";
}"""
"""The page sends no last draft: the answer, to a session that is gone by then, would delete the next test's cookie."""
STORES = "local_storage,indexeddb,cache_storage,service_workers,websql,file_systems"
LASTING = (
    *("add_init_script", "add_locator_handler", "emulate_media", "expose_binding", "expose_function", "on", "once"),
    *("route", "route_from_har", "route_web_socket", "set_default_navigation_timeout", "set_default_timeout"),
    *("set_extra_http_headers", "set_viewport_size"),
)
"""Methods of a page whose effect stays until it is closed."""
OUTSIDE = -1
"""Where the pointer hovers over nothing."""


class KeptContexts:
    """Clean contexts by browser and options, each with an empty page and the files that a browser may keep."""

    def __init__(self, prepare: Callable[[Page], Page]) -> None:
        self._prepare = prepare
        self._free: dict[tuple[Browser, str], list[BrowserContext]] = {}
        self._kinds: dict[BrowserContext, tuple[Browser, str]] = {}
        self._unchanged: set[Page] = set()

    def take(self, browser: Browser, options: dict[str, Any]) -> Page:
        """Return a page of a context with these options."""
        kind = (browser, json.dumps(options, sort_keys=True))
        if free := self._free.get(kind):
            (page,) = free.pop().pages
            return page
        context = browser.new_context(**options)
        context.set_default_timeout(60_000)
        context.set_default_navigation_timeout(60_000)
        context.new_cdp_session = self._note(context.new_cdp_session)  # type: ignore[method-assign]
        self._kinds[context] = kind
        return self._open(context)

    def give_back(self, context: BrowserContext, url: str) -> None:
        """Keep a context for the next test if all that this one did to it can be undone; otherwise close it."""
        kind = self._kinds[context]
        try:
            is_clean = self._clean(context, url)
        except PlaywrightError:  # a test has closed the context, or killed the browser
            is_clean = False
        if is_clean:
            self._free.setdefault(kind, []).append(context)
        else:
            del self._kinds[context]
            context.close()

    def _open(self, context: BrowserContext) -> Page:
        page = self._prepare(context.new_page())
        for name in LASTING:
            setattr(page, name, self._note(getattr(page, name), page))
        for device in (page.keyboard, page.mouse):
            device.down = self._note(device.down, page)  # type: ignore[method-assign]
        self._unchanged.add(page)
        return page

    def _note(self, change: Callable[..., Any], page: Page | None = None) -> Callable[..., Any]:
        """Return the method; whoever calls it has changed the page, by default the one that is its first argument."""

        @wraps(change)
        def change_and_note(*arguments: Any, **options: Any) -> Any:
            self._unchanged.discard(page or options.get("page") or arguments[0])
            return change(*arguments, **options)

        return change_and_note

    def _clean(self, context: BrowserContext, url: str) -> bool:
        """Forget what the pages have stored, and keep one. A clock of the test's own cannot be taken away again."""
        if not context.pages or any(page.evaluate(HAS_CLOCK) for page in context.pages):
            return False
        first, *others = context.pages
        for page in context.pages:
            page.evaluate(LEAVE_SILENTLY)
        context.set_offline(False)
        context.clear_permissions()
        session = BrowserContext.new_cdp_session(context, first)
        for page in others:
            page.close()
        first.goto("about:blank")  # so that a page stores nothing more while it is closed
        session.send("Storage.clearDataForOrigin", {"origin": url, "storageTypes": STORES})
        context.clear_cookies()
        if first in self._unchanged:
            first.mouse.move(OUTSIDE, OUTSIDE)
            session.send("Page.resetNavigationHistory")
            session.detach()
        else:
            self._open(context)
            first.close()
        return True
