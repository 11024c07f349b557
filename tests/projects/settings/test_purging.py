"""Deleted projects are deleted for good after a while, and nothing else is."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from projects import tasks
from projects.database import erasures
from projects.errors import Refused
from projects.models import Membership, Project, User
from projects.settings import lifecycle, purging
from tests.access_world import make_world
from tests.people import SignIn

pytestmark = pytest.mark.django_db


def count_rows() -> dict[str, int]:
    with connection.cursor() as cursor:
        counts = {}
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT count(*) FROM "{table}"')
            counts[table] = cursor.fetchone()[0]
    return counts


def test_every_row_of_a_project_goes_and_no_other(settings: Settings) -> None:
    """The world of the access test has two projects with rows in nearly every table."""
    make_world()
    ours = Project.objects.get(slug="ours")
    theirs = Project.objects.get(slug="theirs")
    everything, users = count_rows(), User.objects.count()
    for project in (ours, theirs):
        owner = Membership.objects.filter(project=project).first()
        assert owner is not None
        lifecycle.delete_project(project=project, actor=owner, typed=project.slug)
    purging.purge(slug="theirs")
    after_one = count_rows()
    assert list(Project.objects.values_list("slug", flat=True)) == ["ours"]
    assert 0 < after_one["annotate_judgment"] < everything["annotate_judgment"]
    purging.purge(slug="ours")
    of_no_project = {"auth", "axes", "django", "account", "mfa", "socialaccount"}
    left = {table: n for table, n in count_rows().items() if n and table.partition("_")[0] not in of_no_project}
    assert left.pop("projects_user") == users
    assert set(left) <= {"projects_pulse", "projects_guesses"}
    filled = [table for table in everything if everything[table] and table.partition("_")[0] in {"annotate", "results"}]
    assert len(filled) > 20


def test_it_waits_for_its_time_and_a_restored_project_stays(
    project: Project, owner: Membership, settings: Settings
) -> None:
    settings.KEEP_DELETED_DAYS = 30
    lifecycle.delete_project(project=project, actor=owner, typed="bridges")
    tasks.purge_deleted()
    assert Project.objects.filter(slug="bridges").exists()
    Project.objects.update(purged_after=timezone.now() - timedelta(seconds=1))
    lifecycle.restore_project(slug="bridges")
    tasks.purge_deleted()
    assert Project.objects.filter(slug="bridges").exists()
    project.refresh_from_db()
    lifecycle.delete_project(project=project, actor=owner, typed="bridges")
    Project.objects.update(purged_after=timezone.now() - timedelta(seconds=1))
    tasks.purge_deleted()
    assert not Project.objects.exists()
    assert User.objects.filter(memberships=None).exists()


def test_a_wrong_clock_purges_nothing_at_once(
    project: Project,
    owner: Membership,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A month ahead, as after a reset of the machine's clock, for some nights; with and without a purge before."""
    settings.KEEP_DELETED_DAYS = 30
    right = timezone.now()
    lifecycle.delete_project(project=project, actor=owner, typed="bridges")

    def purge_on(day: float) -> bool:
        caplog.clear()
        monkeypatch.setattr("django.utils.timezone.now", lambda: right + timedelta(days=day))
        tasks.purge_deleted()
        return not Project.objects.filter(slug="bridges").exists()

    for first in (31, 1):
        assert not any(purge_on(day) for day in (first, 31, 32, 33))
        assert "Check the clock" in caplog.text
        assert not purge_on(2)
        assert not caplog.records
    nights = [purge_on(day) for day in range(3, 33)]
    assert nights == [False] * 28 + [True] * 2, "With the right clock it goes after 30 days."


def test_nothing_is_purged_where_that_was_not_announced(
    project: Project, owner: Membership, settings: Settings
) -> None:
    """Projects that an earlier version deleted, and those of sites that keep everything."""
    settings.KEEP_DELETED_DAYS = 0
    lifecycle.delete_project(project=project, actor=owner, typed="bridges")
    project.refresh_from_db()
    assert project.purged_after is None
    Project.objects.update(deleted_at=timezone.now() - timedelta(days=1000))
    assert purging.purge_due() == []


def test_the_command_purges_only_what_is_deleted(
    project: Project, owner: Membership, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((Refused, CommandError, SystemExit)):
        call_command("purge_project", "bridges", "--yes")
    with pytest.raises((Refused, CommandError, SystemExit)):
        call_command("purge_project", "nothing", "--yes")
    lifecycle.delete_project(project=project, actor=owner, typed="bridges")
    with pytest.raises(CommandError, match="--yes"):
        call_command("purge_project", "bridges")
    call_command("purge_project", "bridges", "--yes")
    assert "Deleted" in capsys.readouterr().out
    assert not Project.objects.exists()


@pytest.mark.parametrize("is_due", [False, True])
def test_a_restored_backup_does_not_bring_the_project_back(
    project: Project, owner: Membership, settings: Settings, tmp_path: Path, is_due: bool
) -> None:
    settings.SHARED_DIR = tmp_path
    with transaction.atomic():
        lifecycle.delete_project(project=project, actor=owner, typed="bridges")
        Project.objects.update(purged_after=timezone.now() - timedelta(seconds=1))
        if is_due:
            tasks.purge_deleted()
        else:
            purging.purge(slug="bridges")
        transaction.set_rollback(True)  # as if a backup from before were restored: the database is older than the list
    assert Project.objects.filter(slug="bridges").exists()
    assert erasures.repeat_all() == 1
    assert not Project.objects.exists()
    Project.objects.create(pk=project.pk, slug="another")
    assert erasures.repeat_all() == 0
    assert Project.objects.exists()


@pytest.mark.parametrize(
    ("days", "promise"), [(30, "for 30 days; then its data are deleted for good."), (0, "at any time")]
)
def test_the_settings_say_how_long_a_deleted_project_can_be_restored(
    owner: Membership, client_of: SignIn, settings: Settings, days: int, promise: str
) -> None:
    settings.KEEP_DELETED_DAYS = days
    page = client_of(owner).get(reverse("projects:project-settings", args=[owner.project.slug])).content.decode()
    assert f"The site administrator can restore it {promise}" in " ".join(page.split())
