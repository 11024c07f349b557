"""The log page shows whatever the log holds."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from projects import log
from projects.models import Membership

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
    log.record(manager.project, manager, "change settings", manager.project, after={"name": stored})
    page = client_of(manager).get(reverse("projects:log-list", args=[manager.project.slug]))
    assert page.status_code == 200
    assert shown in page.content.decode()
