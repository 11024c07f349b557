"""A test leaves empty tables, whatever else is at work on them."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from projects.models import Membership, User
from tests.database import another_session, flush_by_delete
from tests.processes import wait_until


@pytest.mark.django_db(transaction=True)
def test_a_request_that_locks_in_another_order_does_not_stop_the_flush(annotator: Membership) -> None:
    with ThreadPoolExecutor(1) as pool, another_session() as link, link.cursor() as cursor:
        cursor.execute("BEGIN; UPDATE projects_user SET last_name = 'Lovelace'")
        flushing = pool.submit(_flush)
        wait_until(_is_waited_for, "the flush doesn't wait for the request")
        cursor.execute("UPDATE projects_membership SET standing = standing")
        cursor.execute("COMMIT")
        flushing.result()
    assert not User.objects.exists()


def _flush() -> None:
    try:
        flush_by_delete()
    finally:
        connection.close()


def _is_waited_for() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'")
        return cursor.fetchone() is not None
