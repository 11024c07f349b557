"""The log page shows whatever the log holds."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from annotate.models import Batch
from projects import log
from projects.log.messages import Named, describe_act
from projects.models import Act, LogEntry, Membership, Project
from tests.annotate.open_batches import open_batch
from tests.page_reader import Screen, read
from tests.people import SignIn

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("2026-11-21T04:05:06.7Z", "21 Nov 2026, 04:05 UTC"),
        ("2026-11-21T04:05:06+02:00", "21 Nov 2026, 02:05 UTC"),
        ("2026-99-99T99:99:99Z", "2026-99-99T99:99:99Z"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
        ("9999-12-31T23:59:59-14:00", "9999-12-31T23:59:59-14:00"),
    ],
)
def test_what_only_looks_like_a_moment_is_shown_as_it_is(
    manager: Membership, client_of: Callable[[Membership], Client], stored: str, shown: str
) -> None:
    log.record(manager.project, manager, Act.CHANGE_SETTINGS, manager.project, after={"name": stored})
    page = client_of(manager).get(reverse("projects:log-list", args=[manager.project.slug]))
    assert page.status_code == 200
    assert shown in page.content.decode()


def test_nobody_has_to_know_their_own_pseudonym(
    project: Project, owner: Membership, manager: Membership, client_of: SignIn
) -> None:
    for actor in (owner, manager):
        log.record(project, actor, Act.CHANGE_SETTINGS, project, after={"name": actor.pseudonym})
    rows = see(client_of(manager), project).rows("Audit log")
    assert [row["Action"].partition(" changed")[0] for row in rows] == [f"{manager.pseudonym} (you)", owner.pseudonym]


@pytest.fixture
def batch(project: Project) -> Batch:
    return open_batch(project, n_hits=1, n_items=1)


@pytest.fixture
def many(project: Project, owner: Membership, manager: Membership, annotator: Membership, batch: Batch) -> Project:
    """Two hundred lines over forty days, by two people and the system, on three kinds of objects."""
    LogEntry.objects.bulk_create(
        LogEntry(
            project=project,
            actor=(owner, manager, None)[n % 3],
            act=("open batch", "change standing", "change settings", "retire thing")[n % 4],
            object_type=("batch", "membership", "project", "thing")[n % 4],
            object_id=str((batch.pk, annotator.pk, project.pk, "x")[n % 4]),
            before={"state": "draft"},
            after={"state": "open", "n": n},
            why=f"Reason {n}.",
            at=Now() - timedelta(hours=5 * n),
        )
        for n in range(200)
    )
    return project


def see(client: Client, project: Project, **query: Any) -> Screen:
    page = client.get(reverse("projects:log-list", args=[project.slug]), query)
    assert page.status_code == 200
    return read(page.content.decode())


def test_a_line_says_who_did_what_to_what_before_and_after_and_why(
    manager: Membership, client_of: SignIn, batch: Batch
) -> None:
    log.record(
        manager.project,
        manager,
        Act.CLOSE_BATCH,
        batch,
        before={"state": "open", "only": True},
        after={"state": "closed", "n_places": 3},
        why="Enough for now",
    )
    page = see(client_of(manager), manager.project)
    (row,) = page.rows("Audit log")
    assert row["Action"].startswith(f"{manager.pseudonym} (you) closed batch {batch.number}, {batch.name}")
    assert row["Changes"] == "only: yes beforestate: open →, then closedn places: 3"
    assert row["Reason"] == "Enough for now"


def test_hashes_of_a_list_are_shortened_and_a_single_one_is_whole(
    manager: Membership, client_of: SignIn, batch: Batch
) -> None:
    one, other = "0123456789abcdef" * 4, "fedcba9876543210" * 4
    log.record(manager.project, manager, Act.CLOSE_BATCH, batch, after={"sha256": one, "metrics": [one, other, "x"]})
    (row,) = see(client_of(manager), manager.project).rows("Audit log")
    assert f"sha256: {one}" in row["Changes"]
    assert "metrics: 01234567…, fedcba98…, x" in row["Changes"]


@pytest.mark.parametrize(
    ("query", "n"),
    [
        ({}, 200),
        ({"act": "open batch"}, 50),
        ({"actor": "system"}, 66),
        ({"kind": "membership"}, 50),
        ({"act": "open batch", "actor": "system"}, 16),
        ({"q": "Reason 7."}, 1),
        ({"q": "nothing of the kind"}, 0),
        ({"since": "nonsense", "act": "open batch"}, 50),
        ({"since": "9999-12-31"}, 0),
        ({"until": "9999-12-31"}, 200),
        ({"until": "0001-01-01"}, 0),
        ({"act": "x" * 99, "actor": "system"}, 66),
        ({"page": "3"}, 200),
        ({"q": "\x00"}, 200),
    ],
)
def test_filters_narrow_the_log(many: Project, owner: Membership, client_of: SignIn, query: Any, n: int) -> None:
    assert see(client_of(owner), many, **query).count_listed("Audit log") == n


def test_the_filter_names_acts_as_the_pages_do(project: Project, manager: Membership, client_of: SignIn) -> None:
    for act in (Act.ACT_ON_FINDING, Act.OPEN_BATCH):
        log.record(project, manager, act, project)
    page = client_of(manager).get(reverse("projects:log-list", args=[project.slug]), {"act": Act.ACT_ON_FINDING})
    content = " ".join(page.content.decode().split())
    assert '<option value="act on a finding" selected>act on alert</option>' in content
    assert ">open batch</option>" in content


def test_one_day_of_one_object_can_be_read(
    many: Project, owner: Membership, annotator: Membership, client_of: SignIn
) -> None:
    client = client_of(owner)
    about = see(client, many, kind="membership", id=annotator.pk)
    assert about.n_listed == 50
    assert all(annotator.pseudonym in row["Action"] for row in about.rows("Audit log"))
    assert see(client, many, q=annotator.pseudonym).n_listed == 50
    entry = LogEntry.objects.filter(object_type="membership").earliest("at")
    day = entry.at.date().isoformat()
    shown = see(client, many, since=day, until=day)
    assert shown.n_listed == LogEntry.objects.filter(at__date=day).count()
    assert 1 <= (shown.n_listed or 0) <= 5


def test_a_page_of_the_log_asks_few_queries(
    many: Project, owner: Membership, client_of: SignIn, django_assert_max_num_queries: Any
) -> None:
    client = client_of(owner)
    with django_assert_max_num_queries(12):
        assert len(see(client, many).rows("Audit log")) == 50


@pytest.mark.parametrize(
    ("act", "of", "text"),
    [
        ("open batch", Named("batch", "batch 3"), "opened"),
        ("change standing", Named("membership", "a-x"), "changed the status of"),
        ("split passages", None, "assigned splits to passages"),
        ("give bonus", Named("membership", "a-x"), "gave a bonus to"),
        ("invite", Named("invitation", "invitation 4"), "created"),
        ("an act of older days", None, "an act of older days"),
    ],
)
def test_acts_become_words(act: str, of: Named | None, text: str) -> None:
    assert describe_act(act, of) == text


def test_an_object_that_is_gone_keeps_its_number(manager: Membership, client_of: SignIn, batch: Batch) -> None:
    LogEntry.objects.create(
        project=manager.project, actor=None, act="delete batch", object_type="batch", object_id=str(2**40)
    )
    (row,) = see(client_of(manager), manager.project).rows("Audit log")
    assert row["Action"].startswith(f"The system deleted batch {2**40}")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("batch", "this batch"),
        ("instructions", "these instructions"),
        ("alert", "this alert"),
        ("guesses", "these guesses"),
    ],
)
def test_a_filter_by_an_object_is_named_in_its_number(kind: str, words: str) -> None:
    assert Named(kind, "").this == words
