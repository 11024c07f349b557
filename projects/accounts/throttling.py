"""Throttling of sign-ins: an account from one address, an account from all addresses, an address on all accounts."""

from datetime import datetime, timedelta
from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.conf import settings
from django.db.models import Q, Sum
from django.http import HttpRequest
from django.utils import timezone

KEPT = timedelta(days=30)
"""How long failed sign-ins are kept, with their network addresses: long enough to look into an attack."""


class SignInHandler(AxesDatabaseHandler):  # type: ignore[misc]
    """The handler of axes, with a bound for each of the three. It has one limit, to which the others are scaled."""

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """Return the recent failures, as if all of them counted towards AXES_FAILURE_LIMIT."""
        username = get_client_username(request, credentials)
        address: str | None = getattr(request, "axes_ip_address", None)
        bounds = [(Q(username=username, ip_address=address), settings.AXES_FAILURE_LIMIT)]
        if username is not None:
            bounds.append((Q(username=username), settings.ACCOUNT_FAILURE_LIMIT))
        if address is not None:
            bounds.append((Q(ip_address=address), settings.ADDRESS_FAILURE_LIMIT))
        began = get_cool_off_threshold(request)
        recent = AccessAttempt.objects.filter(attempt_time__range=(began, _find_latest(began)))
        sums = recent.aggregate(
            **{str(n): Sum("failures_since_start", filter=which, default=0) for n, (which, _) in enumerate(bounds)}
        )
        limit: int = settings.AXES_FAILURE_LIMIT
        return max(int(sums[str(n)]) * limit // most for n, (_, most) in enumerate(bounds))

    def clean_expired_user_attempts(
        self, request: HttpRequest | None = None, credentials: dict[str, Any] | None = None
    ) -> int:
        """Delete attempts that are over, with those of a clock that was set back since; return how many."""
        n: int = super().clean_expired_user_attempts(request, credentials)
        latest = _find_latest(get_cool_off_threshold(request))
        n += AccessAttempt.objects.filter(attempt_time__gt=latest).delete()[0]
        return n


def _find_latest(began: datetime) -> datetime:
    """Return the latest time that counts: as far ahead as the earliest is back, as the clocks of hosts differ."""
    return began + 2 * timedelta(hours=settings.AXES_COOLOFF_TIME)


def forget_old() -> None:
    """Delete records of failed sign-ins that are no longer needed."""
    for attempts in (AccessAttempt, AccessFailureLog, AccessLog):
        attempts.objects.filter(attempt_time__lt=timezone.now() - KEPT).delete()
