"""The line of a request in the log: what it cost and how it ended, without a name, a text or an address."""

import logging
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

from projects.models import Membership, User

logger = logging.getLogger("concord.requests")

SALT = "config.monitoring.request_log"
"""Constant, so that a person has one name in logs of all versions, whatever this module is called."""


def is_wanted() -> bool:
    """Return whether requests are logged: they are if the log is read by programs (LOG_FORMAT)."""
    return logger.isEnabledFor(logging.INFO)


def write(request: HttpRequest, response: HttpResponse, *, route: str, seconds: float, n_statements: int) -> None:
    """Log one request by its route, whose pattern has none of the values in the address."""
    membership: Membership | None = getattr(request, "membership", None)
    fields: dict[str, Any] = {
        "method": request.method,
        "route": route,
        "status": response.status_code,
        "ms": round(1000 * seconds, 1),
        "statements": n_statements,
        "user": membership.pseudonym if membership else _disguise(request),
        "project": membership.project_id if membership else None,
    }
    # Given here, because the line may be written when the id has been forgotten.
    fields["request_id"] = getattr(request, "request_id", None)
    logger.info("%s %s %s", request.method, route, response.status_code, extra={"fields": fields})


def _disguise(request: HttpRequest) -> str | None:
    """Return a name for whoever is signed in, the same in every line, that does not lead back to the account."""
    # Only if the request has looked: a line of the log must not cost a statement.
    user = getattr(request, "_cached_user", None) or vars(request).get("user")
    if type(user) is not User or user.pk is None:
        return None
    return f"u-{salted_hmac(SALT, str(user.pk), algorithm='sha256').hexdigest()[:8]}"
