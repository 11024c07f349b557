"""The way from page to page by the navigation, as whoever manages a project goes it on a wide screen."""

import re

from playwright.sync_api import Page


def go_to(page: Page, group: str, entry: str = "") -> None:
    """Open a group, then one of its pages; a group alone opens its first page. Counts may follow the names."""
    row = page.get_by_role("navigation", name="Project")
    row.locator(".nav-groups").get_by_role("link", name=re.compile(f"^{group}")).click()
    if entry:
        row.locator(".nav-pages").get_by_role("link", name=re.compile(f"^{entry}")).click()
