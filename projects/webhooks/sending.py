"""Sending one message: signed, to the checked address, in five seconds, without following redirects."""

import hashlib
import hmac
import http.client
import ssl
import time
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from typing import Any

import orjson
from django.urls import reverse
from django.utils.crypto import salted_hmac

from projects.errors import Refused
from projects.models import Delivery, Event, Webhook
from projects.web.links import absolute_url
from projects.web.outgoing import exchange
from projects.webhooks.addresses import NotAllowed, Target, read_target, resolve

MARK = "whsec_"
SALT = "projects.webhooks"
TIMEOUT_SECONDS = 5.0
"""Far below the lease of a message (`delivering.LEASE`), so that no other worker sends it meanwhile."""
SUCCESS = range(200, 300)
LINKS: dict[str, tuple[str, tuple[str, ...]]] = {
    Event.HIT_SUBMITTED: ("annotate:assignment-show", ("assignment",)),
    Event.BATCH_COMPLETE: ("annotate:batch-show", ("batch",)),
    Event.FINDING_OPENED: ("annotate:annotator-show", ("annotator",)),
    Event.SET_FROZEN: ("results:set-show", ("set",)),
}
"""The page that each event is about, with the parts of its address in the data."""


@dataclass(frozen=True)
class SendingResult:
    """How an attempt ended: the status of the answer, or the error; and how long it took."""

    status: int | None
    ms: int
    error: str = ""

    @property
    def has_worked(self) -> bool:
        return self.status in SUCCESS


def derive_secret(webhook: Webhook) -> str:
    """Return the secret that messages to this address are signed with."""
    digest = salted_hmac(SALT, webhook.key.hex, algorithm="sha256").digest()
    return MARK + urlsafe_b64encode(digest).decode().rstrip("=")


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature over time and body: an old message can't be sent again with a new time."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def write_body(delivery: Delivery) -> bytes:
    """Return the message; each attempt sends the same id, by which the receiver knows it again."""
    message: dict[str, Any] = {
        "id": str(delivery.uuid),
        "event": delivery.event,
        "project": delivery.webhook.project.slug,
        "created_at": delivery.created_at.isoformat(),
        "data": delivery.data,
    }
    name, keys = LINKS.get(delivery.event, ("projects:webhook-list", ()))
    message["link"] = absolute_url(reverse(name, args=[delivery.webhook.project.slug, *map(delivery.data.get, keys)]))
    return orjson.dumps(message, option=orjson.OPT_SORT_KEYS)


def send(delivery: Delivery) -> SendingResult:
    """Send a message once, and return how that ended; nothing that the other side does raises an error."""
    body, timestamp = write_body(delivery), str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Concord-Webhooks",
        "Concord-Delivery": str(delivery.uuid),
        "Concord-Event": delivery.event,
        "Concord-Timestamp": timestamp,
        "Concord-Signature": f"sha256={sign(derive_secret(delivery.webhook), timestamp, body)}",
    }
    began = time.monotonic()
    status, error = None, ""
    try:
        target = read_target(delivery.webhook.url)
        address = resolve(target, seconds=TIMEOUT_SECONDS)
        left = max(0.01, began + TIMEOUT_SECONDS - time.monotonic())  # with 0 nothing would be waited for
        status = _post(target, address, headers, body, seconds=left)
    except (NotAllowed, Refused) as refusal:
        error = str(refusal)
    except ssl.SSLError as refusal:
        error = f"TLS: {refusal.reason or 'failed'}"
    except TimeoutError:
        error = f"No answer within {TIMEOUT_SECONDS:g} seconds."
    except (OSError, http.client.HTTPException, ValueError) as failure:
        # The name of the error alone: its text may repeat what the other side sent.
        error = f"The connection failed ({type(failure).__name__})."
    ms = round((time.monotonic() - began) * 1000)
    if status is not None and status not in SUCCESS:
        error = "A redirect is not followed." if 300 <= status < 400 else "The answer was no success."
    return SendingResult(status, ms, error)


def _post(target: Target, address: str, headers: dict[str, str], body: bytes, *, seconds: float) -> int:
    """Return the status of the answer, whose body is not read. Raises TimeoutError when the time is over."""
    return exchange(
        "POST",
        host=target.host,
        port=target.port,
        path=target.path,
        is_https=target.is_https,
        address=address,
        headers=headers,
        body=body,
        seconds=seconds,
    ).status
