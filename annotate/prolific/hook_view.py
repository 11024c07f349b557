"""The address to which Prolific sends its messages: signed, small, answered at once, and done by a worker."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from annotate.models import ProlificAccount
from annotate.prolific import receiving
from projects.access import public


# No session and no cookie is read, so there is nothing for a forged form to use: the signature says who sends.
@csrf_exempt
@public
@never_cache
@require_POST
def receive(request: HttpRequest, token: str) -> HttpResponse:
    """Keep a message and answer 200, also for one that was kept before; 403 for one that is not the platform's."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdecimal() or int(length) > receiving.MOST_BYTES:
        return HttpResponse(status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    found = ProlificAccount.objects.select_related("project").filter(address=token, project__deleted_at=None).first()
    if found is None:
        return HttpResponse(status=HTTPStatus.NOT_FOUND)
    try:
        receiving.receive(found, request.headers, request.body)
    except receiving.NotGenuine:
        return HttpResponse(status=HTTPStatus.FORBIDDEN)
    except ValueError:
        return HttpResponse(status=HTTPStatus.BAD_REQUEST)
    return HttpResponse(status=HTTPStatus.OK)
