"""Submits that a page's script sends: it gets the address of the next page, a browser without scripts a redirect."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def answers_script(view: View[P]) -> View[P]:
    """Answer a POST of the page's script with `{"next": address}` where the view redirects; pages stay pages.

    A script that followed the redirect itself would fetch the next page twice and use up its messages.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        response = view(request, *args, **kwargs)
        if request.method != "POST" or request.headers.get("Accept") != "application/json":
            return response
        if not isinstance(response, HttpResponseRedirect):
            return response
        answer = JsonResponse({"next": response.url}, status=HTTPStatus.OK)
        answer.cookies = response.cookies
        return answer

    return wrapped
