"""A real replica by streaming replication: what it answers, and what it never does, also while it lags or is gone."""

import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.test import Client
from pytest_django import DjangoDbBlocker, Settings

from annotate.integrity import verifying
from annotate.work import serving, submitting
from config import data_folder, env
from config.servers import postgres
from projects.database import replica
from projects.models import Membership
from tests import database, factories
from tests.annotate.open_batches import answered, open_batch
from tests.config import other_servers
from tests.processes import wait_until

pytestmark = [pytest.mark.race, pytest.mark.drill]


@dataclass(frozen=True)
class Replica:
    """A running replica of the server that Django's connection leads to."""

    address: str
    stop: Callable[[], None]
    n_read: list[bool]
    """As many as pages were read from it."""


@pytest.fixture
def follower(
    settings: Settings, django_db_setup: None, django_db_blocker: DjangoDbBlocker, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Replica]:
    major, release = max(postgres.find_releases().items())
    with ExitStack() as stack:
        first = stack.enter_context(database.servers_folder("server"))
        second = stack.enter_context(database.servers_folder("replica"))
        address = stack.enter_context(other_servers.running(first, major, release, monkeypatch))
        copy(first, second, release, monkeypatch)
        behind = stack.enter_context(ExitStack())
        other = behind.enter_context(other_servers.running(second, major, release, monkeypatch))
        stack.enter_context(django_db_blocker.unblock())
        stack.enter_context(database.pointed_at(address))
        call_command("migrate", verbosity=0, interactive=False)
        settings.HAS_REPLICA, settings.REPLICA_MAX_LAG = True, 2
        monkeypatch.setattr(replica, "_progress", replica.ReplicaPosition())
        monkeypatch.setattr(replica, "_may_have_written", lambda _: False)
        n_read, real = [], replica._replica

        def watch() -> AbstractContextManager[None]:
            n_read.append(True)
            return real()

        monkeypatch.setattr(replica, "_replica", watch)
        named = {**connection.settings_dict, **env.database(other)}
        connections[replica.REPLICA] = type(connections["default"])(named, "default")
        yield Replica(other, behind.close, n_read)
        connections[replica.REPLICA].close()
        del connections[replica.REPLICA]


def copy(first: Path, second: Path, release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy a running server, as one that follows it."""
    with monkeypatch.context() as patch:
        patch.setenv("DATA_DIR", str(first))
        login = data_folder.database_settings()
        address = f"postgres://{login['USER']}:{login['PASSWORD']}@/?host={quote(login['HOST'])}"
        patch.setenv("DATA_DIR", str(second))
        shutil.copy(first / "postgres_password", second)
        server = postgres.Postgres(second, releases={0: release})
        server.make_own_dir(server.run)
        server.make_own_dir(server.home)
        programs = server._readable_copy(release) if server.user else release / "bin"
        server.call(programs / "pg_basebackup", "-d", address, "-D", server.home, "-R", "-c", "fast", "--no-sync")


def test_a_replica_answers_while_it_is_current_and_never_about_rights(follower: Replica) -> None:
    project = factories.make_project("bridges")
    factories.make_rubric(project)
    reader = factories.make_membership(project, role=Membership.Role.RESEARCHER)
    open_batch(project, n_hits=4, n_items=1)
    rater = factories.make_membership(project)
    client = Client()
    client.force_login(reader.user, backend="django.contrib.auth.backends.ModelBackend")  # type: ignore[arg-type]

    def rate() -> None:
        found = serving.claim(rater)
        assert isinstance(found, uuid.UUID)
        submitting.submit(annotator=rater, assignment_uuid=found, sent=answered(1))

    def count_exported() -> int:
        page = client.get("/p/bridges/export/long.csv")
        assert page.status_code == HTTPStatus.OK
        return b"".join(page).count(b"\n") - 1

    def is_read() -> bool:
        follower.n_read.clear()
        assert client.get("/p/bridges/").status_code == HTTPStatus.OK
        return bool(follower.n_read)

    rate()
    wait_until(is_read, "The replica is never current.")
    wait_until(lambda: count_exported() == 1)
    other_servers.ask(follower.address, "SELECT pg_wal_replay_pause()")
    rate()
    wait_until(lambda: not is_read(), "A replica that stands still is still read.")
    assert count_exported() == 2
    other_servers.ask(follower.address, "SELECT pg_wal_replay_resume()")
    wait_until(is_read, "The replica is not read again.")
    assert count_exported() == 2
    other_servers.ask(follower.address, "SELECT pg_wal_replay_pause()")
    Membership.objects.filter(pk=reader.pk).update(standing=Membership.Standing.REMOVED)
    assert client.get("/p/bridges/").status_code == HTTPStatus.FORBIDDEN
    Membership.objects.filter(pk=reader.pk).update(standing=Membership.Standing.ACTIVE)
    other_servers.ask(follower.address, "SELECT pg_wal_replay_resume()")
    wait_until(is_read)
    follower.stop()
    assert count_exported() == 2
    assert not is_read()
    assert verifying.verify() == []
