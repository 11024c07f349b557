"""A page of an empty list offers to create the first object once, not in its head and in the list's place as well."""

import pytest

from projects.models import Membership, Project
from tests.factories import make_candidates, make_dataset, make_passage, make_question
from tests.people import SignIn

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("page", "new"),
    [
        ("tokens/", "tokens/new/"),
        ("webhooks/", "webhooks/new/"),
        ("people/invitations/", "people/invitations/new/"),
        ("plans/", "plans/new/"),
        ("panels/", "panels/new/"),
        ("sets/", "sets/new/"),
        ("trainings/", "trainings/new/"),
        ("data/imports/", "data/imports/new/"),
        ("batches/", "batches/new/"),
        ("metrics/", "metrics/new/"),
        ("studies/", "studies/new/"),
    ],
)
def test_an_empty_list_offers_its_first_object_once(
    page: str, new: str, project: Project, owner: Membership, client_of: SignIn
) -> None:
    make_candidates(make_question(make_passage(make_dataset(project, "study"), "p1"), "q1"))
    text = client_of(owner).get(f"/p/{project.slug}/{page}").content.decode()
    assert text.count(f'href="/p/{project.slug}/{new}"') == 1
