"""The two addresses of health: what they ask, what they say to strangers, and that nothing makes them hang."""

import os
import shutil
import socket
import subprocess
import sys
import time
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from pytest_django import Settings

from config import env, migrating
from config.monitoring import health
from projects.models import Pulse
from tests import processes

ALL_OK = {"database": "ok", "migrations": "ok", "worker": "ok", "clock": "ok", "disk": "ok"}


def test_live_asks_no_database_and_knows_no_host(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["concord.example.org"]
    settings.SECURE_SSL_REDIRECT = True
    # Without a mark of pytest-django every use of the database fails.
    for path in ("/health/live", "/healthz"):
        answer = Client().get(path, headers={"host": "10.1.2.3:8000"})
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
        assert answer["Cache-Control"] == "no-store"
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer.cookies == {}
    assert Client().post("/health/live").status_code == 405


BELOW_A_PATH = """
import django
django.setup()
from django.test import Client
asked = [("127.0.0.1:8000", "/health/live"), ("127.0.0.1:8000", "/metrics"), ("www.example.org", "/sign-in/")]
print(*(Client().get(path, headers={"host": host}).status_code for host, path in asked))
"""


def test_a_site_below_a_path_answers_its_monitor_over_plain_http_too() -> None:
    over = {"SITE_URL": "https://www.example.org/concord", "ALLOWED_HOSTS": "www.example.org", "METRICS_TOKEN": ""}
    done = subprocess.run(
        [sys.executable, "-c", BELOW_A_PATH],
        cwd=env.BASE_DIR,
        env=env.inherit(ENV_FILE="", DJANGO_SETTINGS_MODULE="config.settings", **over),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["200", "404", "301"], done.stderr


def test_ready_names_what_fails_and_no_more(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    Pulse.beat(Pulse.WORKER)
    answer = Client().get("/health/ready", headers={"host": "10.1.2.3:8000"})
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "checks": ALL_OK})
    assert Pulse.objects.filter(process=health.PROBE).exists()

    Pulse.objects.filter(process=Pulse.WORKER).update(seen_at=_now() - timedelta(seconds=61))
    with monkeypatch.context() as broken:
        broken.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(total=1000, free=50))
        broken.setattr(health, "time", SimpleNamespace(time=lambda: time.time() + 6, monotonic=time.monotonic))
        broken.setattr(migrating, "read_known", lambda: {("projects", "9999_next"): set()})
        answer = Client().get("/readyz")
    assert answer.status_code == 503
    failing = {"migrations": "failing", "worker": "failing", "clock": "failing", "disk": "failing"}
    assert answer.json() == {"status": "failing", "checks": {"database": "ok", **failing}}

    with monkeypatch.context() as broken:  # as on a disk with errors, or a shared folder that is mounted so
        broken.setattr(os, "access", lambda path, mode: mode != os.W_OK)
        answer = Client().get("/readyz")
    assert answer.json()["checks"] == {**ALL_OK, "worker": "failing", "disk": "failing"}

    # A clock that was set back an hour: nobody knows whether the worker has been alive since.
    Pulse.objects.filter(process=Pulse.WORKER).update(seen_at=_now() + timedelta(hours=1))
    assert Client().get("/health/ready").json()["checks"]["worker"] == "failing"
    Pulse.objects.filter(process=Pulse.WORKER).delete()
    assert Client().get("/health/ready").json()["checks"]["worker"] == "failing"
    Pulse.beat(Pulse.WORKER)
    assert Client().get("/health/ready").status_code == 200  # heals alone


def test_ready_fails_in_time_when_the_database_is_gone_or_hangs(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Pulse.beat(Pulse.WORKER)
    monkeypatch.setattr(health, "ANSWER_SECONDS", 0.4)
    real = connection.get_connection_params

    def lead_to(port: int) -> Any:
        return lambda: {**real(), "host": "127.0.0.1", "port": str(port)}

    with socket.socket() as silent:  # accepts connections and never answers
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        for port in (processes.free_port(), silent.getsockname()[1]):
            with monkeypatch.context() as elsewhere:
                elsewhere.setattr(connection, "get_connection_params", lead_to(port))
                answer = Client().get("/health/ready")
            assert answer.status_code == 503
            unknown = dict.fromkeys(("database", "migrations", "worker", "clock"), "failing")
            assert answer.json()["checks"] == {**unknown, "disk": "ok"}
    assert "The site is not ready: database (OperationalError)" in caplog.text
    assert "Service Unavailable" not in caplog.text
    assert connection.settings_dict["PASSWORD"] not in caplog.text

    # The server answers, but somebody holds the row that the check writes.
    Client().get("/health/ready")
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT 1 FROM projects_pulse WHERE process = 'probe' FOR UPDATE")
        assert Client().get("/health/ready").json()["checks"]["database"] == "failing"
        cursor.execute("ROLLBACK")
    other.close()
    assert Client().get("/health/ready").json()["checks"] == ALL_OK


def test_strangers_cost_the_database_one_probe_in_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "KEPT_SECONDS", 2.0)
    asked = []

    def count() -> list[health.Check]:
        asked.append(1)
        return [health.Check("database", is_ok=True)]

    monkeypatch.setattr(health, "_check_database", count)
    assert {Client().get("/health/ready").status_code for _ in range(5)} == {200}
    assert len(asked) == 1

    # While one thread asks, the others wait for nothing.
    monkeypatch.setattr(health, "KEPT_SECONDS", 0.0)
    with health._lock:
        assert Client().get("/health/ready").status_code == 200
    assert len(asked) == 1
    Client().get("/health/ready")
    assert len(asked) == 2


def test_a_migration_counts_as_applied_with_those_it_replaces(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, squashed, new = ("app", "0001"), ("app", "0002"), ("app", "0001_squashed"), ("app", "0003")
    known = {one: set(), two: set(), squashed: {one, two}, new: set()}
    monkeypatch.setattr(migrating, "read_known", lambda: known)
    assert health.find_missing_migrations({one, two}) == [new]
    assert health.find_missing_migrations({squashed, new}) == []
    assert squashed in health.find_missing_migrations({one, new})


def _now() -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]
