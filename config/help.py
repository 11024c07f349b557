"""Which section of which guide explains a page: the table behind the Help link of every page.

A section is named as in an address, by its heading in lower case with hyphens: `managers#overlap-plan` is the heading
“Overlap plan” of docs/managers.md. Where a heading is missing, the link opens the top of the guide, and a test names
the line to change here.
"""

from functools import cache, partial
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from config.navigation.groups import GROUPS
from projects.guides.guides import read_guide

SECTIONS = {
    # Overview and data
    "results:project-overview": "managers#overview",
    "annotate:data-overview": "managers#data",
    "annotate:data-passages": "managers#passages-questions-and-candidates",
    "annotate:data-questions": "managers#passages-questions-and-candidates",
    "annotate:data-candidates": "managers#passages-questions-and-candidates",
    "annotate:pair-list": "managers#minimal-pairs",
    "annotate:import-list": "managers#imports",
    "annotate:import-new": "importing#columns-of-a-candidates-file",
    "annotate:import-show": "importing#columns-of-a-candidates-file",
    "annotate:data-split": "managers#split",
    # Task
    "projects:rubric-show": "managers#rubric",
    "projects:instructions-edit": "managers#instructions",
    "projects:consent-edit": "managers#consent",
    "annotate:survey-list": "managers#surveys",
    "annotate:qualification-test": "managers#qualification-test",
    # Collection
    "annotate:batch-list": "managers#batches",
    "annotate:batch-controls": "managers#controls",
    "annotate:control-plan": "managers#controls",
    "annotate:plan-list": "managers#overlap-plan",
    "projects:invitation-list": "managers#annotators-and-invitations",
    # Review
    "annotate:submitted-list": "managers#submissions",
    "annotate:finding-list": "quality#alerts",
    "annotate:quality-list": "quality#indicators",
    "annotate:quality-controls": "quality#outcomes-of-quality-control",
    "annotate:quality-rules": "quality#alerts",
    "annotate:remark-list": "managers#comments-and-flags",
    "annotate:review-list": "quality#spot-checks",
    "annotate:adjudication-list": "managers#adjudication",
    # Results
    "results:agreement": "researchers#agreement",
    "results:scores": "researchers#human-scores",
    "results:systems": "researchers#systems",
    "results:metric-list": "researchers#automatic-metrics",
    "results:model-list": "operations#models-of-learned-metrics",
    "results:study-list": "researchers#metric-evaluation",
    "results:leaderboard": "researchers#leaderboard",
    "results:training-list": "metrics#a-metric-trained-on-your-judgments",
    "results:training-new": "metrics#a-metric-trained-on-your-judgments",
    "results:training-show": "metrics#a-metric-trained-on-your-judgments",
    "results:planner": "researchers#sample-size-planner",
    # Releases
    "results:set-list": "researchers#judgment-sets",
    "results:export-list": "researchers#raw-export",
    # Admin
    "projects:people-list": "managers#members",
    "annotate:payment-list": "managers#payments",
    "projects:log-list": "managers#audit-log",
    "projects:token-list": "researchers#api-tokens",
    "projects:webhook-list": "managers#webhooks",
    "annotate:panel-list": "managers#people-from-a-panel",
    "annotate:prolific-account": "managers#studies-on-prolific",
    "annotate:prolific-study": "managers#studies-on-prolific",
    "annotate:prolific-study-edit": "managers#studies-on-prolific",
    "annotate:prolific-study-places": "managers#studies-on-prolific",
    "annotate:prolific-submission-reject": "managers#studies-on-prolific",
    "annotate:prolific-bonus-new": "managers#studies-on-prolific",
    "annotate:prolific-bonus-show": "managers#studies-on-prolific",
    "projects:project-settings": "managers#settings",
    "projects:project-new": "managers#projects",
    "api:docs": "researchers#api-tokens",
    # What annotators open
    "annotate:project-desk": "annotators#before-you-start",
    "annotate:consent": "annotators#before-you-start",
    "annotate:survey": "annotators#before-you-start",
    "annotate:consent-withdraw": "annotators#leave-a-study",
    "annotate:instructions": "annotators#before-you-start",
    "annotate:instructions-read": "annotators#before-you-start",
    "annotate:qualification": "annotators#before-you-start",
    "annotate:attempt-show": "annotators#before-you-start",
    "annotate:attempt-feedback": "annotators#before-you-start",
    "annotate:attempt-result": "annotators#before-you-start",
    "annotate:work-show": "annotators#rate-a-hit",
    "annotate:history": "annotators#after-you-submit",
    "annotate:history-show": "annotators#after-you-submit",
    "annotate:revision": "annotators#after-you-submit",
    "annotate:earnings": "annotators#earnings",
}
"""By URL name. A page below another one (`below` in config/navigation/groups.py) has the section of that page."""

DEFAULT = "annotators#join-a-project"
"""For pages outside a project (sign-in, joining, account): the only guide that every reader may open."""


def find_help(url_name: str) -> str:
    """Return the address of the guide that explains a page, with its section if the guide has it."""
    guide, _hash, section = find_section(url_name).partition("#")
    address = reverse("projects:guide", args=[guide])
    return f"{address}#{section}" if section in read_guide(guide).anchors else address


def find_section(url_name: str) -> str:
    """Return the section of a page: its own, that of the page it belongs to, or the default."""
    return SECTIONS.get(url_name) or SECTIONS.get(_owners().get(url_name, ""), DEFAULT)


def help_link(request: HttpRequest) -> dict[str, Any]:
    """Return the template context: the address of the page's Help link.

    The address is a function, which a template calls only where it draws the link: fragments read no guide.
    """
    match = request.resolver_match
    return {"help_url": partial(find_help, match.view_name if match is not None else "")}


@cache
def _owners() -> dict[str, str]:
    """Return, by URL name, the page of the navigation that each page belongs to."""
    own = {name: page.url_name for group in GROUPS for page in group.pages for name in page.url_names}
    return own | {group.url_name: group.url_name for group in GROUPS if group.url_name}
