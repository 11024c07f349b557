"""When a replica is read, and when the server itself: its progress, what it lacks, who writes and who has no right."""

import ssl
from collections.abc import Iterator
from copy import deepcopy
from functools import partial

import pytest
from django.db import OperationalError, connection, connections
from django.http import Http404
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from annotate.models import Import
from projects.api.tokens import make_token
from projects.database import replica, shared_memory
from projects.database.replica import ReplicaPosition, read_from_replica
from projects.errors import Refused
from projects.jobs import running
from projects.models import Membership, Project, User
from tests.people import SignIn
from tests.projects.jobs.making import make_job
from tests.projects.jobs.slow_job import writes

READ_ONLY = "-c default_transaction_read_only=on"
"""What tells the replica of these tests apart: it is the same database."""


class Pair:
    """A server and its replica, with a clock: positions in the log of changes."""

    def __init__(self, settings: Settings) -> None:
        settings.REPLICA_MAX_LAG = 5
        self.now, self.written, self.replayed = 1_000.0, 100, 100
        self.fails = False
        self.progress = ReplicaPosition(clock=lambda: self.now)

    def ask(self, alias: str, sql: str) -> int | None:
        if alias == replica.REPLICA and self.fails:
            raise OperationalError("gone")
        return self.written if alias == "default" else self.replayed

    def look_after(self, seconds: float, *, writing: int = 0) -> bool:
        self.now += seconds
        self.written += writing
        return self.progress.is_current(self.ask)


@pytest.fixture
def pair(settings: Settings) -> Pair:
    return Pair(settings)


def test_a_replica_that_follows_is_current_also_after_a_long_rest(pair: Pair) -> None:
    assert pair.look_after(0)
    assert pair.look_after(3_600)
    for _ in range(10):
        assert pair.look_after(1, writing=50)
        pair.replayed = pair.written - 20  # always a little behind, never further than the last second


def test_a_replica_that_stands_still_is_left_at_the_bound(pair: Pair) -> None:
    """Also if it was cut off: it has replayed all that it received, and its own clock would call it current."""
    assert [pair.look_after(1, writing=10) for _ in range(8)] == [False] * 8, "It was never seen to be current."
    pair.replayed = pair.written
    assert pair.look_after(1)
    assert [pair.look_after(1, writing=10) for _ in range(7)] == [True] * 5 + [False] * 2
    pair.replayed = pair.written - 25
    assert pair.look_after(1, writing=10), "What it lacks is three seconds old."


def test_a_replica_that_fails_is_left_alone_for_a_while(pair: Pair) -> None:
    assert pair.look_after(0)
    pair.fails = True
    assert not pair.look_after(1)
    pair.fails = False
    assert not pair.look_after(9)
    assert pair.look_after(2)


def test_a_replica_that_hangs_holds_up_one_request_only(pair: Pair) -> None:
    assert pair.look_after(0)
    others: list[bool] = []

    def hang(alias: str, sql: str) -> int | None:
        for seconds in (0.5, 1, 8):
            pair.now += seconds
            others.append(pair.progress.is_current(pair.ask))
        return pair.ask(alias, sql)

    pair.now += 1
    assert not pair.progress.is_current(hang)
    assert others[:3] == [True, False, False], "The last look is not too old, but this one takes long."
    assert pair.look_after(20)


def test_a_server_that_is_no_replica_is_not_read(settings: Settings) -> None:
    settings.REPLICA_MAX_LAG = 5
    assert not ReplicaPosition().is_current(lambda alias, _: 100 if alias == "default" else None)


@pytest.fixture
def twin(settings: Settings, transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    """A replica that is as current as the test says, and has what the server has."""
    settings.HAS_REPLICA = True
    pair = Pair(settings)
    monkeypatch.setattr(replica, "_progress", pair.progress)
    monkeypatch.setattr(replica, "_ask", pair.ask)
    named = deepcopy(connection.settings_dict)
    named["OPTIONS"] = {**named["OPTIONS"], "options": READ_ONLY}
    # Of the name that tests may use.
    connections[replica.REPLICA] = type(connections["default"])(named, "default")
    yield pair
    connections[replica.REPLICA].close()
    del connections[replica.REPLICA]


def is_read_only() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SHOW default_transaction_read_only")
        return bool(cursor.fetchone()[0] == "on")


def test_only_what_reads_is_read_there(
    twin: Pair, project: Project, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    broker = settings.CELERY_BROKER_URL
    assert read_from_replica(is_read_only, 1)
    assert not is_read_only()
    asked: list[bool] = []

    def miss(error: Exception) -> None:
        asked.append(is_read_only())
        raise error

    for error in (Http404(), Refused("No such batch.")):
        with pytest.raises(type(error)):
            read_from_replica(partial(miss, error), 1)
    assert asked == [True, False] * 2, "It may be newer than the replica."
    assert read_from_replica(lambda: Project.objects.update(name="Written"), 1) == 1
    assert not is_read_only()
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    shared_memory._connect.cache_clear()
    assert not read_from_replica(is_read_only, 1), "Without the broker nobody knows who has just written."
    twin.now += 10
    replica.note_write(1)
    settings.CELERY_BROKER_URL = broker
    shared_memory._connect.cache_clear()
    assert not read_from_replica(is_read_only, 1), "It has written, which the broker doesn't know."
    assert "can't say who has just written" in caplog.text
    twin.now += 10
    assert read_from_replica(is_read_only, 1)
    twin.replayed = 0
    twin.now += 60
    assert not read_from_replica(is_read_only, 1)


@pytest.mark.parametrize("word", ["CERT_REQUIRED", "required"])
def test_a_brokers_address_may_be_written_as_celery_has_it(settings: Settings, word: str) -> None:
    settings.CELERY_BROKER_URL = f"rediss://10.0.0.5:6379/0?ssl_cert_reqs={word}"
    link = shared_memory._connect.__wrapped__()
    assert vars(link.connection_pool.make_connection())["cert_reqs"] == ssl.CERT_REQUIRED


def test_pages_and_lists_are_read_there_unless_their_reader_has_just_written(
    twin: Pair,
    project: Project,
    manager: Membership,
    researcher: Membership,
    client_of: SignIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[bool] = []
    real = replica._replica

    def watch() -> object:
        seen.append(True)
        return real()

    monkeypatch.setattr(replica, "_replica", watch)
    client, token = client_of(manager), make_token(membership=researcher, name="lists", can_write=False)[1]
    api = Client(headers={"Authorization": f"Bearer {token}"})

    def count(reader: Client, path: str, status: int = 200) -> int:
        seen.clear()
        answer = reader.get(path)
        assert answer.status_code == status, path
        b"".join(answer) if answer.streaming else answer.content
        return len(seen)

    for path in ("", "agreement/", "export/", "export/long.csv"):
        assert count(client, f"/p/bridges/{path}") == 1, path
    assert count(api, "/api/v1/projects/bridges/judgment-sets/") == 1
    exported = b"".join(client.get("/p/bridges/export/long.csv"))
    failing = client.get("/p/bridges/export/long.csv")
    connections[replica.REPLICA].connection.close()
    assert b"".join(failing) == exported, "It failed when the view had returned, and before anything was sent."
    connections[replica.REPLICA].close()
    assert count(client, "/p/bridges/batches/") == 0
    assert count(client, "/p/bridges/settings/") == 0
    client.post("/p/bridges/settings/", {})
    assert count(client, "/p/bridges/agreement/") == 0, "This account has just written."
    assert count(api, "/api/v1/projects/bridges/judgment-sets/") == 1
    shared_memory.forget(f"wrote.{manager.user_id}")
    assert count(client, "/p/bridges/agreement/") == 1
    User.objects.update(can_create_projects=True)
    client.post(reverse("projects:project-new"), {})
    assert count(client, "/p/bridges/agreement/") == 0
    shared_memory.forget(f"wrote.{manager.user_id}")
    assert running.run(Import, make_job(manager).pk, writes(1)) == Import.State.DONE
    assert count(client, "/p/bridges/agreement/") == 0, "This account learns that its job has ended."
    Membership.objects.filter(pk=manager.pk).update(standing=Membership.Standing.REMOVED)
    assert count(client, "/p/bridges/agreement/", status=403) == 0
