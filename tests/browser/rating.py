"""What the browser tests of the rating page share."""

from playwright.sync_api import Page, expect

from projects.models import Project


def start(page: Page, project: Project) -> None:
    page.goto(f"/p/{project.slug}/desk/")
    page.get_by_role("button", name="Start rating").click()
    expect(page.locator("#rate")).to_be_visible()


def wait_for_keys(page: Page) -> None:
    """The page's script has begun: one item is current."""
    expect(page.locator(".item.is-current")).to_have_count(1)


def lit(page: Page, name: str) -> list[str]:
    """The words of the passage that are highlighted under this name."""
    found: list[str] = page.evaluate(
        """(name) => [...(CSS.highlights.get(name) ?? [])]
          .map((each) => each.startContainer.data.slice(each.startOffset, each.endOffset))""",
        name,
    )
    return found
