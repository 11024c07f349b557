"""What a site keeps to itself: secrets in no file of the repository, and nothing that somebody typed in its log."""

import ast
import io
import logging
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.test import Client

from annotate.onboarding import former_participants
from annotate.places import seeds
from annotate.work import serving
from config.backups.backing_up import fingerprint_key
from config.celery import app
from config.log_formats import JsonFormatter
from config.monitoring import request_log
from projects.accounts import passwords
from projects.accounts.adapters import FactorAdapter
from projects.models import Membership, Project
from projects.tasks import purge_deleted
from tests.annotate.open_batches import open_batch
from tests.people import SignIn

ROOT = Path(__file__).parents[2]
KEYS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_\w{30,}|\bhf_[A-Za-z]{30,}|\bxox[bp]-\w{10,}"
)
"""Private keys, and tokens of services that mark theirs."""
FOLDERS = ("annotate", "benchmarks", "client", "config", "demo", "docs", "measures", "projects", "results", "tests")
SECRET = re.compile(r"SECRET|PASSWORD|TOKEN|_KEY")
PLANTED = "pl4nt3d"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the site itself writes: its own handler with its filters, into a text."""
    handlers = [each for each in logging.getLogger().handlers if getattr(each, "stream", None) and each.filters]
    (console,) = [each for each in handlers if isinstance(each, logging.StreamHandler)]
    written = io.StringIO()
    before = console.setStream(written)
    yield written
    console.setStream(before)


def test_no_file_holds_a_key_of_a_service() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    assert len(files) > 1_000
    found = [path for path in files if path != Path(__file__) and KEYS.search(path.read_text("latin-1"))]
    assert found == []


SHORT_LIVED = {
    "projects/accounts/first_owner.py": "a code that the start of the site shows, until somebody has typed it",
    "projects/web/keyed_forms.py": "the secret of a form that is sent twice",
    "projects/web/previews.py": "the numbers of a preview, until it is confirmed",
    "projects/web/uploads.py": "the folder of an upload that waits for its form",
}
"""Where the name of a module is the salt of a hash, and no hash outlives an update of the site."""


def test_what_is_stored_does_not_depend_on_names_of_modules() -> None:
    """With the name of its module as a salt, a hash or a secret would be lost on the day that the module moves."""
    salted = {
        path.relative_to(ROOT).as_posix()
        for folder in ("annotate", "config", "measures", "projects", "results")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and re.search(r"salted_hmac|crypt$|\.(dumps|loads)$", ast.unparse(node.func))
        if any(ast.unparse(each) == "__name__" for each in (*node.args, *(word.value for word in node.keywords)))
    }
    assert salted == set(SHORT_LIVED)


def test_salts_stay_as_they_were(settings: Any) -> None:
    settings.SECRET_KEY = "k"
    settings.SECRET_KEY_FALLBACKS = []
    assert former_participants.SALT == "annotate.onboarding.former_participants"
    assert request_log.SALT == "config.monitoring.request_log"
    assert seeds.secret_seed("a", 1)[:8] == "782790de"
    assert fingerprint_key() == "c1eb048b30e4440f"
    assert FactorAdapter().decrypt(OLD_FACTOR) == "a secret"


OLD_FACTOR = "gAAAAABrDYYSD-ILVkcqxua2U5_baC-NHrxb50WrfAfTD8wAPYX4_iuBZt-rlLZASzZto4_FRwAwPZaDTexuH1Bw-eciFq77aA=="
"""What an earlier version stored with the key “k”."""


def test_no_secret_has_a_value_of_its_own() -> None:
    with_default = []
    for path in (ROOT / "config").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("env.") and node.args:
                name = node.args[0]
                defaults = [*node.args[1:], *(each.value for each in node.keywords if each.arg == "default")]
                is_secret = isinstance(name, ast.Constant) and SECRET.search(str(name.value))
                if is_secret and any(ast.literal_eval(default) not in {"", None} for default in defaults):
                    with_default.append(ast.unparse(node))
    assert with_default == []


@pytest.mark.django_db
def test_the_log_holds_no_password_and_no_token(log: io.StringIO, annotator: Membership, project: Project) -> None:
    client = Client(raise_request_exception=False)
    client.post("/sign-in/", {"username": annotator.user.username, "password": PLANTED})  # type: ignore[union-attr]
    client.get(f"/join/{PLANTED}/")
    client.get(f"/sign-in/?next=/join/{PLANTED}/")
    client.get(f"/reset/MTI/{PLANTED}/")
    client.get("/api/v1/projects/", headers={"Authorization": f"Bearer {PLANTED}"})
    client.get(f"/api/v1/projects/?token={PLANTED}")
    client.cookies["session"] = PLANTED
    client.get("/account/")
    link = passwords.issue_link_as_operator(user=annotator.user)  # type: ignore[arg-type]
    client.get(link)
    assert "/api/v1/projects/" in log.getvalue()
    assert PLANTED not in log.getvalue()
    assert link.rstrip("/").rsplit("/", 1)[-1] not in log.getvalue()


@pytest.mark.django_db
def test_the_log_does_not_say_who_came_from_where(log: io.StringIO, annotator: Membership) -> None:
    """Also not of somebody who is locked out: what is kept of addresses is in the database, and ends there."""
    assert annotator.user is not None
    client = Client(raise_request_exception=False, REMOTE_ADDR="203.0.113.77")
    wrong = {"username": annotator.user.username, "password": "not this one"}
    answers = [client.post("/sign-in/", wrong).status_code for _ in range(settings.AXES_FAILURE_LIMIT + 1)]
    assert answers[-1] == 429
    client.get("/nowhere/")
    assert "/nowhere/" in log.getvalue()
    assert "203.0.113.77" not in log.getvalue()
    assert annotator.user.username not in log.getvalue()


@pytest.mark.django_db
def test_an_error_in_the_middle_of_a_submission_logs_no_answer(
    log: io.StringIO, annotator: Membership, project: Project, client_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a row that it refuses, PostgreSQL quotes every value; so it does of a statement."""
    open_batch(project)
    assignment = serving.claim(annotator=annotator)
    assert isinstance(assignment, uuid.UUID)

    def fail(**_: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO annotate_remark (comment) VALUES (%s)", [PLANTED])

    monkeypatch.setattr("annotate.work.submitting.submit", fail)
    client = client_of(annotator)
    client.raise_request_exception = False
    answer = client.post(f"/p/bridges/work/{assignment}/", {"c-0": PLANTED})
    assert answer.status_code == 500
    assert PLANTED not in answer.content.decode()
    assert "Traceback" in log.getvalue()
    assert "NotNullViolation" in log.getvalue()
    assert PLANTED not in log.getvalue()
    assert settings.SECRET_KEY not in log.getvalue()


@pytest.mark.parametrize("formatter", ["text", "json"])
@pytest.mark.django_db
def test_an_error_that_escapes_a_task_logs_no_row(
    log: io.StringIO, monkeypatch: pytest.MonkeyPatch, formatter: str
) -> None:
    """Celery writes the error itself into its message, beside the traceback."""
    (console,) = [each for each in logging.getLogger().handlers if getattr(each, "stream", None) is log]
    if formatter == "json":
        monkeypatch.setattr(console, "formatter", JsonFormatter())

    def fail() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("INSERT INTO annotate_remark (comment) VALUES (%s)", [PLANTED])

    monkeypatch.setattr("projects.settings.purging.purge_due", fail)
    purge_deleted.apply()
    assert "raised unexpected: IntegrityError('null value in column" in log.getvalue()
    assert "violates not-null constraint" in log.getvalue()
    assert "NotNullViolation" in log.getvalue()  # the traceback
    assert PLANTED not in log.getvalue()


@pytest.mark.django_db
def test_an_error_among_the_arguments_of_a_line_quotes_no_row(log: io.StringIO) -> None:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("INSERT INTO annotate_remark (comment) VALUES (%s)", [PLANTED])
    except IntegrityError as error:
        logging.getLogger("any").warning("Not stored: %s (%r)", error, error)
    assert "Not stored: null value in column" in log.getvalue()
    assert PLANTED not in log.getvalue()


def test_a_worker_keeps_the_log_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    assert any(each.filters for each in handlers)
    monkeypatch.setattr(type(app.log), "already_setup", False)
    app.log.setup_logging_subsystem(loglevel="INFO")
    assert [each for each in handlers if each not in root.handlers] == []
    assert [each for each in root.handlers if each not in handlers] == []
    root.setLevel(level)


@pytest.mark.django_db
def test_an_unknown_host_is_refused() -> None:
    answer = Client().get("/sign-in/", headers={"Host": "elsewhere.example"})
    assert answer.status_code == 400
    assert "elsewhere" not in answer.content.decode()
