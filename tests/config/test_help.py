"""The Help link of every page: a guide that is there, at a section that is there, for everybody who sees the page."""

import pytest
from django.urls import reverse

from config.help import DEFAULT, SECTIONS, find_help, find_section
from config.navigation.groups import GROUPS
from projects.access import FOR_ANNOTATORS
from projects.guides.guides import ANNOTATORS, GUIDES, read_guide
from projects.models import Membership
from tests.people import SignIn
from tests.routes import Route, all_routes

ROUTES = {route.name: route for route in all_routes()}


@pytest.mark.parametrize(("url_name", "target"), [*SECTIONS.items(), ("", DEFAULT)])
def test_the_section_is_there(url_name: str, target: str) -> None:
    guide, _hash, section = target.partition("#")
    assert guide in GUIDES, f"config/help.py sends {url_name} to docs/{guide}.md, which is no guide."
    headings = "\n".join(f"  {guide}#{heading.anchor}    ({heading.text})" for heading in read_guide(guide).headings)
    assert section in read_guide(guide).anchors, (
        f"config/help.py sends {url_name or 'every other page'} to {target}, but docs/{guide}.md has no such heading "
        f"any more. Put one of these in its place:\n{headings}"
    )


def test_the_table_names_routes() -> None:
    assert [name for name in SECTIONS if name not in ROUTES] == []


def test_every_page_of_the_navigation_has_a_section_of_its_own_or_of_its_group() -> None:
    own = [name for group in GROUPS for name in (group.url_name, *(page.url_name for page in group.pages)) if name]
    assert [name for name in own if name not in SECTIONS] == [], "Give them a line in config/help.py."
    assert find_section("annotate:batch-caps") == SECTIONS["annotate:batch-list"]


def is_open_to_annotators(route: Route) -> bool:
    policy = route.policy
    return policy is not None and (policy.right in FOR_ANNOTATORS or policy.name in ("public", "signed in"))


@pytest.mark.parametrize(
    "route", [r for r in ROUTES.values() if is_open_to_annotators(r)], ids=lambda route: route.name
)
def test_what_annotators_open_is_explained_in_their_guide(route: Route) -> None:
    if route.name != "api:docs" and not route.is_admin:
        assert find_section(route.name).startswith(f"{ANNOTATORS}#")


def test_a_section_that_is_gone_opens_the_guide_at_its_top(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SECTIONS, "results:scores", "researchers#a-heading-of-last-year")
    assert find_help("results:scores") == reverse("projects:guide", args=["researchers"])


@pytest.mark.django_db
def test_a_page_links_to_its_section(owner: Membership, annotator: Membership, client_of: SignIn) -> None:
    slug = owner.project.slug
    page = client_of(owner).get(reverse("results:agreement", args=[slug])).content.decode()
    assert f'<a href="{find_help("results:agreement")}">Help</a>' in page
    desk = client_of(annotator).get(reverse("annotate:project-desk", args=[slug])).content.decode()
    assert f'<a href="{find_help("annotate:project-desk")}">Help</a>' in desk
