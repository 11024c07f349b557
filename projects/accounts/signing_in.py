"""Signing in: after the password or the identity comes the second factor, if the account has one."""

import time
from typing import Any
from urllib.parse import urlencode

from axes.handlers.proxy import AxesProxyHandler
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.signals import user_login_failed
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from projects.access import has_second_factor
from projects.accounts import passwords
from projects.accounts.session_store import SIGNED_IN
from projects.models import User
from projects.web.client_address import client_address

PENDING, CONFIRMED = "sign_in_pending", "confirmed_at"
PENDING_SECONDS = 10 * 60
"""How long after the first factor the second one is taken."""
CONFIRMED_SECONDS = 15 * 60
"""How long after a proof of identity the sign-in methods of an account can be changed."""


def begin(request: HttpRequest, user: User, target: str, *, is_proof: bool = True) -> HttpResponse:
    """Sign in whoever has proved one factor and has no other, or ask for the second one; return the redirect.

    It is no proof for changing ways to sign in if nobody had to prove anything now, as with a provider's open session.
    """
    if not has_second_factor(user):
        finish(request, user, is_proof=is_proof)
        return redirect(target)
    request.session.cycle_key()  # a session that somebody else has planted must not get any further either
    request.session[PENDING] = {"user": user.pk, "hash": user.get_session_auth_hash(), "at": time.time()}
    query = f"?{urlencode({'next': target})}" if target else ""
    return redirect(f"{reverse('projects:second-step')}{query}")


def find_pending(request: HttpRequest) -> User | None:
    """Return the user whose second factor is awaited in this session, or None: also after ten minutes, or a change of
    the password or of the factors.
    """
    pending: dict[str, Any] = request.session.get(PENDING) or {}
    if not pending or not 0 <= time.time() - pending["at"] <= PENDING_SECONDS:
        return None
    user = User.objects.filter(pk=pending["user"], is_active=True).first()
    if user is None or not constant_time_compare(pending["hash"], user.get_session_auth_hash()):
        return None
    return user


def finish(request: HttpRequest, user: User, *, is_proof: bool = True) -> None:
    """Sign in. The session gets a new key: one planted before is worthless."""
    request.session.pop(PENDING, None)
    # With several backends (axes is one) Django cannot know which one to store in the session.
    login(request, user, backend=settings.AUTHENTICATION_BACKENDS[-1])
    request.session[SIGNED_IN] = timezone.now().timestamp()
    if is_proof:
        confirm(request)
    passwords.forget_failures(user, client_address(request))


def confirm(request: HttpRequest) -> None:
    """Remember that whoever uses this session has just proved to be its user."""
    request.session[CONFIRMED] = time.time()


def is_confirmed(request: HttpRequest) -> bool:
    at: float = request.session.get(CONFIRMED, 0)
    return 0 <= time.time() - at <= CONFIRMED_SECONDS


def is_blocked(request: HttpRequest, user: User) -> bool:
    """Return whether this account or this address has had too many failures."""
    return not AxesProxyHandler.is_allowed(request, {"username": user.username})


def count_failure(request: HttpRequest, user: User) -> None:
    """Count a wrong code, password or passkey of somebody known, like a wrong password on the sign-in page."""
    user_login_failed.send(sender=__name__, credentials={"username": user.username}, request=request)
