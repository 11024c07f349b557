"""Receiving Prolific's messages: checked, kept once by their id, and done by a worker."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import orjson
from django.db import transaction
from django.utils import timezone

from annotate.models import ProlificAccount, ProlificEvent, ProlificStudy
from annotate.prolific import accounts, submissions
from projects.errors import Refused

WINDOW = timedelta(minutes=5)
"""How far the time of a request may be off. An overheard one can be sent again no later, and clocks differ."""
MOST_BYTES = 64 * 1024
"""Of a message: it is read before it is known who sent it."""
KEPT = timedelta(days=30)
"""Meanwhile a message that comes again is known by its id."""
PORTION = 200
"""Of one run of the task, which the clock starts every few seconds."""


class NotGenuine(Exception):
    """The message is not signed with a secret of the account, or is too old."""


def receive(account: ProlificAccount, headers: Mapping[str, str], body: bytes) -> ProlificEvent | None:
    """Keep a message, and return it; None for one that was kept before. Raises NotGenuine, or ValueError for no JSON.

    The platform's time comes in two headers, of which only that of the request is signed: an event can't be newer.
    """
    now = timezone.now()
    stamp = headers.get("X-Prolific-Request-Timestamp", "")
    check_signature(account, stamp, headers.get("X-Prolific-Request-Signature", ""), body)
    sent_at = _read_stamp(stamp)
    if sent_at is None or abs(now - sent_at) > WINDOW:
        raise NotGenuine
    found = orjson.loads(body)
    found = found if isinstance(found, dict) else {}
    at = min(_read_stamp(headers.get("X-Timestamp", "")) or sent_at, sent_at)
    event_id = headers.get("X-Event-ID", "")[:128] or hashlib.sha256(stamp.encode() + body).hexdigest()
    with transaction.atomic():
        event, is_new = ProlificEvent.objects.get_or_create(
            account=account,
            event_id=event_id,
            defaults={
                "kind": str(found.get("event_type", ""))[:60],
                "resource_id": str(found.get("resource_id", ""))[:128],
                "status": str(found.get("status", ""))[:60],
                "at": at,
            },
        )
    return event if is_new else None


def check_signature(account: ProlificAccount, stamp: str, signature: str, body: bytes) -> None:
    """Raise NotGenuine unless one of the account's secrets signed this: HMAC-SHA256 of time and body, in base64."""
    for secret in accounts.list_secrets(account):
        expected = base64.b64encode(hmac.new(secret.encode(), stamp.encode() + body, hashlib.sha256).digest())
        if hmac.compare_digest(expected, signature.encode()):
            return
    raise NotGenuine


def handle_waiting() -> list[int | None]:
    """Do what the messages say, in the order of the platform's time; return the study of each, None if unknown."""
    waiting = ProlificEvent.objects.filter(is_waiting=True).order_by("at", "pk").select_related("account")[:PORTION]
    found = []
    for event in waiting:
        study = _handle(event)
        # What it said is no longer needed, and names a participant.
        ProlificEvent.objects.filter(pk=event.pk).update(is_waiting=False, resource_id="")
        found.append(study.pk if study is not None else None)
    return found


def forget_old() -> int:
    """Delete messages after 30 days; return how many."""
    n, _ = ProlificEvent.objects.filter(received_at__lt=timezone.now() - KEPT, is_waiting=False).delete()
    return n


def _handle(event: ProlificEvent) -> ProlificStudy | None:
    studies = ProlificStudy.objects.select_related("panel__project").filter(
        panel__project=event.account.project_id, published_at__isnull=False
    )
    if event.kind == "study.status.change":
        study = studies.filter(external_id=event.resource_id).first()
        if study is not None and (study.polled_at is None or event.at >= study.polled_at):
            ProlificStudy.objects.filter(pk=study.pk).update(status=event.status[:20])
        return study
    if event.kind == "submission.status.change":
        study = _find_study(event, list(studies.order_by("-pk")))
        if study is not None:
            submissions.tell(study, event.resource_id, event.status, at=event.at)
        return study
    return None


def _find_study(event: ProlificEvent, studies: list[ProlificStudy]) -> ProlificStudy | None:
    """Return the study of a submission. The message doesn't name it: what is not known here is asked for."""
    for study in studies:
        known = study.submissions.filter(external_id=event.resource_id).exists()
        if known or study.panel.sessions.filter(external_id=event.resource_id).exists():
            return study
    if not studies:
        return None
    try:
        client = accounts.open_client(event.account.project, in_job=True)
        answer = client.get(f"/api/v1/submissions/{event.resource_id}/")
    except Refused:
        return None  # disconnected, or not answered: the next poll lists it
    return next((study for study in studies if study.external_id == answer.get("study_id")), None)


def _read_stamp(text: str) -> datetime | None:
    try:
        return datetime.fromtimestamp(float(text), UTC)
    except (ValueError, OverflowError, OSError):
        return None
