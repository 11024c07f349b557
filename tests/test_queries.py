"""No page asks the database many questions, however much there is to show."""

from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from projects.models import Membership, Project, User
from projects.people import invitations
from tests import partitioned_copies, sized_projects
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
    statements: list[str] = []
    for name, who, path in todo:
        client = client_of(people[who]) if who in people else Client()
        with CaptureQueriesContext(connection) as queries:
            response = client.get(path)
        statements += [query["sql"] for query in queries.captured_queries]
        n_shown += response.status_code == 200
        if len(queries) > MOST_QUERIES:
            too_many.append(f"{name} for {who}: {len(queries)}")
    assert not too_many, "\n".join(too_many)
    assert n_shown >= LEAST_PAGES

    # The log may be partitioned by project: every statement of a page reads one partition. Judgments and drafts do not
    # name their project, so none of theirs does; docs/operations.md says what a partition of these would need.
    partitioned_copies.make_copies()
    by_table = partitioned_copies.sort_by_pruning(statements)
    for table, kinds in by_table.items():
        print(f"{table}: {len(kinds[True])} of {len(kinds[True]) + len(kinds[False])} statements read one partition")
    assert by_table["projects_logentry"][True]
    assert not by_table["projects_logentry"][False]
