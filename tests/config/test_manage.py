"""What `manage.py` does before and after a command: servers that it needs, and faults of the database in one line."""

import errno
import subprocess
import sys
from pathlib import Path
from typing import IO
from unittest.mock import Mock
from urllib.parse import urlsplit

import psycopg2
import pytest
from django.db import Error, InterfaceError, OperationalError, ProgrammingError, connection
from pytest_django import Settings

import manage as manage_py
from config import database_errors, env
from manage import needs_servers
from projects.commands import ReportingCommand
from projects.models import Project
from tests import database, processes


@pytest.mark.parametrize(
    "line",
    [
        "",
        "check",
        "check --deploy",
        "makemigrations --check",
        "collectstatic --noinput",
        "help",
        "help migrate",
        "version",
        "--help",
        "--version",
        "migrate --help",
        "serve -h",
    ],
)
def test_commands_that_need_no_server_start_none(line: str) -> None:
    assert not needs_servers(line.split())


@pytest.mark.parametrize("line", ["migrate", "serve", "shell", "import_candidates x.csv --project p", "verify"])
def test_all_other_commands_find_servers_running(line: str) -> None:
    assert needs_servers(line.split())


def manage(*arguments: str, **over: str) -> subprocess.CompletedProcess[str]:
    return run_program("manage.py", *arguments, **over)


def run_program(*arguments: str, **over: str) -> subprocess.CompletedProcess[str]:
    return run_into(subprocess.PIPE, *arguments, **over)


def run_into(output: int | IO[str], *arguments: str, **over: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=env.BASE_DIR,
        env={**processes.environment(), "ENV_FILE": "", **over},
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


@pytest.mark.django_db
@pytest.mark.parametrize("command", ["verify", "migrate", "serve", "backup"])
def test_a_database_that_is_down_is_named_without_a_traceback(command: str) -> None:
    arguments = ["/tmp/never.tar"] if command == "backup" else []
    done = manage(
        command, *arguments, DATABASE_URL=f"postgres://concord:secret@127.0.0.1:{processes.free_port()}/concord"
    )
    assert done.returncode == 1
    assert "The database can't be reached: " in done.stderr
    assert "Does PostgreSQL run there, and is DATABASE_URL right?" in done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr


@pytest.mark.parametrize(
    "program", ["gunicorn -c python:config.web.options", "celery -A config worker", "celery -A config.celery worker"]
)
def test_programs_without_manage_name_a_wrong_setting_without_a_traceback(program: str) -> None:
    done = run_program("-m", *program.split(), DATABASE_URL="mysql://127.0.0.1/concord", SECRET_KEY="k" * 50)
    assert (done.returncode, done.stderr.splitlines()) == (
        1,
        ["DATABASE_URL must start with postgres:// (PostgreSQL 15 or newer)."],
    )


def test_a_data_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = manage("verify", DATA_DIR=str(tmp_path / "file" / "data"))
    assert done.returncode == 1
    (told,) = done.stderr.splitlines()
    assert told.startswith(f"The data folder {tmp_path}/file/data can't be created: ")


def test_a_web_server_without_its_static_files_does_not_start(tmp_path: Path) -> None:
    """Every page would fail, that of errors too."""
    done = run_program("-m", "gunicorn", "-c", "python:config.web.options", STATIC_ROOT=str(tmp_path))
    assert done.returncode == 1
    assert f" are not in {tmp_path}. Run: manage.py collectstatic --noinput" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", ["check", "verify", "collectstatic"])
def test_a_command_names_a_wrong_setting_without_a_traceback(command: str) -> None:
    done = manage(command, SITE_URL="concord.example.org")
    (told,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert told.endswith("such as https://concord.example.org, not 'concord.example.org'.")
    assert "Traceback" in manage("check", "--traceback", SITE_URL="concord.example.org").stderr


@pytest.mark.parametrize(
    ("site_url", "over", "header"),
    [
        ("https://concord.example.org", {}, "max-age=31536000; includeSubDomains; preload"),
        ("https://concord.example.org", {"HSTS_SUBDOMAINS": "0"}, "max-age=31536000"),
        ("https://www.example.org/concord", {}, "max-age=31536000"),
        ("https://www.example.org/concord", {"HSTS_SUBDOMAINS": "1"}, "max-age=31536000; includeSubDomains; preload"),
        ("http://concord.example.org", {"HSTS_SUBDOMAINS": "1"}, "None"),
    ],
)
def test_a_site_below_a_path_decides_nothing_for_the_subdomains_of_its_host(
    site_url: str, over: dict[str, str], header: str
) -> None:
    ask = """if True:
        import django
        django.setup()
        from django.middleware.security import SecurityMiddleware
        from django.http import HttpResponse
        from django.test import RequestFactory
        request = RequestFactory().get("/", secure=True)
        print(SecurityMiddleware(lambda _: HttpResponse())(request).get("Strict-Transport-Security"))
    """
    host = urlsplit(site_url).hostname or ""
    done = run_program(
        "-c", ask, DJANGO_SETTINGS_MODULE="config.settings", SITE_URL=site_url, ALLOWED_HOSTS=host, **over
    )
    assert (done.stdout.strip(), done.stderr) == (header, "")


@pytest.mark.django_db(transaction=True)
def test_a_database_that_was_not_migrated_is_told_from_a_fault_of_the_code() -> None:
    with database.empty("bare") as link:
        link.close()
        done = manage("verify")
    assert (done.returncode, done.stderr) == (
        1,
        "The database lacks tables of this version of Concord. Run: manage.py migrate\n",
    )


@pytest.mark.django_db(transaction=True)
def test_a_table_that_no_migration_makes_is_a_fault_of_the_code() -> None:
    with pytest.raises(ProgrammingError) as raised, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM never_made")
    assert database_errors.explain(raised.value) == ""


def test_a_file_that_belongs_to_another_user_is_named_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise PermissionError(13, "Permission denied", "/var/lib/concord/backup.lock")

    monkeypatch.setattr(manage_py, "run_command", refuse)
    with pytest.raises(SystemExit, match=r"This user may not use /var/lib/concord/backup\.lock\. Run commands as"):
        manage_py.main()


@pytest.mark.parametrize("arguments", ["routes", "export_judgments --project bridges --format long"])
@pytest.mark.django_db(transaction=True)
def test_an_output_on_a_full_disk_is_named_without_a_traceback(project: Project, arguments: str) -> None:
    with open("/dev/full", "w", encoding="ascii") as full:
        done = run_into(full, "manage.py", *arguments.split())
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        *(
            1,
            "The disk is full, so what the command prints or stores could not be written whole. Free some space there.",
        ),
    )
    assert "Traceback" not in done.stderr


def test_what_a_command_does_goes_on_if_it_can_not_be_printed() -> None:
    """A restore that ended there would keep the site from starting."""
    full = Mock(write=Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
    command = ReportingCommand(stdout=full)
    command.as_json = False
    command.say("Checking the result.")
    full.write.assert_called_once()


def fail(error: psycopg2.Error, kind: type[Error] = OperationalError) -> Error:
    """The error as Django raises it."""
    raised = kind(*error.args)
    raised.__cause__ = error
    return raised


@pytest.mark.parametrize(
    ("error", "is_private", "message"),
    [
        (
            fail(psycopg2.OperationalError("refused")),
            False,
            "The database can't be reached: refused\nDoes",
        ),
        (fail(psycopg2.OperationalError("refused")), True, "The database can't be reached: refused\nIt is the private"),
        (fail(psycopg2.InterfaceError("closed"), InterfaceError), False, "The database can't be reached: closed"),
    ],
)
def test_each_fault_of_the_database_is_told_in_its_words(
    error: Error, is_private: bool, message: str, settings: Settings
) -> None:
    settings.IS_EMBEDDED = is_private
    assert database_errors.explain(error).startswith(message)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("code", "is_private", "message"),
    [
        ("53100", False, "The disk of the database is full: "),
        ("25006", True, "The private database is read-only: it was moved"),
        ("25006", False, "The database of DATABASE_URL is read-only: "),
        ("57P03", False, "The database can't be reached: "),
        ("57014", False, ""),
        ("23505", False, ""),
    ],
)
def test_faults_are_told_apart_by_postgresqls_codes(
    code: str, is_private: bool, message: str, settings: Settings
) -> None:
    settings.IS_EMBEDDED = is_private
    with pytest.raises(Error) as raised, connection.cursor() as cursor:
        cursor.execute(f"DO $$ BEGIN RAISE 'no' USING ERRCODE = '{code}'; END $$")
    assert database_errors.explain(raised.value).startswith(message)
    assert bool(database_errors.explain(raised.value)) == bool(message)
