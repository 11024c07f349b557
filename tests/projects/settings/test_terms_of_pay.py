"""The settings of pay: when HITs are approved by themselves, and the least that an hour should give."""

import pytest
from django.urls import reverse

from projects.models import LogEntry, Membership, Project
from projects.settings.forms import SettingsForm
from tests.people import SignIn

pytestmark = pytest.mark.django_db


def save(owner: Membership, client_of: SignIn, **over: str) -> int:
    sent = {name: "" if value is None else value for name, value in SettingsForm.make_initial(owner.project).items()}
    address = reverse("projects:project-settings-edit", args=[owner.project.slug])
    return client_of(owner).post(address, {**sent, **over}).status_code


@pytest.mark.parametrize(
    ("days", "floor", "stored", "text"),
    [
        ("3", "900", (3, 900), "automatic after 3 days"),
        ("0", "", (0, None), "automatic, immediately"),
        ("", "0", (None, 0), "by a manager"),
    ],
)
def test_they_are_kept_shown_and_logged(
    project: Project,
    owner: Membership,
    client_of: SignIn,
    days: str,
    floor: str,
    stored: tuple[int | None, int | None],
    text: str,
) -> None:
    assert save(owner, client_of, approve_after_days=days, hourly_floor_cents=floor) == 302
    project.refresh_from_db()
    assert (project.approve_after_days, project.hourly_floor_cents) == stored
    page = client_of(owner).get(reverse("projects:project-settings", args=[project.slug])).content.decode()
    assert text in page
    assert ("$9.00" in page) is (floor == "900")
    after = LogEntry.objects.get(act="change settings").after
    assert after is not None
    assert after["approve_after_days"] == stored[0]


@pytest.mark.parametrize(
    "over", [{"approve_after_days": "366"}, {"approve_after_days": "-1"}, {"hourly_floor_cents": "1000001"}]
)
def test_limits_hold(project: Project, owner: Membership, client_of: SignIn, over: dict[str, str]) -> None:
    assert save(owner, client_of, **over) == 200
    assert not LogEntry.objects.filter(act="change settings").exists()
