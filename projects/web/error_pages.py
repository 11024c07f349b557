"""Answers where no view is involved: a problem response for the API, a page for people."""

import sys
from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, HttpResponseServerError
from django.template.loader import render_to_string
from django.views import defaults

from projects.database.outages import is_unavailable
from projects.downloads import FileMissing
from projects.web.cached_templates import include_cached
from projects.web.problem_responses import FOLDER, NOT_THERE, problem


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path_info.startswith(FOLDER):
        return problem(HTTPStatus.BAD_REQUEST, "The request could not be read.")
    return defaults.bad_request(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path_info.startswith(FOLDER):
        return problem(HTTPStatus.NOT_FOUND, NOT_THERE)
    detail = str(exception) if isinstance(exception, FileMissing) else ""
    return _render("404.html", request, HTTPStatus.NOT_FOUND, detail=detail)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _render("403.html", request, HTTPStatus.FORBIDDEN, exception=str(exception))


def _render(template: str, request: HttpRequest, status: HTTPStatus, **texts: str) -> HttpResponse:
    """Return a page that is kept rendered for each language: those who try addresses get it again and again."""
    theme, request_id = request.COOKIES.get("theme", ""), getattr(request, "request_id", "")
    of_request = {"COOKIES": {"theme": theme}, "request_id": request_id}
    return HttpResponse(include_cached(template, request=of_request, **texts), status=status)


class NotAllowedMiddleware:
    """Give people a page where they open the address of a form by itself: Django answers nothing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_blank = response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and not response.content
        if is_blank and request.method in ("GET", "HEAD") and not request.path_info.startswith(FOLDER):
            # The same answer, with the headers that it has.
            response.content = _render("405.html", request, HTTPStatus.METHOD_NOT_ALLOWED).content
        return response


RETRY_SECONDS = 10
"""A server that restarts is back after a few seconds."""


def server_error(request: HttpRequest) -> HttpResponse:
    if is_unavailable(sys.exc_info()[1]):
        return _unavailable(request)
    if request.path_info.startswith(FOLDER):
        return problem(
            HTTPStatus.INTERNAL_SERVER_ERROR,
            "An unexpected error occurred. The site administrator can find it in the log.",
        )
    # Without context processors: what they ask may be what failed.
    return HttpResponseServerError(render_to_string("500.html", {"request": request}))


def _unavailable(request: HttpRequest) -> HttpResponse:
    headers = {"Retry-After": str(RETRY_SECONDS)}
    if request.path_info.startswith(FOLDER):
        return problem(
            HTTPStatus.SERVICE_UNAVAILABLE, "The site can't work at the moment. Retry soon.", headers=headers
        )
    page = render_to_string("503.html", {"request": request})
    return HttpResponse(page, status=HTTPStatus.SERVICE_UNAVAILABLE, headers=headers)
