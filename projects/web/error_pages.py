"""What is answered where no view has the word: for programs a problem, for people Django's page."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.views import defaults

from projects.web.problems import FOLDER, NOT_THERE, problem


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path.startswith(FOLDER):
        return problem(HTTPStatus.BAD_REQUEST, "This request cannot be read.")
    return defaults.bad_request(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path.startswith(FOLDER):
        return problem(HTTPStatus.NOT_FOUND, NOT_THERE)
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    if request.path.startswith(FOLDER):
        return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong here. It is in the site's log.")
    return defaults.server_error(request)
