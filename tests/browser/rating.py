"""What the browser tests of the rating page share."""

import json
from contextlib import suppress

from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from projects.models import Project


def start(page: Page, project: Project) -> None:
    page.goto(f"/p/{project.slug}/desk/")
    page.get_by_role("button", name="Start rating").click()
    expect(page.locator("#rate")).to_be_visible()


def wait_for_keys(page: Page) -> None:
    """The page's script has begun: one item is current."""
    expect(page.locator(".item.is-current")).to_have_count(1)


LIT = """(name) => [...(CSS.highlights.get(name) ?? [])]
  .map((each) => each.startContainer.data.slice(each.startOffset, each.endOffset))"""


def expect_lit(page: Page, name: str, words: list[str]) -> None:
    """Wait until these words of the passage are highlighted under this name: keys work before that."""
    with suppress(PlaywrightTimeoutError):
        wanted = json.dumps(words, ensure_ascii=False, separators=(",", ":"))
        page.wait_for_function(f"([name, wanted]) => JSON.stringify(({LIT})(name)) === wanted", arg=[name, wanted])
    assert page.evaluate(LIT, name) == words
