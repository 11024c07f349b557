"""What the navigation is made of: groups of pages, each with the right that shows it."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.functional import Promise

from annotate.models.waiting import Waiting
from projects.access import Right
from projects.models import Membership


@dataclass(frozen=True)
class Page:
    """A page of the second row: its label, its URL name, the right that shows it, and the pages that belong to it.

    Whoever lacks the right gets the page of `otherwise`, if there is one.
    """

    label: str | Promise
    url_name: str
    right: Right = Right.READ
    below: tuple[str, ...] = ()
    otherwise: str = ""
    is_shown: Callable[[Membership], bool] | None = None
    count: Callable[[Waiting], int] | None = None

    @property
    def url_names(self) -> tuple[str, ...]:
        return (self.url_name, *self.below)


@dataclass(frozen=True)
class Group:
    """An entry of the first row. It leads to its own page, or to the first of its pages that the member may see."""

    label: str | Promise
    pages: tuple[Page, ...] = ()
    url_name: str = ""
    right: Right = Right.READ
    is_counted: bool = False

    @property
    def url_names(self) -> list[str]:
        """The URL names of the group's own page, of its pages and of the pages below these."""
        own = [self.url_name] if self.url_name else []
        return own + [name for page in self.pages for name in page.url_names]
