"""What the logs keep of a request: its line, without the traceback of a refusal and without the token of a link."""

import logging
from typing import Any
from unittest.mock import Mock

import psycopg2
import pytest
from django.conf import settings
from django.db import OperationalError
from django.test import Client

from config.log_filters import hide_tokens
from projects import tasks
from projects.jobs import slots
from projects.models import Membership, Pulse
from tests.people import SignIn


@pytest.mark.django_db
def test_a_refusal_is_logged_without_a_traceback(
    annotator: Membership, client_of: SignIn, caplog: pytest.LogCaptureFixture
) -> None:
    assert client_of(annotator).get("/p/bridges/batches/").status_code == 403
    (record,) = [record for record in caplog.records if record.name == "django.request"]
    assert "Forbidden" in record.getMessage()
    assert "/p/bridges/batches/" in record.getMessage()
    assert record.exc_info is None
    assert "Traceback" not in caplog.text


@pytest.mark.django_db
def test_a_request_for_another_host_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """Programs that look for weak sites send them all day."""
    assert Client().get("/sign-in/", headers={"host": "elsewhere.example"}).status_code == 400
    (record,) = [record for record in caplog.records if record.name == "django.security.DisallowedHost"]
    assert "elsewhere.example" in record.getMessage()
    assert record.exc_info is None


@pytest.mark.django_db
def test_a_worker_without_its_database_logs_one_line_at_a_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It stores every five seconds that it is alive, and a database may be down for hours."""

    def fail(_: str) -> None:
        raise OperationalError("the server closed") from psycopg2.OperationalError("the server closed")

    monkeypatch.setattr(Pulse, "beat", fail)
    monkeypatch.setattr(tasks, "connection", Mock())
    slots.is_ending.set()
    try:
        tasks._pulse(["worker"])
    finally:
        slots.is_ending.clear()
    (record,) = caplog.records
    assert record.getMessage() == "The worker's pulse could not be stored. (the server closed)"
    assert record.exc_info is None


@pytest.mark.parametrize(
    ("message", "arguments", "kept"),
    [
        ("Not Found: %s", ("/join/SeCrEt_-9/",), "Not Found: /join/…/"),
        ("Gone: %s", ("/reset/MTI/SeCrEt_-9/",), "Gone: /reset/MTI/…/"),
        (
            '"GET /sign-in/?next=%2Fjoin%2FSeCrEt_-9%2F HTTP/1.1" 200',
            (),
            '"GET /sign-in/?next=%2Fjoin%2F…%2F HTTP/1.1" 200',
        ),
        ('%(r)s "%(f)s"', ({"r": "GET /x", "f": "https://host/join/SeCrEt_-9/"},), 'GET /x "https://host/join/…/"'),
        ("Not Found: %s", ("/p/join/people/",), "Not Found: /p/join/people/"),
        ("%s of %s", (1,), None),
    ],
)
def test_tokens_of_links_are_left_out(message: str, arguments: tuple[object, ...], kept: str | None) -> None:
    record = logging.LogRecord("any", logging.INFO, "", 0, message, arguments, None)
    assert hide_tokens(record)
    assert kept is None or record.getMessage() == kept


@pytest.mark.django_db
def test_the_handler_of_the_log_hides_them(caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(hide_tokens)
    try:
        answers = [Client().get(path) for path in ("/join/SeCrEt_-9/", "/reset/MTI/SeCrEt_-9/")]
    finally:
        caplog.handler.removeFilter(hide_tokens)
    assert [answer.status_code in (404, 410) for answer in answers] == [True, True]
    assert [answer["Referrer-Policy"] for answer in answers] == ["strict-origin"] * 2
    assert "SeCrEt" not in caplog.text
    assert "/join/…/" in caplog.text
    handlers: Any = settings.LOGGING["handlers"]
    assert all("tokens" in handler["filters"] for handler in handlers.values())
