"""What a dump is made of has a row of everything, so that the next version's dump can be made when it is wanted."""

from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone
from pytest_django import DjangoDbBlocker, Settings

from projects.models import Project
from projects.settings import purging
from tests import database
from tests.old_data import completeness, filling

pytestmark = pytest.mark.xdist_group("old_data")


def test_no_table_is_empty_and_no_kind_has_no_row(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT, settings.SHARED_DIR = tmp_path / "files", tmp_path
    with django_db_blocker.unblock(), database.copy("filled"):
        filling.fill()
        call_command("verify")
        assert completeness.empty_tables() == []
        assert completeness.missing_kinds() == []
        purge_everything()
        assert completeness.tables_of_projects() == []


def purge_everything() -> None:
    """What leads to a project goes with it, whatever it is; here is a row of everything."""
    Project.objects.filter(deleted_at=None).update(deleted_at=timezone.now())
    for slug in list(Project.objects.values_list("slug", flat=True)):
        purging.purge(slug=slug)
