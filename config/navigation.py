"""The project's tabs: what each role sees at the top of every project page."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from annotate.payments.ledger import pays_anything
from projects.access import Right, has_right
from projects.models import Membership, Project


@dataclass(frozen=True)
class Tab:
    label: str
    url: str
    is_current: bool


DESK_FOLDERS = ("history/", "instructions/", "earned/", "qualification/", "consent/")

TABS = [
    (_("Desk"), "annotate:project-desk", Right.WORK, DESK_FOLDERS),
    (_("Overview"), "results:project-overview", Right.READ, ()),
    (_("Data"), "annotate:data-overview", Right.READ, ()),
    (_("Qualification"), "annotate:qualification-test", Right.READ, ()),
    (_("Batches"), "annotate:batch-list", Right.READ, ("plans/",)),
    (_("Submitted"), "annotate:submitted-list", Right.MANAGE, ()),
    (_("Remarks"), "annotate:remark-list", Right.READ, ()),
    (_("Quality"), "annotate:quality-list", Right.MANAGE, ()),
    (_("Agreement"), "results:agreement", Right.READ, ("adjudication/",)),
    (_("Scores"), "results:scores", Right.READ, ()),
    (_("Metrics"), "results:metric-list", Right.READ, ()),
    (_("Studies"), "results:study-list", Right.READ, ()),
    (_("Judgment sets"), "results:set-list", Right.READ, ("export/",)),
    (_("People"), "projects:people-list", Right.MANAGE, ()),
    (_("Payments"), "annotate:payment-list", Right.MANAGE, ()),
    (_("Log"), "projects:log-list", Right.MANAGE, ()),
    (
        _("Settings"),
        "projects:project-settings",
        Right.READ,
        ("rubric/", "instructions/edit/", "consent/edit/", "tokens/"),
    ),
]
"""Label, page, right, and further folders of the project that stand under the tab."""

ONLY_IF: dict[str, Callable[[Project], bool]] = {"annotate:payment-list": pays_anything}
"""Pages that have nothing to say in some projects."""


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Template context: the project that the request has come to, if any, and its tabs for whoever draws them."""
    project = getattr(request, "project", None)
    membership = getattr(request, "membership", None)
    if project is None or membership is None:
        return {}
    return {
        "project": project,
        "membership": membership,
        "tabs": SimpleLazyObject(lambda: _tabs(project, membership, request.path)),
    }


def _tabs(project: Project, membership: Membership, path: str) -> list[Tab]:
    """The tabs that the membership gives; the current one is that with the longest folder around the path."""
    overview = project.get_absolute_url()
    shown = [
        (str(label), reverse(name, args=[project.slug]), [overview + folder for folder in further])
        for label, name, right, further in TABS
        if has_right(membership, right) and (name not in ONLY_IF or ONLY_IF[name](project))
    ]
    around = {
        label: max((len(folder) for folder in [url, *further] if _is_in(path, folder, overview)), default=0)
        for label, url, further in shown
    }
    longest = max(around.values(), default=0)
    return [Tab(label, url, around[label] == longest > 0) for label, url, _further in shown]


def _is_in(path: str, folder: str, overview: str) -> bool:
    return path == folder or (folder != overview and path.startswith(folder))
