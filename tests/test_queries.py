"""No page asks the database many questions, however much there is to show."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from projects.models import Membership, Project, User
from projects.people import invitations
from tests import partitioned_copies, sized_projects
from tests.database import remove_dead_rows
from tests.every_page import addresses, make_samples
from tests.factories import make_batch, make_corpus, make_membership, make_project
from tests.people import SignIn
from tests.routes import all_routes
from tests.test_indexes import LARGE

MOST_QUERIES = 20
LEAST_PAGES = 45
MOST_ROWS = 200
"""What a page may read of a table where the project has one row of it, and others have a thousand."""

ROWS_READ = """
SELECT t.relname, sum(pg_stat_get_xact_tuples_returned(r.oid))::int
FROM pg_class t JOIN pg_class r ON r.oid = t.oid OR r.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = t.oid)
WHERE t.relname = ANY(%s) AND t.relnamespace = 'public'::regnamespace GROUP BY 1
"""


@pytest.mark.django_db
def test_every_page_asks_twenty_queries_at_most_with_a_thousand_judgments(
    project: Project,
    owner: Membership,
    annotator: Membership,
    other_annotator: Membership,
    client_of: SignIn,
    tmp_path: Path,
) -> None:
    remove_dead_rows(least_bytes=0)  # what tests before have undone would be counted as read
    User.objects.filter(memberships=owner).update(can_create_projects=True)
    sized_projects.fill(project, annotator, other_annotator, size="thousand", folder=tmp_path)
    _, token = invitations.create_invitation(actor=owner, role=Membership.Role.RESEARCHER)
    assert owner.user
    assert other_annotator.user
    samples = make_samples(other_annotator, batch=1, token=token)
    todo = list(addresses(samples, owner=owner.user, annotator=other_annotator.user))
    # The first request of a session asks more: whose it is.
    clients = {"owner": client_of(owner), "annotator": client_of(other_annotator)}
    for client in clients.values():
        client.get("/")
    n_shown, too_many = 0, []
    statements: list[str] = []
    for name, who, path in todo:
        client = clients.get(who) or Client()
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
    assert find_readers_of_others(make_small_project(owner), client_of(owner)) == []


def make_small_project(owner: Membership) -> Project:
    """A project of the same owner with a judgment, beside that with many."""
    small = make_project()
    make_membership(small, owner.user, role=Membership.Role.OWNER)
    make_corpus(small, n_candidates=1)
    make_batch(small)
    annotator = make_membership(small)
    sized_projects.submit(annotator, n_items=1)
    return small


def find_readers_of_others(small: Project, client: Client) -> list[str]:
    """The pages of a project that read more rows of the large tables than it has, which are those of others.

    The tables of a test are so small that reading a whole one is often the fastest, so that is forbidden here.
    """
    execute("ANALYZE")
    execute("SET LOCAL enable_seqscan = off")
    found, n_before = [], count_rows_read()
    for route in all_routes():
        if route.parameters != ("slug",) or route.is_api or not route.path.startswith("/p/"):
            continue
        client.get(route.fill({"slug": small.slug}))
        n_after = count_rows_read()
        found += [
            f"{route.path} reads {n - n_before.get(table, 0):,} rows of {table}"
            for table, n in n_after.items()
            if n - n_before.get(table, 0) > MOST_ROWS
        ]
        n_before = n_after
    return found


def count_rows_read() -> dict[str, int]:
    """How many rows this transaction has read of each large table, itself or by one of its indexes."""
    return dict(execute(ROWS_READ, [list(LARGE)]))


def execute(statement: str, parameters: Sequence[Any] = ()) -> list[tuple[str, int]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall()) if cursor.description else []
