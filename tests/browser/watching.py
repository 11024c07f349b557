"""What must not happen on any page that a browser test comes to."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Response

LOST = ("ERR_INTERNET_DISCONNECTED", "ERR_NETWORK_CHANGED")
"""What the browser itself says of requests while the network is away."""


class Watch:
    """What must not happen on any page: a complaint in the console, a request elsewhere, a page without a policy."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.wrong: list[str] = []
        self.n_pages = 0
        self._contexts: list[BrowserContext] = []
        self._listeners: dict[str, Callable[[Any], None]] = {
            "console": self._heard,
            "weberror": lambda error: self.wrong.append(str(error.error)),
            "response": self._answered,
            "request": lambda request: self._asked(request.url),
        }

    def over(self, page: Page) -> Page:
        for event, listener in self._listeners.items():
            page.context.on(event, listener)  # type: ignore[call-overload]
        self._contexts.append(page.context)
        return page

    def stop(self) -> None:
        """Listen no more: another test may take the same context."""
        for context in self._contexts:
            for event, listener in self._listeners.items():
                context.remove_listener(event, listener)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(lost in message.text for lost in LOST):
            self.wrong.append(f"{message.page.url if message.page else ''}: {message.text}")

    def _asked(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.netloc != self.host:
            self.wrong.append(f"asked {url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.wrong.append(f"{response.status} {response.url}")
        if response.headers.get("content-type", "").startswith("text/html") and response.status < 300:
            self.n_pages += 1
            policy = response.headers.get("content-security-policy", "")
            if "default-src 'none'" not in policy or "unsafe" in policy:
                self.wrong.append(f"{response.url} has the policy “{policy}”")
