"""Problem responses: how the API reports an error (RFC 9457), with the invalid fields by name."""

import math
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from rest_framework import exceptions

from projects.downloads import FileMissing
from projects.errors import Refused, TooManyRequests
from projects.language.names import shorten_name

FOLDER = "/api/"
MEDIA_TYPE = "application/problem+json"
NOT_THERE = "Not found, or you don't have access."
LONGEST_NAME = 80
"""Characters of a field's name that an error repeats: the name comes from the request and may be of any length."""

FieldError = tuple[str, str]
"""The path of a field, empty for the whole request, and a sentence."""


def problem(
    status: int, detail: str, *, wrong: list[FieldError] | None = None, headers: Mapping[str, str] | None = None
) -> JsonResponse:
    """Return a problem response with this status and sentence; `wrong` lists the invalid fields."""
    status = HTTPStatus(status)
    body: dict[str, Any] = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
    if wrong:
        body["errors"] = [{"field": field, "detail": sentence} for field, sentence in wrong]
    return JsonResponse(body, status=status, content_type=MEDIA_TYPE, headers=dict(headers or {}))


def answer_exception(exception: Exception, context: Mapping[str, Any]) -> HttpResponse | None:
    """Return the response to an exception of a view, None for an unexpected one, which becomes a logged 500."""
    # Before Refused, of which it is a subclass.
    if isinstance(exception, TooManyRequests):
        wait = {"Retry-After": str(max(1, math.ceil(exception.wait_seconds)))}
        return problem(HTTPStatus.TOO_MANY_REQUESTS, exception.message, headers=wait)
    if isinstance(exception, Refused):
        return _refused(exception)
    if isinstance(exception, FileMissing):
        return problem(HTTPStatus.NOT_FOUND, str(exception))
    if isinstance(exception, Http404):
        # One sentence for “does not exist” and “not yours”: a stranger must not learn which projects there are.
        return problem(HTTPStatus.NOT_FOUND, NOT_THERE)
    if isinstance(exception, PermissionDenied):
        return problem(HTTPStatus.FORBIDDEN, str(exception))
    if isinstance(exception, exceptions.ValidationError):
        wrong = [(".".join(path), sentence) for path, sentence in _flat(exception.detail)]
        return problem(HTTPStatus.BAD_REQUEST, _in_short(wrong), wrong=wrong)
    if isinstance(exception, exceptions.APIException):
        headers = {"WWW-Authenticate": str(exception.auth_header)} if hasattr(exception, "auth_header") else {}
        return problem(exception.status_code, str(exception.detail), headers=headers)
    return None


def page_or_problem(
    request: HttpRequest, template: str, status: int, detail: str, context: Mapping[str, Any] | None = None
) -> HttpResponse:
    """Return a problem response for a path of the API, and a page for any other path."""
    if request.path_info.startswith(FOLDER):
        return problem(status, detail)
    return render(request, template, dict(context or {}), status=status)


def _refused(refusal: Refused) -> JsonResponse:
    """Return 409: the request is well-formed, but a rule or the current state forbids it."""
    wrong = [(refusal.field, refusal.message), *(("", detail) for detail in refusal.details)]
    return problem(HTTPStatus.CONFLICT, _in_short(wrong[:1]), wrong=wrong if refusal.field or refusal.details else None)


def _in_short(wrong: list[FieldError]) -> str:
    return " ".join(f"{field}: {sentence}" if field else sentence for field, sentence in wrong)


def _flat(detail: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield path and sentence of each error of the framework, which nests them as the fields are nested."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from _flat(
                inner, path if name == "non_field_errors" else (*path, shorten_name(str(name), LONGEST_NAME))
            )
    elif isinstance(detail, list):
        for inner in detail:
            yield from _flat(inner, path)
    else:
        yield path, str(detail)
