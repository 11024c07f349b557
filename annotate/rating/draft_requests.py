"""Requests that save a draft: of a HIT, of a revision, of a page of the qualification test."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import orjson
from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404, HttpRequest, JsonResponse, RawPostDataException
from django.utils.translation import gettext as _

from annotate.rating import answers, draft_merge
from projects.errors import Refused

Save = Callable[..., tuple[dict[str, Any], datetime]]
"""An act that merges what was sent into a draft; returns the draft and when it was saved."""


def save_draft(request: HttpRequest, save: Save, *, ended: str = "", **target: Any) -> JsonResponse:
    """Save the draft that a page's script sent, and answer with the merged draft or with the reason it wasn't saved.

    `target` names what the draft is of, `ended` why the page's work has ended meanwhile. Raises Http404 if what the
    draft is of doesn't exist.
    """
    if int(request.META.get("CONTENT_LENGTH") or 0) > draft_merge.MAX_BYTES:
        return JsonResponse({"message": _("This draft is too large to save.")}, status=413)
    try:
        sent = orjson.loads(request.body)
        if not isinstance(sent, dict):
            raise Refused(_("A draft must be one JSON object."))
        merged, saved_at = save(sent=sent, **target)
    except (orjson.JSONDecodeError, RawPostDataException):
        return JsonResponse({"message": _("That isn't valid JSON.")}, status=400)
    except ObjectDoesNotExist as error:
        raise Http404("There is nothing that this is a draft of.") from error
    except answers.TakesNoAnswers as refusal:
        return JsonResponse({"state": refusal.state, "message": refusal.message}, status=409)
    except Refused as refusal:
        return JsonResponse({"message": refusal.message}, status=400)
    if ended:
        merged = {**merged, "ended": ended}
    return JsonResponse({**merged, "saved_at": saved_at.isoformat()})
