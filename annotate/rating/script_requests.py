"""Requests of a page's script: they save a draft of a HIT, a revision or a page of the test, or submit it."""

from collections.abc import Mapping
from datetime import datetime
from functools import wraps
from http import HTTPStatus
from typing import Any, Protocol

import orjson
from django.core.exceptions import ObjectDoesNotExist
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    JsonResponse,
    RawPostDataException,
)
from django.utils.translation import gettext as _

from annotate.rating import answers, draft_merge
from annotate.rating.draft_merge import DraftContent
from projects.access import View
from projects.errors import Refused

SAVED_AT = "X-Saved-At"
"""When the draft was saved, in an answer that has no body."""


class SaveDraft(Protocol):
    """An act that merges what a page sent into a draft, and returns the whole draft and when it was saved.

    It may return no draft for a page that has all of it.
    """

    def __call__(self, *, sent: Mapping[str, object]) -> tuple[DraftContent | None, datetime]: ...


def save_draft(request: HttpRequest, save: SaveDraft, *, ended: str = "") -> HttpResponse:
    """Save the draft in the body of a request, and return the answer that the page's script expects.

    That is 200 with the merged draft, 204 for a page that has all of it, 400 for what is not a draft, 409 if it is no
    longer accepted, and 413 if it is too large. `ended` tells the page why its work has ended, although the draft is
    saved. Raises Http404 if what the draft is of does not exist.
    """
    # The length that the browser states is compared before the body is read into memory.
    if int(request.META.get("CONTENT_LENGTH") or 0) > draft_merge.MAX_BYTES:
        return JsonResponse({"message": _("This draft is too large to save.")}, status=413)
    try:
        sent = orjson.loads(request.body)
        if not isinstance(sent, dict):
            raise Refused(_("A draft must be one JSON object."))
        merged, saved_at = save(sent=sent)
    except (orjson.JSONDecodeError, RawPostDataException):
        return JsonResponse({"message": _("That isn't valid JSON.")}, status=400)
    except ObjectDoesNotExist as error:
        raise Http404("There is nothing that this is a draft of.") from error
    except answers.TakesNoAnswers as refusal:
        return JsonResponse({"state": refusal.state, "message": refusal.message}, status=409)
    except Refused as refusal:
        return JsonResponse({"message": refusal.message}, status=400)
    if merged is None and not ended:
        return HttpResponse(status=HTTPStatus.NO_CONTENT, headers={SAVED_AT: saved_at.isoformat()})
    notice = {"ended": ended} if ended else {}
    return JsonResponse({**(merged or {}), **notice, "saved_at": saved_at.isoformat()})


def answers_script(view: View) -> View:
    """Answer a submit of the page's script with `{"next": address}` where the view redirects; pages stay pages.

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
