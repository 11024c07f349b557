"""What a dump is made of has a row of everything, so that the next version's dump can be made when it is wanted."""

from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import DjangoDbBlocker, Settings

from tests import database
from tests.old_data import completeness, filling

pytestmark = pytest.mark.xdist_group("old_data")


def test_no_table_is_empty_and_no_kind_has_no_row(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"
    with django_db_blocker.unblock(), database.empty("filled"):
        call_command("migrate", verbosity=0, interactive=False)
        filling.fill()
        call_command("verify")
        assert completeness.empty_tables() == []
        assert completeness.missing_kinds() == []
