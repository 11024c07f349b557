"""No page asks the database many questions, however much there is to show."""

from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from projects.models import Membership, Project, User
from projects.people import invitations
from tests import sized_projects
from tests.every_page import addresses, make_samples
from tests.people import SignIn

MOST_QUERIES = 20
LEAST_PAGES = 45


@pytest.mark.django_db
def test_every_page_asks_twenty_queries_at_most_with_a_thousand_judgments(
    project: Project,
    owner: Membership,
    annotator: Membership,
    other_annotator: Membership,
    client_of: SignIn,
    tmp_path: Path,
) -> None:
    User.objects.filter(memberships=owner).update(can_create_projects=True)
    sized_projects.fill(project, annotator, other_annotator, size="thousand", folder=tmp_path)
    _, token = invitations.create_invitation(actor=owner, role=Membership.Role.RESEARCHER)
    assert owner.user
    assert other_annotator.user
    samples = make_samples(other_annotator, batch=1, token=token)
    todo = list(addresses(samples, owner=owner.user, annotator=other_annotator.user))
    people = {"owner": owner, "annotator": other_annotator}
    n_shown, too_many = 0, []
    for name, who, path in todo:
        client = client_of(people[who]) if who in people else Client()
        with CaptureQueriesContext(connection) as queries:
            response = client.get(path)
        n_shown += response.status_code == 200
        if len(queries) > MOST_QUERIES:
            too_many.append(f"{name} for {who}: {len(queries)}")
    assert not too_many, "\n".join(too_many)
    assert n_shown >= LEAST_PAGES
