"""What the browser tests of the rating page share."""

import json
import uuid
from collections.abc import Callable
from contextlib import suppress

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.urls import reverse
from playwright.sync_api import Page, Route, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from annotate.work import serving
from projects.models import Membership, Project
from tests.processes import wait_until


def start(page: Page, project: Project) -> None:
    """Take a HIT and open its page; only where something comes before it by the button of the desk."""
    hit = serving.claim(find_annotator(page, project))
    if isinstance(hit, uuid.UUID):
        page.goto(reverse("annotate:work-show", args=[project.slug, hit]))
    else:
        page.goto(f"/p/{project.slug}/desk/")
        page.get_by_role("button", name="Start rating").click()
    expect(page.locator("#rate")).to_be_visible()


def find_annotator(page: Page, project: Project) -> Membership:
    """Return the member whose session the page has."""
    (key,) = [each["value"] for each in page.context.cookies() if each["name"] == settings.SESSION_COOKIE_NAME]
    return project.memberships.get(user=SessionStore(key)[SESSION_KEY])


def wait_for_keys(page: Page) -> None:
    """The page's script has begun: one item is current."""
    expect(page.locator(".item.is-current")).to_have_count(1)


def wait_for_the_rest(page: Page) -> None:
    """What the page can do without for a moment has come."""
    expect(page.locator("[data-rubric-body] > *").first).to_be_attached()


def intercept(page: Page, address: str, handler: Callable[[Route], None]) -> None:
    """Route what an open page requests, and wait until it does: a busy browser may let a request pass before."""
    page.route(address, handler)
    page.route("**/is-intercepted", lambda route: route.fulfill(body="yes"))
    page.wait_for_function("async () => (await fetch('/is-intercepted')).ok")


IS_OFFLINE = "async () => fetch('/is-offline', { cache: 'no-store' }).then(() => false, () => true)"


def go_offline(page: Page) -> None:
    """Take the network away, and wait until requests fail: a busy browser may let one pass before."""
    page.context.set_offline(True)
    wait_until(lambda: page.evaluate(IS_OFFLINE), "requests still reach the server")


LIT = """(name) => [...(CSS.highlights.get(name) ?? [])]
  .map((each) => each.startContainer.data.slice(each.startOffset, each.endOffset))"""


def expect_lit(page: Page, name: str, words: list[str]) -> None:
    """Wait until these words of the passage are highlighted under this name: keys work before that."""
    with suppress(PlaywrightTimeoutError):
        wanted = json.dumps(words, ensure_ascii=False, separators=(",", ":"))
        page.wait_for_function(f"([name, wanted]) => JSON.stringify(({LIT})(name)) === wanted", arg=[name, wanted])
    assert page.evaluate(LIT, name) == words
