"""The id of a request: the same in its answer, on the page of an error and in the log."""

import logging
import re
from collections.abc import Callable, Iterator

import pytest
from django.core.signals import request_finished
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from pytest_django import Settings

from projects.models import Membership
from projects.web.request_ids import HEADER, NO_REQUEST, RequestIdMiddleware, add_request_id, current
from tests.people import SignIn


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Lines of the log with their ids. All tests of a process share the handler, so the filter goes again."""
    caplog.handler.addFilter(add_request_id)
    yield caplog
    caplog.handler.removeFilter(add_request_id)


@pytest.mark.django_db
def test_answer_page_and_log_have_the_same_id(
    annotator: Membership, client_of: SignIn, lines: pytest.LogCaptureFixture
) -> None:
    client = client_of(annotator)
    for path, status in (("/p/bridges/batches/", 403), ("/p/none/", 404)):
        lines.clear()
        answer = client.get(path)
        request_id = answer[HEADER]
        assert re.fullmatch("[0-9a-f]{16}", request_id)
        assert answer.status_code == status
        assert request_id in answer.content.decode()
        assert logged_ids(lines) == {request_id}
    assert client.get("/desk/")[HEADER] != request_id


@pytest.mark.django_db
def test_an_error_of_the_site_has_it_too(
    annotator: Membership, client: Client, monkeypatch: pytest.MonkeyPatch, lines: pytest.LogCaptureFixture
) -> None:
    """With an account: a site without one sends everybody to the page of the first owner."""

    def fail(*_: object, **__: object) -> HttpResponse:
        raise RuntimeError

    monkeypatch.setattr("projects.accounts.views.render", fail)
    client.raise_request_exception = False
    answer = client.get("/sign-in/")
    assert answer.status_code == 500
    assert answer[HEADER] in answer.content.decode()
    assert logged_ids(lines) == {answer[HEADER]}


def logged_ids(lines: pytest.LogCaptureFixture) -> set[str]:
    return {getattr(record, "request_id", "") for record in lines.records if record.name == "django.request"}


def pass_through(seen: list[str]) -> Callable[[HttpRequest], HttpResponse]:
    def answer(_: HttpRequest) -> HttpResponse:
        seen.append(current())
        return HttpResponse()

    return answer


def test_only_the_operators_own_proxy_may_name_a_request(settings: Settings) -> None:
    seen: list[str] = []
    middleware = RequestIdMiddleware(pass_through(seen))
    for n_proxies, sent, is_taken in (
        (0, "abcdef-0123456789", False),
        (1, "abcdef-0123456789", True),
        (1, "short", False),
        (1, "x" * 65, False),
        (1, "two words or <b>markup</b>", False),
    ):
        settings.N_PROXIES = n_proxies
        answer = middleware(RequestFactory().get("/", headers={HEADER: sent}))
        assert (answer[HEADER] == sent) is is_taken, sent
        assert answer[HEADER] == seen[-1]


def test_what_comes_after_a_request_has_no_id() -> None:
    RequestIdMiddleware(pass_through([]))(RequestFactory().get("/"))
    request_finished.send(sender=None)
    record = logging.LogRecord("worker", logging.INFO, __file__, 1, "A job began.", (), None)
    assert add_request_id(record)
    assert record.request_id == NO_REQUEST  # type: ignore[attr-defined]
