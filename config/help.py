"""Which section of which guide explains a page: the Help link of every page goes by this table alone.

A section is named as in an address, by its heading in lower case with hyphens: `managers#3-data` is the heading
“3. Data” of docs/managers.md. Where a heading is gone the link still opens the guide, at its top, and a test says
what to change here.
"""

from functools import cache, partial
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from config.navigation import GROUPS
from projects.guides.guides import read_guide

SECTIONS = {
    # Overview and data
    "results:project-overview": "managers#the-whole-procedure-step-by-step",
    "annotate:data-overview": "managers#3-data",
    "annotate:data-passages": "managers#3-data",
    "annotate:data-questions": "managers#3-data",
    "annotate:data-candidates": "managers#3-data",
    "annotate:pair-list": "managers#minimal-pairs",
    "annotate:import-list": "managers#3-data",
    "annotate:import-new": "importing#columns-of-a-candidates-file",
    "annotate:import-show": "importing#columns-of-a-candidates-file",
    "annotate:data-split": "managers#3-data",
    # Task
    "projects:rubric-show": "managers#1-a-project",
    "projects:instructions-edit": "managers#what-annotators-read",
    "projects:consent-edit": "managers#what-annotators-read",
    "annotate:qualification-test": "managers#a-qualification-test",
    # Collection
    "annotate:batch-list": "managers#4-a-batch",
    "annotate:batch-controls": "managers#controls",
    "annotate:control-plan": "managers#controls",
    "annotate:plan-list": "managers#an-overlap-plan",
    "projects:invitation-list": "managers#2-people",
    # Review
    "annotate:submitted-list": "managers#submitted-work",
    "annotate:finding-list": "quality#findings",
    "annotate:quality-list": "quality#what-a-figure-rests-on",
    "annotate:quality-rules": "quality#findings",
    "annotate:remark-list": "managers#5-while-it-runs",
    "annotate:review-list": "quality#spot-checks",
    "annotate:adjudication-list": "managers#7-acting-on-work-and-on-people",
    # Results
    "results:agreement": "researchers#agreement",
    "results:scores": "researchers#scores",
    "results:systems": "researchers#scores",
    "results:metric-list": "researchers#metrics",
    "results:study-list": "researchers#studies",
    "results:planner": "researchers#agreement",
    # Releases
    "results:set-list": "researchers#judgment-sets",
    "results:export-list": "researchers#taking-the-judgments-away",
    # Admin
    "projects:people-list": "managers#2-people",
    "annotate:payment-list": "managers#6-pay",
    "projects:log-list": "managers#5-while-it-runs",
    "projects:token-list": "researchers#by-a-script",
    "projects:project-settings": "managers#1-a-project",
    "projects:project-new": "managers#1-a-project",
    "api:docs": "researchers#by-a-script",
    # What annotators open
    "annotate:project-desk": "annotators#before-you-start",
    "annotate:consent": "annotators#before-you-start",
    "annotate:consent-withdraw": "annotators#stopping",
    "annotate:instructions": "annotators#before-you-start",
    "annotate:instructions-read": "annotators#before-you-start",
    "annotate:qualification": "annotators#a-test-before-the-work",
    "annotate:attempt-show": "annotators#a-test-before-the-work",
    "annotate:attempt-result": "annotators#a-test-before-the-work",
    "annotate:work-show": "annotators#a-hit",
    "annotate:history": "annotators#reading-your-hits-again",
    "annotate:history-show": "annotators#reading-your-hits-again",
    "annotate:revision": "annotators#changing-what-you-submitted",
    "annotate:earnings": "annotators#what-you-earn",
}
"""By URL name. A page that belongs to another one (see `below` in config/navigation.py) goes by that one's line."""

DEFAULT = "annotators#getting-in"
"""Signing in, joining, one's account: whoever reads no guide for managers comes here."""


def find_help(url_name: str) -> str:
    """The address of the guide, and of its section, that explains a page."""
    guide, _hash, section = find_section(url_name).partition("#")
    address = reverse("projects:guide", args=[guide])
    return f"{address}#{section}" if section in read_guide(guide).anchors else address


def find_section(url_name: str) -> str:
    return SECTIONS.get(url_name) or SECTIONS.get(_owners().get(url_name, ""), DEFAULT)


def help_link(request: HttpRequest) -> dict[str, Any]:
    """Template context: where the Help link of the page leads."""
    match = request.resolver_match
    return {"help_url": partial(find_help, match.view_name if match is not None else "")}


@cache
def _owners() -> dict[str, str]:
    """The page of the navigation that each page belongs to."""
    own = {name: page.url_name for group in GROUPS for page in group.pages for name in page.url_names}
    return own | {group.url_name: group.url_name for group in GROUPS if group.url_name}
