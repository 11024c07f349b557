"""Submits that a page's script sends: it gets the address of the next page, a browser without scripts a redirect."""

from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect, JsonResponse

from projects.access import View


def answers_script(view: View) -> View:
    """Answer a POST of the page's script with `{"next": address}` where the view redirects; pages stay pages.

    A script that followed the redirect itself would fetch the next page twice and use up its messages.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        if request.method != "POST" or request.headers.get("Accept") != "application/json":
            return response
        if not isinstance(response, HttpResponseRedirect):
            return response
        answer = JsonResponse({"next": response.url})
        answer.cookies = response.cookies
        return answer

    return wrapped
