"""The project's tabs: what each role sees at the top of every project page."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from projects.access import Right, has_right


@dataclass(frozen=True)
class Tab:
    label: str
    url: str
    is_current: bool


TABS = [
    ("Desk", "annotate:project-desk", Right.WORK),
    ("Overview", "results:project-overview", Right.READ),
    ("Data", "annotate:data-overview", Right.READ),
    ("Batches", "annotate:batch-list", Right.READ),
    ("Remarks", "annotate:remark-list", Right.READ),
    ("Agreement", "results:agreement", Right.READ),
    ("Export", "results:export-list", Right.READ),
    ("People", "projects:people-list", Right.MANAGE),
    ("Log", "projects:log-list", Right.MANAGE),
    ("Settings", "projects:project-settings", Right.READ),
]


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Template context: the tabs of the project that the request has come to, if any."""
    project = getattr(request, "project", None)
    membership = getattr(request, "membership", None)
    if project is None or membership is None:
        return {}
    tabs = []
    for label, name, right in TABS:
        if not has_right(membership, right):
            continue
        url = reverse(name, args=[project.slug])
        tabs.append((label, url))
    path, overview = request.path, project.get_absolute_url()
    best = max(
        (url for _, url in tabs if path == url or (url != overview and path.startswith(url))), key=len, default=""
    )
    return {
        "project": project,
        "membership": membership,
        "tabs": [Tab(label, url, url == best) for label, url in tabs],
    }
