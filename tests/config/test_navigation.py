"""The navigation of a project: each page once, the right group and page for every page, and a count of what waits."""

import re
import uuid
from collections import Counter
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.models import Finding, Review
from annotate.models.waiting import Waiting, count_waiting
from annotate.work import serving, submitting
from config.navigation.entries import Link, Navigation
from config.navigation.groups import DESK, GROUPS
from config.navigation.menu import Group, Page
from projects.access import FOR_ANNOTATORS
from projects.models import Membership, Project
from tests import factories
from tests.annotate.open_batches import answered
from tests.every_page import NO_PAGES, answers_get
from tests.people import SignIn
from tests.routes import Route, all_routes

WORDS = {
    "Overview": [],
    "Data": ["Passages", "Questions", "Candidates", "Minimal pairs", "Imports", "Split"],
    "Task": ["Rubric", "Instructions", "Consent", "Surveys", "Qualification test"],
    "Collection": ["Batches", "Overlap plan", "Panels", "Annotators & invitations"],
    "Review": ["Submissions", "Alerts", "Annotator quality", "Comments & flags", "Spot checks", "Adjudication"],
    "Results": [
        "Agreement",
        "Human scores",
        "Systems",
        "Automatic metrics",
        "Metric evaluation",
        "Leaderboard",
        "Sample-size planner",
    ],
    "Releases": ["Judgment sets", "Raw export"],
    "Admin": ["Members", "Payments", "Audit log", "API tokens", "Webhooks", "Settings"],
}
PAGES = [page for group in GROUPS for page in group.pages]


def is_page_of_managers(route: Route) -> bool:
    """Whether a route shows a page of a project to managers: no file, no fragment, nothing of annotators alone."""
    policy = route.policy
    return (
        "<slug:slug>" in route.path
        and not route.is_api
        and not route.name.endswith(NO_PAGES)
        and policy is not None
        and policy.right not in (None, *FOR_ANNOTATORS)
    )


MANAGERS_ROUTES = [route for route in all_routes() if is_page_of_managers(route)]


def navigate(member: Membership, url_name: str) -> Navigation:
    return Navigation(member.project, member, url_name)


def labels(links: list[Link]) -> list[str]:
    return [link.label for link in links]


def test_the_groups_and_their_pages_are_those_of_the_table() -> None:
    assert {str(group.label): [str(page.label) for page in group.pages] for group in GROUPS} == WORDS


@pytest.mark.parametrize("groups", [GROUPS, (DESK,)])
def test_no_page_is_listed_twice(groups: tuple[Group, ...]) -> None:
    names = Counter(name for group in groups for name in group.url_names)
    assert [name for name, n in names.items() if n > 1] == []
    assert len({page.label for page in PAGES}) == len(PAGES)


def test_every_name_is_a_route() -> None:
    names = {route.name for route in all_routes()}
    assert {name for group in (*GROUPS, DESK) for name in group.url_names} <= names


@pytest.mark.django_db
def test_every_page_of_managers_has_one_current_entry(owner: Membership, client_of: SignIn) -> None:
    wrong = []
    for route in MANAGERS_ROUTES:
        samples = {name: uuid.UUID(int=1) if name.endswith("uuid") else 1 for name in route.parameters}
        if answers_get(client_of(owner), route.fill({**samples, "slug": owner.project.slug})):
            found = navigate(owner, route.name)
            pages = [link for link in found.pages if link.current]
            groups = [link for link in found.groups if link.current]
            if len(groups) != 1 or len(pages) != (groups[0].current == "true"):
                wrong.append(route.name)
    assert wrong == [], "Add them to `below` of one page in config/navigation/groups.py."
    assert len(MANAGERS_ROUTES) > 90


@pytest.mark.django_db
@pytest.mark.parametrize("entry", PAGES, ids=lambda entry: entry.url_name)
def test_the_page_bears_the_name_of_its_entry(entry: Page, owner: Membership, client_of: SignIn) -> None:
    address = reverse(entry.url_name, args=[owner.project.slug])
    html = client_of(owner).get(address).content.decode()
    label = str(entry.label).replace("&", "&amp;")
    assert re.search(rf"<title>\s*{label}\s*·", html)
    assert re.search(rf"<h1>\s*{label}\s*</h1>", html)
    assert re.search(rf'<a href="{address}" aria-current="page">\s*<span>{label}</span>', html)


@pytest.mark.django_db
def test_a_page_that_nests_marks_its_group_and_page(owner: Membership) -> None:
    found = navigate(owner, "annotate:batch-caps")
    assert [(link.label, link.current) for link in found.groups if link.current] == [("Collection", "true")]
    assert [(link.label, link.current) for link in found.pages if link.current] == [("Batches", "true")]


@pytest.mark.django_db
def test_the_overview_and_the_data_are_pages_of_their_groups(owner: Membership) -> None:
    for name, label in (("results:project-overview", "Overview"), ("annotate:data-overview", "Data")):
        found = navigate(owner, name)
        assert [(link.label, link.current) for link in found.groups if link.current] == [(label, "page")]
        assert not any(link.current for link in found.pages)


@pytest.mark.django_db
def test_researchers_see_no_review_and_of_admin_their_tokens_alone(project: Project) -> None:
    researcher = factories.make_membership(project, role=Membership.Role.RESEARCHER)
    found = navigate(researcher, "projects:token-list")
    assert labels(found.groups) == ["Overview", "Data", "Task", "Collection", "Results", "Releases", "Admin"]
    assert labels(found.pages) == ["API tokens"]
    assert labels(navigate(researcher, "results:planner").pages) == WORDS["Results"]
    assert labels(navigate(researcher, "annotate:plan-list").pages) == ["Batches", "Overlap plan"]
    task = navigate(researcher, "annotate:instructions")
    assert [(link.label, link.current) for link in task.pages if link.current] == [("Instructions", "page")]


@pytest.mark.django_db
def test_every_entry_opens_for_whoever_sees_it(project: Project, client_of: SignIn) -> None:
    for role in (Membership.Role.OWNER, Membership.Role.MANAGER, Membership.Role.RESEARCHER):
        member = factories.make_membership(project, role=role)
        client = client_of(member)
        for group in GROUPS:
            for name in group.url_names[:1]:
                for link in [*navigate(member, name).groups, *navigate(member, name).pages]:
                    assert client.get(link.url).status_code == 200, (role, link)


@pytest.mark.django_db
def test_annotators_see_their_desk_alone(annotator: Membership, client_of: SignIn) -> None:
    found = navigate(annotator, "annotate:project-desk")
    assert found.groups == []
    assert labels(found.pages) == ["Desk", "Instructions", "History", "Earnings"]
    client = client_of(annotator)
    for link in found.pages:
        assert client.get(link.url).status_code == 200


@pytest.mark.django_db
def test_whoever_manages_and_rates_has_the_desk_as_well(project: Project) -> None:
    both = factories.make_membership(project, role=Membership.Role.MANAGER, is_annotator=True)
    found = navigate(both, "annotate:history")
    assert labels(found.groups) == [*WORDS, "Desk"]
    assert labels(found.pages) == ["Desk", "History", "Earnings"]
    assert labels(navigate(both, "annotate:instructions").pages) == WORDS["Task"]


@pytest.mark.django_db
def test_what_waits_is_counted(owner: Membership, annotator: Membership, client_of: SignIn) -> None:
    factories.make_corpus(owner.project)
    factories.make_batch(owner.project)
    assert count_waiting(owner.project) == Waiting()
    taken = serving.claim(annotator)
    assert isinstance(taken, uuid.UUID)
    submitting.submit(annotator=annotator, assignment_uuid=taken, sent=answered(10, flags=frozenset({0})))
    Finding.objects.create(annotator=annotator, kind="gold")
    Review.objects.create(assignment=annotator.assignments.get())
    assert count_waiting(owner.project) == Waiting(submissions=1, alerts=1, remarks=1, spot_checks=1)
    assert count_waiting(factories.make_project()) == Waiting()
    html = client_of(owner).get(reverse("annotate:finding-list", args=[owner.project.slug])).content.decode()
    counts = re.findall(r'<span>([^<>]*)</span>\s*<span class="nav-count">(\d+)<', html)
    assert {unescape(label): n for label, n in counts} == {
        "Review": "4",
        "Submissions": "1",
        "Alerts": "1",
        "Comments & flags": "1",
        "Spot checks": "1",
    }


@pytest.mark.django_db
def test_what_waits_is_counted_in_two_statements(owner: Membership) -> None:
    with CaptureQueriesContext(connection) as queries:
        found = navigate(owner, "annotate:remark-list")
        assert found.groups
        assert found.pages
    assert len(queries) == 2


@pytest.mark.django_db
def test_nobody_else_is_asked_for_a_count(project: Project, annotator: Membership) -> None:
    researcher = factories.make_membership(project, role=Membership.Role.RESEARCHER)
    # One query asks whether the annotator is paid.
    for member, name, n_queries in ((researcher, "results:agreement", 0), (annotator, "annotate:project-desk", 1)):
        with CaptureQueriesContext(connection) as queries:
            found = navigate(member, name)
            assert found.groups or found.pages
            assert found.n_waiting == 0
        assert len(queries) == n_queries


def test_a_long_queue_is_not_counted_to_its_end() -> None:
    assert [Link("", "", n_waiting=n).count for n in (0, 7, 999, 1000)] == ["", "7", "999", "999+"]
