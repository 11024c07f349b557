"""Helpers of races: what another database of the same server waits for is nothing to wait for."""

import threading

import pytest

from tests import database
from tests.concurrency import has_waiter
from tests.processes import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]


def test_only_those_who_wait_in_this_database_count() -> None:
    with database.another_session() as holder, database.another_session() as waiter:
        holder.cursor().execute("BEGIN; LOCK TABLE projects_project IN EXCLUSIVE MODE")
        thread = threading.Thread(target=lambda: waiter.cursor().execute("LOCK TABLE projects_project; COMMIT"))
        thread.start()
        try:
            wait_until(lambda: has_waiter("projects_project"))
            assert has_waiter()
            assert not has_waiter("projects_user")
            with database.copy("elsewhere"):
                assert not has_waiter()
        finally:
            holder.cursor().execute("ROLLBACK")
            thread.join()
