"""A request that waits too long for the database says so, and loses nothing."""

import threading
from collections.abc import Iterator

import pytest
from django.db import connection, transaction
from django.db.backends.signals import connection_created
from django.test import Client
from pytest_django import Settings

from projects.database import timeouts
from projects.database.statement_count import StatementCount
from projects.models import Membership, Project
from tests.people import SignIn


@pytest.fixture
def _limited(settings: Settings, transactional_db: None) -> Iterator[None]:
    settings.STATEMENT_SECONDS, settings.LOCK_SECONDS = 2, 1
    timeouts.limit_statements()
    connection.close()
    yield
    connection_created.disconnect(dispatch_uid="timeouts")
    connection.close()


@pytest.mark.usefixtures("_limited")
def test_a_lock_that_is_not_given_back_is_answered_with_503(
    project: Project, owner: Membership, client_of: SignIn
) -> None:
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            Project.objects.select_for_update().get(pk=project.pk)
            held.set()
            release.wait(60)
        connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(60)
    client: Client = client_of(owner)
    client.raise_request_exception = False
    try:
        page = client.post("/p/bridges/settings/delete/", {"typed": "bridges"})
    finally:
        release.set()
        holder.join()
    assert (page.status_code, page["Retry-After"]) == (503, "10")
    assert "Please try again" in page.content.decode()
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('statement_timeout')")
        assert cursor.fetchone() == ("2s",)


def test_the_limits_behind_a_pooler_outlast_the_request_that_connects(settings: Settings) -> None:
    settings.HAS_POOLER = True
    other = connection.copy()
    for _ in range(2):
        with other.execute_wrapper(StatementCount()):
            timeouts._limit(other)
        assert other.execute_wrappers == [timeouts._limit_transaction]
