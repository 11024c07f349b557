"""The setting of the benchmarks of the rating page: a running site, a browser, and signed-in annotators."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from benchmarks import ground
from tests.browser import chromium

PHONE = {"width": 390, "height": 844}


@dataclass(frozen=True)
class Annotating:
    """A running site, a browser, and the session keys of annotators who have not started."""

    url: str
    browser: Browser
    sessions: list[str]

    def context(self, session: str, **options: Any) -> BrowserContext:
        context = self.browser.new_context(base_url=self.url, bypass_csp=True, **options)
        context.set_default_timeout(120_000)
        context.add_cookies([{"name": "session", "value": session, "url": self.url, "httpOnly": True}])
        return context

    def hit(self, context: BrowserContext) -> Page:
        """Open the rating page of the next HIT."""
        page = context.new_page()
        page.goto("/p/bench/desk/")
        page.get_by_role("button", name="Start rating").click()
        page.locator(".item.is-current").wait_for()
        return page


@contextmanager
def annotating(n_annotators: int, *, is_long: bool = False) -> Iterator[Annotating]:
    """Serve HITs of ten items, short or long, from a separate database, under gunicorn as `manage.py serve` runs it."""
    with ground.fresh_database("bench_browser") as url:
        environment = ground.site_environment("config.settings", url)
        ground.manage(environment, "migrate", "-v", "0")
        ground.manage(environment, "collectstatic", "--noinput", "-v", "0")
        command = [
            sys.executable,
            "-m",
            "benchmarks.seeds",
            "concord",
            "40",
            str(n_annotators),
            "0",
            "100",
            str(int(is_long)),
        ]
        seeded = subprocess.run(command, env=environment, cwd=ground.ROOT, check=True, stdout=subprocess.PIPE)
        found = chromium.find()
        if found is None:
            sys.exit("No Chromium was found. Run `make test`, which installs one, or set CHROMIUM to its path.")
        with ground.gunicorn(environment, "config.wsgi:application") as site, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=Path(found), args=chromium.flags())
            yield Annotating(f"http://127.0.0.1:{site.port}", browser, json.loads(seeded.stdout))
            browser.close()
