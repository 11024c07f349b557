"""Answers where no view is involved: a problem response for the API, Django's error page for people."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, HttpResponseServerError
from django.template.loader import render_to_string
from django.views import defaults

from projects.web.problems import FOLDER, NOT_THERE, problem


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path.startswith(FOLDER):
        return problem(HTTPStatus.BAD_REQUEST, "The request could not be read.")
    return defaults.bad_request(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path.startswith(FOLDER):
        return problem(HTTPStatus.NOT_FOUND, NOT_THERE)
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    if request.path.startswith(FOLDER):
        return problem(
            HTTPStatus.INTERNAL_SERVER_ERROR,
            "An unexpected error occurred. The site administrator can find it in the log.",
        )
    # Without context processors: what they ask may be what failed.
    return HttpResponseServerError(render_to_string("500.html", {"request": request}))
