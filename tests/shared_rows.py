"""Rows that the tests of a file share, made once instead of once for each test.

A fixture of the module that needs `module_transaction` makes them. Each test that needs `db` too runs in a savepoint of
that transaction, so what it writes is undone. It loads the rows anew, so what it changes in memory is gone as well.

The tests of such a file belong in one xdist group, since each process makes the rows for itself. Tests that commit, or
that need another connection to see the rows, belong in a file of their own.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import transaction
from pytest_django import DjangoDbBlocker


@pytest.fixture(scope="module")
def module_transaction(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A transaction that is thrown away after the file's last test."""
    with django_db_blocker.unblock(), thrown_away():
        yield


@contextmanager
def thrown_away() -> Iterator[None]:
    """Undo at the end what was written within."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
