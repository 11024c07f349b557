"""Idle connections are asked for their health without a statement, and a closed one is noticed."""

import time
from collections.abc import Iterator

import pytest
from django.db import DataError, connection
from django.db.backends.postgresql import base as postgresql

from projects.database.postgresql import base


@pytest.fixture
def other() -> Iterator[base.DatabaseWrapper]:
    """A second connection with the settings of the test's."""
    wrapper = base.DatabaseWrapper(connection.settings_dict, alias=connection.alias)
    wrapper.connect()
    yield wrapper
    wrapper.close()


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_the_server_ended_is_noticed(other: base.DatabaseWrapper) -> None:
    assert other.is_usable()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [other.connection.get_backend_pid()])
    until = time.monotonic() + 10
    while other.is_usable() and time.monotonic() < until:
        time.sleep(0.01)  # the server closes the connection a moment after it said so
    assert not other.is_usable()


@pytest.mark.django_db(transaction=True)
def test_an_idle_connection_is_asked_nothing(other: base.DatabaseWrapper, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> None:
        raise AssertionError("a statement was sent")

    monkeypatch.setattr(postgresql.DatabaseWrapper, "is_usable", fail)
    assert other.is_usable()


@pytest.mark.django_db(transaction=True)
def test_a_message_of_the_server_is_not_taken_for_an_end(other: base.DatabaseWrapper) -> None:
    with other.cursor() as cursor:
        cursor.execute("LISTEN here")
    with connection.cursor() as cursor:
        cursor.execute("NOTIFY here")
    assert other.is_usable()


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_was_closed_here_is_not_usable(other: base.DatabaseWrapper) -> None:
    other.connection.close()
    assert not other.is_usable()


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_failed_is_not_usable(other: base.DatabaseWrapper) -> None:
    other.set_autocommit(False)
    with pytest.raises(DataError), other.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")
    assert not other.is_usable()
    other.rollback()
    assert other.is_usable()
