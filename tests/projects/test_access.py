"""Where a view with a right in a project reads from, and after which requests the server alone is read."""

from types import SimpleNamespace

import pytest
from django.http import Http404, HttpRequest, HttpResponse
from django.test import RequestFactory

from projects import access
from projects.access import Right, requires
from projects.models import Project, User


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done beside the view, which belongs to somebody who has every right."""
    done: list[str] = []

    def read(answer: object, account: int) -> object:
        done.append(f"read for {account}")
        return answer()  # type: ignore[operator]

    monkeypatch.setattr(access, "read_from_replica", read)
    monkeypatch.setattr(access, "note_write", lambda account: done.append(f"note {account}"))
    monkeypatch.setattr(access, "fetch_membership", lambda *_: SimpleNamespace(project=Project()))
    return done


def make_request(method: str, app_name: str = "") -> HttpRequest:
    request = RequestFactory().generic(method, "/")
    request.user = User(pk=7)
    request.resolver_match = SimpleNamespace(app_names=[app_name]) if app_name else None  # type: ignore[assignment]
    return request


@pytest.mark.parametrize(
    ("right", "method", "app_name", "expected"),
    [
        (Right.READ, "GET", "results", ["read for 7"]),
        (Right.MANAGE, "HEAD", "results", ["read for 7"]),
        (Right.READ, "GET", "annotate", []),
        (Right.READ, "GET", "", []),
        (Right.READ, "POST", "results", ["note 7"]),
        (Right.MANAGE, "POST", "annotate", ["note 7"]),
        # No page of results is theirs, and each of their many drafts would be another write to the broker.
        (Right.WORK, "POST", "annotate", []),
        (Right.HISTORY, "GET", "results", []),
    ],
)
def test_results_are_read_from_a_replica_and_who_writes_is_noted(
    done: list[str], right: Right, method: str, app_name: str, expected: list[str]
) -> None:
    def view(request: HttpRequest, project: Project) -> HttpResponse:
        # What a request remembers of its project would be out of date once it has written.
        assert project.remembered == (None if method == "POST" else {})
        return HttpResponse("shown")

    answer = requires(right)(view)(make_request(method, app_name), slug="bridges")
    assert (answer.content, done) == (b"shown", expected)  # type: ignore[attr-defined]


def test_a_request_that_fails_may_have_written(done: list[str]) -> None:
    def view(request: HttpRequest, project: Project) -> HttpResponse:
        raise Http404

    with pytest.raises(Http404):
        requires(Right.MANAGE)(view)(make_request("POST"), slug="bridges")
    assert done == ["note 7"]
