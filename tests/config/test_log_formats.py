"""The log: one JSON line for each request and job with what it cost, and no text, name or address in it."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as site
from django.db import DatabaseError, OperationalError, connection, transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from annotate.models import ControlJob
from config.log_filters import hide_rows
from config.log_formats import JsonFormatter
from config.monitoring.middleware import MeasuringMiddleware
from projects.api import tokens
from projects.jobs import running
from projects.models import Dataset, Membership, Passage
from projects.web.body_questions import QUESTION, BodyQuestion
from projects.web.request_ids import add_request_id
from tests import factories
from tests.people import SignIn

TEXT = "the secret answer"


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    """The lines that requests and jobs write while LOG_FORMAT is json."""
    written: list[dict[str, Any]] = []

    class Reader(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(json.loads(self.format(record)))

    reader, log = Reader(), logging.getLogger("concord")
    reader.setFormatter(JsonFormatter())
    reader.addFilter(add_request_id)
    before = log.level
    log.addHandler(reader)
    log.setLevel(logging.INFO)
    yield written
    log.removeHandler(reader)
    log.setLevel(before)


def test_a_request_is_one_line_without_names_texts_and_addresses(
    manager: Membership, client_of: SignIn, lines: list[dict[str, Any]]
) -> None:
    client, slug = client_of(manager), manager.project.slug
    answer = client.get(f"/p/{slug}/batches/?q=the+secret+answer")
    (line,) = lines
    assert line.pop("ms") > 0
    assert line.pop("statements") >= 2
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "logger": "concord.requests",
        "message": "GET annotate:batch-list 200",
        "request_id": answer["X-Request-ID"],
        "method": "GET",
        "route": "annotate:batch-list",
        "status": 200,
        "user": manager.pseudonym,
        "project": manager.project_id,
    }

    lines.clear()
    client.get("/account/")
    client.get("/account/")
    assert lines[0]["user"] == lines[1]["user"] != manager.pseudonym
    assert lines[0]["user"].startswith("u-")

    lines.clear()
    _, token = tokens.make_token(membership=manager, name="script", can_write=False)
    bearer = {"authorization": f"Bearer {token}"}
    Client().get(f"/api/v1/projects/{slug}/", headers=bearer)
    Client().post("/sign-in/", {"username": "mara", "password": "a-secret-password"})
    Client().get("/join/SeCrEt_-9/")
    Client().get("/nobody/knows/this/")
    api, sign_in, join, unknown = lines
    assert api["user"] == manager.pseudonym
    assert sign_in["route"] == "projects:sign-in"
    assert "user" not in sign_in
    assert join["route"] == "projects:join"
    assert (unknown["route"], unknown["status"]) == ("none", 404)
    text = json.dumps(lines)
    for secret in (token, "a-secret-password", "SeCrEt", "mara", "nobody", slug, client.cookies["session"].value):
        assert secret not in text


def test_health_and_metrics_write_no_lines(lines: list[dict[str, Any]]) -> None:
    Client().get("/health/live")
    Client().get("/metrics")
    assert lines == []


def test_an_upload_that_may_be_sent_is_one_line_and_so_is_one_that_may_not(lines: list[dict[str, Any]]) -> None:
    """The web server asks before it receives a large body; a welcome is no answer to anybody."""

    def answer(*, is_asked: bool, most_bytes: int | None = None, status: int = 200) -> None:
        def respond(request: HttpRequest) -> HttpResponse:
            if is_asked:
                request.META[QUESTION].most_bytes = most_bytes
            return HttpResponse(status=status)

        request = RequestFactory().post("/upload/")
        request.META |= {QUESTION: BodyQuestion()} if is_asked else {}
        MeasuringMiddleware(respond)(request)

    answer(is_asked=True, most_bytes=10**6)
    answer(is_asked=False)
    answer(is_asked=True, status=403)
    assert [line["status"] for line in lines] == [200, 403]


def test_a_job_is_one_line(manager: Membership, lines: list[dict[str, Any]]) -> None:
    factories.make_rubric(manager.project)
    factories.make_corpus(manager.project)
    batch = factories.make_batch(manager.project, is_open=False)
    job = ControlJob.objects.create(batch=batch, requested_by=manager)
    assert running.run(ControlJob, job.pk, lambda job, on_progress: {}) == "done"
    ControlJob.objects.update(state=ControlJob.State.QUEUED)

    def fail(job: ControlJob, on_progress: running.OnProgress) -> None:
        raise ValueError(TEXT)

    assert running.run(ControlJob, job.pk, fail) == "failed"
    done, failed = lines
    assert done["statements"] >= 3
    assert (done["state"], failed["state"], failed["job"]) == ("done", "failed", f"controljob {job.pk}")
    assert {line["user"] for line in lines} == {manager.pseudonym}
    assert {line["project"] for line in lines} == {manager.project_id}
    assert "secret" not in json.dumps(lines)


def test_errors_of_the_database_do_not_quote_values(manager: Membership) -> None:
    dataset = factories.make_dataset(manager.project, TEXT)

    def break_key() -> None:
        Dataset.objects.create(project=dataset.project, name=TEXT)

    def break_type() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s::int", [TEXT])

    def break_length() -> None:
        Passage.objects.create(dataset=dataset, external_id=TEXT * 40)

    for act, said in [
        (break_key, "IntegrityError: duplicate key value violates unique constraint"),
        (break_type, "DataError: invalid input syntax for type integer: …"),
        (break_length, "DataError: value too long for type character varying(200)"),
    ]:
        record = _record_of(act)
        assert hide_rows(record)
        for formatter in (logging.Formatter(), JsonFormatter()):
            line = formatter.format(record)
            assert "secret" not in line, line
            assert said in line
            assert act.__name__ in line  # where it happened
    down = OperationalError("connection refused")
    refused = logging.LogRecord("any", logging.ERROR, "", 0, "", (), (type(down), down, None))
    assert hide_rows(refused)
    assert "connection refused" in JsonFormatter().format(refused)


def _record_of(act: Any) -> logging.LogRecord:
    with pytest.raises(DatabaseError) as raised, transaction.atomic():
        act()
    error = raised.value
    return logging.LogRecord("any", logging.ERROR, "", 0, "It failed", (), (type(error), error, error.__traceback__))


def test_a_json_line_is_one_line_whatever_it_is_about() -> None:
    record = logging.LogRecord("any", logging.INFO, "", 0, "two\nlines of %s", ({1: object()},), None, sinfo="a\nb")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(add_request_id)
    handler.emit(record)
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["message"].startswith("two\nlines of")
    handlers: Any = site.LOGGING["handlers"]
    assert {handler["formatter"] for handler in handlers.values()} == {"text"}
