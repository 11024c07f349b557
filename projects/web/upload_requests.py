"""Requests that send a file: refused before their body is read if it is too large, or if there is no room for it."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.urls import Resolver404, resolve
from django.utils import translation

from projects.errors import Refused
from projects.models import Membership
from projects.web.body_questions import QUESTION, BodyWelcome
from projects.web.problem_responses import page_or_problem
from projects.web.uploads import refuse_without_quota

View = Callable[..., HttpResponse]
FORM_BYTES = 1 << 20
"""Bytes for the other fields and the multipart boundaries of a form with a file."""


def takes_files(view: View, *, replaces: "type[Any] | None" = None, is_kept: bool = True) -> View:
    """Mark a view whose form contains a file; all other views refuse large forms. Below the check of the right.

    `replaces` is the model of the row, found by the number in the address, whose file is replaced. A file that is not
    kept counts toward no quota.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            actor: Membership = request.membership  # type: ignore[attr-defined]
            stop_if_asked(request, actor, replaces=replaces, number=kwargs.get("number"), is_kept=is_kept)
        except Refused as refused:
            return page_or_problem(
                request, "413.html", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, refused.message, {"detail": refused.message}
            )
        return view(request, *args, **kwargs)

    wrapped.takes_files = True  # type: ignore[attr-defined]
    return wrapped


def stop_if_asked(
    request: HttpRequest,
    actor: Membership,
    *,
    replaces: "type[Any] | None" = None,
    number: int | None = None,
    is_kept: bool = True,
) -> None:
    """Raise BodyWelcome if the server only asks, or Refused if there is no room for what would be sent."""
    if QUESTION in request.META:
        if is_kept:
            rows = replaces.objects.filter(project=actor.project_id, number=number) if replaces else ()
            refuse_without_quota(actor, _read_length(request), replaced=next(iter(rows), None))
        raise BodyWelcome


class UploadLimitMiddleware:
    """Refuse a body that is too large by its announced length, before any of it is read.

    The server never reads more than the announced length. A compressed body is refused as well, so that a small one
    cannot expand to a large one. The server asks before it receives a body that is larger than a form.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
            return _refuse(
                request,
                "415.html",
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "Compressed request bodies are not supported. Send the file uncompressed.",
            )
        is_asked = QUESTION in request.META
        if (is_asked or _read_length(request) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE) and (
            _limit_for(request) < max(1, _read_length(request))
        ):
            return _refuse(request, "413.html", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The upload is too large.")
        if is_asked:
            # The token is in the body. The view does nothing yet, and the request comes again with its body.
            request.csrf_processing_done = True  # type: ignore[attr-defined]
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, BodyWelcome):
            request.META[QUESTION].most_bytes = settings.MAX_UPLOAD_BYTES + FORM_BYTES
            return HttpResponse(status=HTTPStatus.NO_CONTENT)
        if isinstance(exception, UnreadablePostError):
            return page_or_problem(request, "400.html", HTTPStatus.REQUEST_TIMEOUT, "The upload was interrupted.")
        return None


def _refuse(request: HttpRequest, template: str, status: HTTPStatus, detail: str) -> HttpResponse:
    # The middleware of languages comes later: nothing has been activated yet.
    with translation.override(translation.get_language_from_request(request)):
        return page_or_problem(request, template, status, detail)


def _read_length(request: HttpRequest) -> int:
    """Return the announced length of the body; 0 without one."""
    announced = request.META.get("CONTENT_LENGTH") or "0"
    return int(announced) if announced.isdecimal() else 0


def _limit_for(request: HttpRequest) -> int:
    """Return the largest body that this path accepts; 0 leaves Django's own limit for forms in force."""
    if request.method != "POST":
        return 0
    try:
        view = resolve(request.path_info).func
    except Resolver404:
        return 0
    return settings.MAX_UPLOAD_BYTES + FORM_BYTES if getattr(view, "takes_files", False) else 0
