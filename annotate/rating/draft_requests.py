"""Keeping the drafts that pages send, whatever they are drafts of."""

from collections.abc import Callable
from typing import Any

import orjson
from django.http import Http404, HttpRequest, JsonResponse, RawPostDataException
from django.utils.translation import gettext as _

from annotate.models import Assignment
from annotate.rating import answers, draft_merge
from projects.errors import Refused


def save_draft(request: HttpRequest, save: Callable[..., Any], *, ended: str = "", **of: Any) -> JsonResponse:
    """Hand the draft that a page sent to the act that keeps it, and answer as the page's script expects it."""
    if int(request.META.get("CONTENT_LENGTH") or 0) > draft_merge.MAX_BYTES:
        return JsonResponse({"message": _("This draft is too large to save.")}, status=413)
    try:
        sent = orjson.loads(request.body)
        if not isinstance(sent, dict):
            raise Refused(_("A draft must be one JSON object."))
        merged, saved_at = save(sent=sent, **of)
    except (orjson.JSONDecodeError, RawPostDataException):
        return JsonResponse({"message": _("That isn't valid JSON.")}, status=400)
    except Assignment.DoesNotExist as error:
        raise Http404("No such HIT.") from error
    except answers.TakesNoAnswers as refusal:
        return JsonResponse({"state": refusal.state, "message": refusal.message}, status=409)
    except Refused as refusal:
        return JsonResponse({"message": refusal.message}, status=400)
    notice = {"ended": ended} if ended else {}
    return JsonResponse({**merged, **notice, "saved_at": saved_at.isoformat()})
