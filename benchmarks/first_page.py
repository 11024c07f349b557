"""The first rating page on a phone with an empty cache and 400 ms latency: bytes, requests, time until it is usable.

    python -m benchmarks.first_page [--latency 400] [--kbit 0]

Chromium delays each response by the latency; --kbit also limits the bandwidth (0: unlimited). Bytes are those on the
wire, with headers, compressed as the server sends them.
"""

import argparse
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import CDPSession

from benchmarks import browsing

WATCH = """
new MutationObserver((_, observer) => {
  if (!document.querySelector(".item.is-current")) return;
  window.takesKeysAt = performance.now();
  observer.disconnect();
}).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["class"] });
"""
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
READ = "performance.getEntriesByType('navigation')[0].domInteractive"
QUIET_MS = 6_000
"""After this time nothing more is fetched; the instructions are fetched when the page is idle."""


@dataclass
class Traffic:
    """Bytes on the wire, by request."""

    urls: dict[str, str] = field(default_factory=dict)
    n_bytes: dict[str, int] = field(default_factory=dict)

    def listen(self, session: CDPSession) -> None:
        session.on("Network.requestWillBeSent", self._sent)
        session.on("Network.loadingFinished", self._finished)

    def _sent(self, event: dict[str, Any]) -> None:
        self.urls[event["requestId"]] = event["request"]["url"]

    def _finished(self, event: dict[str, Any]) -> None:
        self.n_bytes[event["requestId"]] = int(event["encodedDataLength"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=int, default=400)
    parser.add_argument("--kbit", type=int, default=0)
    options = parser.parse_args()
    with browsing.annotating(2) as site:
        address = urlsplit(site.hit(site.context(site.sessions[0])).url).path
        context = site.context(site.sessions[0], viewport=browsing.PHONE, is_mobile=True, has_touch=True)
        page = context.new_page()
        page.add_init_script(WATCH)
        session, traffic = context.new_cdp_session(page), Traffic()
        session.send("Network.enable")
        throughput = options.kbit * 1000 / 8 or -1
        limits = {"latency": options.latency, "downloadThroughput": throughput, "uploadThroughput": throughput}
        session.send("Network.emulateNetworkConditions", {"offline": False, **limits})
        traffic.listen(session)
        page.goto(address, wait_until="load")
        page.locator(".item.is-current").wait_for()
        page.wait_for_timeout(QUIET_MS)
        show(traffic, site.url)
        painted, read, usable = (page.evaluate(what) for what in (PAINTED, READ, "takesKeysAt"))
        print(f"at {options.latency} ms: painted {painted:.0f} ms, buttons present {read:.0f} ms,", end=" ")
        print(f"accepts keys {usable:.0f} ms (goal 2000)", flush=True)


def show(traffic: Traffic, site: str) -> None:
    for request, url in traffic.urls.items():
        print(f"{traffic.n_bytes.get(request, 0):>8,}  {url.removeprefix(site)[:100]}")
    strangers = [url for url in traffic.urls.values() if not url.startswith((site, "data:"))]
    total = sum(traffic.n_bytes.values())
    print(
        f"{total:>8,}  bytes in {len(traffic.urls)} requests (goal 200,000), {len(strangers)} to other hosts (goal 0)"
    )


if __name__ == "__main__":
    main()
