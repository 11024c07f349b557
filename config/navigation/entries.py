"""The entries of the navigation for one member on one page, with the counts of what waits."""

from dataclasses import dataclass
from functools import cached_property

from django.urls import reverse

from annotate.models.waiting import MOST_COUNTED, Waiting, count_waiting
from config.navigation.groups import DESK, GROUPS
from config.navigation.menu import Group, Page
from projects.access import Right, has_right
from projects.models import Membership, Project


@dataclass(frozen=True)
class Link:
    """An entry as it is drawn; `current` is its value of aria-current, empty on every entry but the current one."""

    label: str
    url: str
    current: str = ""
    n_waiting: int = 0

    @property
    def count(self) -> str:
        """Return the number to show beside the entry, or "" where nothing waits."""
        if self.n_waiting >= MOST_COUNTED:
            return f"{MOST_COUNTED - 1}+"
        return str(self.n_waiting) if self.n_waiting else ""


class Navigation:
    """The entries for one member on one page. Counts are taken only for entries that are drawn."""

    def __init__(self, project: Project, membership: Membership, url_name: str) -> None:
        self.project, self.membership, self.url_name = project, membership, url_name
        self.offered = [
            group for group in (*GROUPS, DESK) if membership.can_read and has_right(membership, group.right)
        ]
        self.group = self._find_group(url_name)

    @cached_property
    def groups(self) -> list[Link]:
        return [
            Link(str(group.label), url, self._mark_group(group), self.waiting.total if group.is_counted else 0)
            for group in self.offered
            if (url := self._find_url(group))
        ]

    @cached_property
    def pages(self) -> list[Link]:
        """Return the entries of the second row: the pages of the current group."""
        found = []
        for page in self.group.pages if self.group is not None else ():
            is_here = self.url_name in page.url_names
            url = self._find_page_url(page)
            if not url or self._find_group(page.url_name) is not self.group:
                continue
            if is_here or page.is_shown is None or page.is_shown(self.membership):
                n_waiting = page.count(self.waiting) if page.count else 0
                found.append(Link(str(page.label), url, self._mark(page) if is_here else "", n_waiting))
        return found

    @cached_property
    def waiting(self) -> Waiting:
        """Count what waits, by one statement and only where an entry with a count is drawn."""
        return count_waiting(self.project)

    @property
    def n_waiting(self) -> int:
        return sum(link.n_waiting for link in self.groups)

    @property
    def current_group(self) -> Link | None:
        return next((link for link in self.groups if link.current), None)

    def _find_group(self, url_name: str) -> Group | None:
        """Return the group of a page; a member who only annotates has one group, the desk."""
        if not self.offered:
            return DESK if has_right(self.membership, Right.MEMBER) else None
        return next((group for group in self.offered if url_name in group.url_names), None)

    def _find_url(self, group: Group) -> str:
        """Return the address of the group's own page, or of the first of its pages that the member may see, else ""."""
        if group.url_name:
            return reverse(group.url_name, args=[self.project.slug])
        return next((url for page in group.pages if (url := self._find_page_url(page))), "")

    def _find_page_url(self, page: Page) -> str:
        name = page.url_name if has_right(self.membership, page.right) else page.otherwise
        return reverse(name, args=[self.project.slug]) if name else ""

    def _mark_group(self, group: Group) -> str:
        if group is not self.group:
            return ""
        return "page" if self.url_name == group.url_name else "true"

    def _mark(self, page: Page) -> str:
        """Return the value of aria-current: “page” on the page itself, “true” on a page below it."""
        has_own = has_right(self.membership, page.right)
        return "page" if self.url_name == (page.url_name if has_own else page.otherwise) else "true"
