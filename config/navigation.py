"""Where one is in a project: eight groups of pages for those who manage or read it, the desk for annotators."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise, SimpleLazyObject
from django.utils.translation import gettext_lazy

from annotate.models.waiting import MOST_COUNTED, Waiting, count_waiting
from annotate.payments.ledger import pays_anything
from projects.access import Right, has_right
from projects.models import Membership, Project


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
    is_shown: Callable[[Project], bool] | None = None
    count: Callable[[Waiting], int] | None = None

    @property
    def url_names(self) -> tuple[str, ...]:
        return (self.url_name, *self.below)


@dataclass(frozen=True)
class Group:
    """An entry of the first row; it leads to a page of its own, or to the first of its pages that one may see."""

    label: str | Promise
    pages: tuple[Page, ...] = ()
    url_name: str = ""
    right: Right = Right.READ
    is_counted: bool = False


OVERVIEW = Group("Overview", url_name="results:project-overview")

DATA = Group(
    "Data",
    url_name="annotate:data-overview",
    pages=(
        Page("Passages", "annotate:data-passages", below=("annotate:passage-show", "annotate:passage-withdraw")),
        Page("Questions", "annotate:data-questions"),
        Page("Candidates", "annotate:data-candidates", below=("annotate:candidate-withdraw",)),
        Page(
            "Minimal pairs",
            "annotate:pair-list",
            below=("annotate:pair-new", "annotate:pair-edit", "annotate:pair-remove"),
        ),
        Page(
            "Imports",
            "annotate:import-list",
            Right.MANAGE,
            below=(
                "annotate:import-new",
                "annotate:import-show",
                "annotate:import-check",
                "annotate:import-write",
                "annotate:import-reopen",
                "annotate:import-cancel",
            ),
        ),
        Page("Split", "annotate:data-split", Right.MANAGE),
    ),
)

TASK = Group(
    "Task",
    pages=(
        Page(
            "Rubric",
            "projects:rubric-show",
            below=("projects:rubric-version", "projects:rubric-new"),
        ),
        Page(
            "Instructions",
            "projects:instructions-edit",
            Right.MANAGE,
            below=("projects:instructions-version", "annotate:instructions"),
            otherwise="annotate:instructions",
        ),
        Page(
            "Consent",
            "projects:consent-edit",
            Right.MANAGE,
            below=("projects:consent-version", "annotate:consent", "annotate:consent-withdraw"),
            otherwise="annotate:consent",
        ),
        Page(
            "Qualification test",
            "annotate:qualification-test",
            below=(
                "annotate:qualification-make",
                "annotate:qualification-settings",
                "annotate:qualification-rubric",
                "annotate:qualification-new-item",
                "annotate:qualification-file",
                "annotate:qualification-candidates",
                "annotate:qualification-item",
                "annotate:qualification-item-preview",
                "annotate:qualification-item-retire",
                "annotate:qualification-attempts",
                "annotate:qualification-attempt",
                "annotate:qualification-person",
            ),
        ),
    ),
)

COLLECTION = Group(
    "Collection",
    pages=(
        Page(
            "Batches",
            "annotate:batch-list",
            below=(
                "annotate:batch-new",
                "annotate:batch-show",
                "annotate:batch-state",
                "annotate:batch-caps",
                "annotate:batch-wanted",
                "annotate:batch-controls",
                "annotate:control-plan",
                "annotate:control-act",
                "annotate:hit-show",
                "annotate:hit-preview",
                "results:batch-results",
            ),
        ),
        Page(
            "Overlap plan",
            "annotate:plan-list",
            below=("annotate:plan-new", "annotate:plan-show", "annotate:plan-edit", "annotate:plan-start"),
        ),
        Page(
            "Annotators & invitations",
            "projects:invitation-list",
            Right.MANAGE,
            below=("projects:invitation-new",),
        ),
    ),
)

REVIEW = Group(
    "Review",
    right=Right.MANAGE,
    is_counted=True,
    pages=(
        Page(
            "Submissions",
            "annotate:submitted-list",
            Right.MANAGE,
            below=(
                "annotate:submitted-decide",
                "annotate:assignment-show",
                "annotate:assignment-decide",
                "annotate:assignment-item",
            ),
            count=lambda waiting: waiting.submissions,
        ),
        Page(
            "Alerts",
            "annotate:finding-list",
            Right.MANAGE,
            below=("annotate:finding-settle",),
            count=lambda waiting: waiting.alerts,
        ),
        Page(
            "Annotator quality",
            "annotate:quality-list",
            Right.MANAGE,
            below=("annotate:quality-rules", "annotate:annotator-show"),
        ),
        Page(
            "Comments & flags",
            "annotate:remark-list",
            Right.MANAGE,
            count=lambda waiting: waiting.remarks,
        ),
        Page(
            "Spot checks",
            "annotate:review-list",
            Right.MANAGE,
            below=("annotate:review-show", "annotate:review-judge"),
            count=lambda waiting: waiting.spot_checks,
        ),
        Page("Adjudication", "annotate:adjudication-list", Right.MANAGE, below=("annotate:adjudication-settle",)),
    ),
)

RESULTS = Group(
    "Results",
    pages=(
        Page(
            "Agreement",
            "results:agreement",
            below=("results:agreement-annotators", "results:agreement-time"),
        ),
        Page("Human scores", "results:scores", below=("results:disagreements", "results:item")),
        Page("Systems", "results:systems", below=("results:replication",)),
        Page(
            "Automatic metrics",
            "results:metric-list",
            below=(
                "results:metric-new",
                "results:metric-show",
                "results:metric-delete",
                "results:score-file-new",
                "results:score-file",
                "results:score-file-take",
            ),
        ),
        Page(
            "Metric evaluation",
            "results:study-list",
            below=(
                "results:study-new",
                "results:study-show",
                "results:study-compare",
                "results:study-cause",
                "results:study-delete",
            ),
        ),
        Page("Sample-size planner", "results:planner"),
    ),
)

RELEASES = Group(
    "Releases",
    pages=(
        Page(
            "Judgment sets",
            "results:set-list",
            below=("results:set-new", "results:set-show", "results:set-retire", "results:set-succeed"),
        ),
        Page("Raw export", "results:export-list"),
    ),
)

ADMIN = Group(
    "Admin",
    pages=(
        Page(
            "Members",
            "projects:people-list",
            Right.MANAGE,
            below=(
                "projects:member-show",
                "projects:member-reset-link",
                "annotate:member-warn",
                "annotate:member-suspend",
                "annotate:member-remove",
                "annotate:member-restore",
            ),
        ),
        Page(
            "Payments",
            "annotate:payment-list",
            Right.MANAGE,
            below=("annotate:payment-show", "annotate:ledger-show"),
            is_shown=pays_anything,
        ),
        Page("Audit log", "projects:log-list", Right.MANAGE),
        Page("API tokens", "projects:token-list", below=("projects:token-new", "projects:token-rotate")),
        Page(
            "Settings",
            "projects:project-settings",
            Right.MANAGE,
            below=("projects:project-settings-edit", "projects:project-delete"),
        ),
    ),
)

GROUPS = (OVERVIEW, DATA, TASK, COLLECTION, REVIEW, RESULTS, RELEASES, ADMIN)

DESK = Group(
    gettext_lazy("Desk"),
    right=Right.WORK,
    pages=(
        Page(
            gettext_lazy("Desk"),
            "annotate:project-desk",
            Right.WORK,
            below=(
                "annotate:consent",
                "annotate:consent-withdraw",
                "annotate:qualification",
                "annotate:attempt-begin",
                "annotate:attempt-show",
                "annotate:attempt-result",
                "annotate:work-start",
                "annotate:work-show",
                "annotate:work-return",
                "annotate:work-reopen",
            ),
        ),
        Page(
            gettext_lazy("Instructions"),
            "annotate:instructions",
            Right.MEMBER,
            below=("annotate:instructions-read",),
        ),
        Page(
            gettext_lazy("History"),
            "annotate:history",
            Right.MEMBER,
            below=("annotate:history-show", "annotate:history-reply", "annotate:revision"),
        ),
        Page(
            gettext_lazy("Earnings"),
            "annotate:earnings",
            Right.MEMBER,
            is_shown=lambda project: project.is_paid,
        ),
    ),
)
"""The pages of annotators. Whoever manages or reads the project and works in it as well has them as a ninth group."""


@dataclass(frozen=True)
class Link:
    """An entry as it is drawn; `current` is the value of aria-current, empty for every other entry than ours."""

    label: str
    url: str
    current: str = ""
    n_waiting: int = 0

    @property
    def count(self) -> str:
        """How much waits; empty where nothing does."""
        if self.n_waiting >= MOST_COUNTED:
            return f"{MOST_COUNTED - 1}+"
        return str(self.n_waiting) if self.n_waiting else ""


class Navigation:
    """The entries for one member on one page; what is not drawn is not counted either."""

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
        """The pages of the group that we are in."""
        found = []
        for page in self.group.pages if self.group is not None else ():
            is_here = self.url_name in page.url_names
            url = self._find_page_url(page)
            if not url or self._find_group(page.url_name) is not self.group:
                continue
            if is_here or page.is_shown is None or page.is_shown(self.project):
                n_waiting = page.count(self.waiting) if page.count else 0
                found.append(Link(str(page.label), url, self._mark(page) if is_here else "", n_waiting))
        return found

    @cached_property
    def waiting(self) -> Waiting:
        """One statement, asked only where a group or a page with a count is drawn."""
        return count_waiting(self.project)

    @property
    def n_waiting(self) -> int:
        return sum(link.n_waiting for link in self.groups)

    @property
    def current_group(self) -> Link | None:
        return next((link for link in self.groups if link.current), None)

    def _find_group(self, url_name: str) -> Group | None:
        """The group of a page; whoever is an annotator alone has one group, the desk."""
        if not self.offered:
            return DESK if has_right(self.membership, Right.MEMBER) else None
        return next((group for group in self.offered if url_name in find_url_names(group)), None)

    def _find_url(self, group: Group) -> str:
        """The group's own page, or the first of its pages that the member may see; empty where there is none."""
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
        """“page” on the page itself, “true” on a page that belongs to it."""
        has_own = has_right(self.membership, page.right)
        return "page" if self.url_name == (page.url_name if has_own else page.otherwise) else "true"


def find_url_names(group: Group) -> list[str]:
    """The URL names of the group's own page, of its pages and of what belongs to them."""
    own = [group.url_name] if group.url_name else []
    return own + [name for page in group.pages for name in page.url_names]


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Template context: the project that the request has come to, if any, and its navigation for whoever draws it."""
    project = getattr(request, "project", None)
    membership = getattr(request, "membership", None)
    if project is None or membership is None:
        return {}
    match = request.resolver_match
    name = match.view_name if match is not None else ""
    return {
        "project": project,
        "membership": membership,
        "navigation": SimpleLazyObject(lambda: Navigation(project, membership, name)),
    }
