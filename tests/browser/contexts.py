"""Browser contexts that one test takes after another: scripts and styles of every page are fetched once."""

import json
from typing import Any

from playwright.sync_api import Browser, BrowserContext
from playwright.sync_api import Error as PlaywrightError

HAS_CLOCK = "'__pwClock' in window"
LEAVE_SILENTLY = """() => {
  const stop = (event) => event.stopImmediatePropagation();
  for (const name of ["pagehide", "visibilitychange"]) addEventListener(name, stop, true);
}"""
"""The page sends no last draft: the answer, to a session that is gone by then, would delete the next test's cookie."""
STORES = "local_storage,indexeddb,cache_storage,service_workers,websql,file_systems"


class KeptContexts:
    """Clean contexts by browser and options, each with nothing but the files that the site lets a browser keep."""

    def __init__(self) -> None:
        self._free: dict[tuple[Browser, str], list[BrowserContext]] = {}
        self._kinds: dict[BrowserContext, tuple[Browser, str]] = {}

    def take(self, browser: Browser, options: dict[str, Any]) -> BrowserContext:
        kind = (browser, json.dumps(options, sort_keys=True))
        if free := self._free.get(kind):
            return free.pop()
        context = browser.new_context(**options)
        context.set_default_timeout(60_000)
        context.set_default_navigation_timeout(60_000)
        self._kinds[context] = kind
        return context

    def give_back(self, context: BrowserContext, url: str) -> None:
        """Keep a context for the next test if all that this one did to it can be undone; otherwise close it."""
        kind = self._kinds[context]
        try:
            is_clean = _clean(context, url)
        except PlaywrightError:  # a test has closed the context, or killed the browser
            is_clean = False
        if is_clean:
            self._free.setdefault(kind, []).append(context)
        else:
            del self._kinds[context]
            context.close()


def _clean(context: BrowserContext, url: str) -> bool:
    """Close the pages and forget what they have stored. A clock of the test's own cannot be taken away again."""
    if not context.pages or any(page.evaluate(HAS_CLOCK) for page in context.pages):
        return False
    for page in context.pages:
        page.evaluate(LEAVE_SILENTLY)
    context.set_offline(False)
    context.clear_permissions()
    session = context.new_cdp_session(context.pages[0])
    for page in context.pages[1:]:
        page.close()
    session.send("Page.navigate", {"url": "about:blank"})  # so that a page stores nothing more while it is closed
    session.send("Storage.clearDataForOrigin", {"origin": url, "storageTypes": STORES})
    context.pages[0].close()
    context.clear_cookies()
    return True
