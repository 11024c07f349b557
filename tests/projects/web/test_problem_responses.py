"""How the API reports each error: status, sentence, fields, and headers that a client goes by."""

import json
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions

from projects.downloads import FileMissing
from projects.errors import Refused, TooManyRequests
from projects.web.problem_responses import LONGEST_NAME, MEDIA_TYPE, NOT_THERE, answer_exception


def report(exception: Exception) -> tuple[dict[str, Any], Any]:
    answer = answer_exception(exception, {})
    assert answer is not None
    body = json.loads(answer.content)
    assert answer["Content-Type"] == MEDIA_TYPE
    assert body["status"] == answer.status_code
    return body, answer.headers


@pytest.mark.parametrize(
    ("exception", "status", "detail"),
    [
        (Http404("No Batch matches the query."), 404, NOT_THERE),
        (FileMissing("The archive is gone."), 404, "The archive is gone."),
        (PermissionDenied("Only managers do this."), 403, "Only managers do this."),
        (exceptions.MethodNotAllowed("PUT"), 405, 'Method "PUT" not allowed.'),
        (Refused("The batch is closed."), 409, "The batch is closed."),
    ],
)
def test_an_error_that_concerns_the_whole_request_names_no_field(
    exception: Exception, status: int, detail: str
) -> None:
    body, headers = report(exception)
    assert (body["status"], body["detail"], "errors" in body) == (status, detail, False)
    assert "WWW-Authenticate" not in headers


@pytest.mark.parametrize(
    ("refusal", "detail", "errors"),
    [
        (Refused("Too many.", field="hit_size"), "hit_size: Too many.", [("hit_size", "Too many.")]),
        (Refused("It doesn’t fit.", details=["Row 3"]), "It doesn’t fit.", [("", "It doesn’t fit."), ("", "Row 3")]),
    ],
)
def test_a_refusal_names_its_field_and_lists_its_details(
    refusal: Refused, detail: str, errors: list[tuple[str, str]]
) -> None:
    body, _ = report(refusal)
    assert (body["status"], body["detail"]) == (409, detail)
    assert [(each["field"], each["detail"]) for each in body["errors"]] == errors


def test_invalid_fields_are_named_by_their_path() -> None:
    long = "x" * (LONGEST_NAME + 1)
    answers = [{"rating": ["Too high."]}, {}, {"non_field_errors": ["Nothing is rated."]}]
    wrong: Any = {"answers": answers, long: ["Unknown."]}
    body, _ = report(exceptions.ValidationError(wrong))
    assert body["status"] == 400
    *named, (cut, sentence) = [(each["field"], each["detail"]) for each in body["errors"]]
    assert named == [("answers.rating", "Too high."), ("answers", "Nothing is rated.")]
    assert body["detail"] == f"answers.rating: Too high. answers: Nothing is rated. {cut}: Unknown."
    assert (len(cut), sentence) == (LONGEST_NAME, "Unknown.")


@pytest.mark.parametrize(("seconds", "sent"), [(0.0, "1"), (2.0, "2"), (2.1, "3")])
def test_who_asks_too_often_is_told_when_to_come_again(seconds: float, sent: str) -> None:
    body, headers = report(TooManyRequests(seconds))
    assert (body["status"], headers["Retry-After"]) == (429, sent)


def test_who_is_not_signed_in_is_told_how() -> None:
    refusal = exceptions.NotAuthenticated()
    refusal.auth_header = 'Bearer realm="api"'  # type: ignore[attr-defined]  # as the framework's views set it
    body, headers = report(refusal)
    assert (body["status"], headers["WWW-Authenticate"]) == (401, 'Bearer realm="api"')


def test_an_unexpected_error_is_left_to_the_log() -> None:
    assert answer_exception(KeyError("x"), {}) is None
