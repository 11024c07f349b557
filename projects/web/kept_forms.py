"""Forms that a page keeps until they are sent again: sent after the session had ended, or with a stale token."""

import re
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

CSRF_FIELD = "csrfmiddlewaretoken"
_SECRET = re.compile("^(?!a[0-9]+-|expected_).*(password|token|secret)|^code$")
"""Names of fields that no page keeps: it may stay open where somebody else sits down.

Ratings, and what is expected of them, are not secrets, whatever the key of their criterion is.
"""


def keep_form_until_sign_in(request: HttpRequest) -> HttpResponse:
    """Return a page that keeps a form sent after the session had ended, to be sent again after signing in."""
    context = {"fields": list_kept_fields(request)}
    return render(request, "signed_out.html", context, status=HTTPStatus.UNAUTHORIZED)


def list_kept_fields(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the fields of a form that a page can keep until it is sent again: none with a secret or a file."""
    fields = [(name, value) for name, values in request.POST.lists() if name != CSRF_FIELD for value in values]
    return [] if request.FILES or any(_SECRET.search(name) for name, _value in fields) else fields
