"""Passkeys: to sign in without a password, or as a second factor. A device makes one for each site that asks for it."""

import json
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from projects.accounts import second_factors
from projects.errors import Refused
from projects.models import User

MOST = 10
"""Of one account: more than the devices of a person."""
NOT_ACCEPTED = _("The passkey wasn't accepted. Try again, or sign in another way.")


def are_possible(request: HttpRequest) -> bool:
    """Return whether browsers have passkeys at this address: it needs a host name, and https except on this machine."""
    host = request.get_host()
    name = host if host.startswith("[") else host.partition(":")[0]
    if name == "localhost":
        return True
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return request.is_secure() or bool(settings.IS_HTTPS)
    return False


def are_used() -> bool:
    """Return whether anybody here has one: until then the sign-in page does not offer them."""
    return bool(Authenticator.objects.filter(type=Authenticator.Type.WEBAUTHN).exists())


# allauth loads the library of passkeys, which nobody else needs, so that it is imported only where it is used. It keeps
# the challenge in the session of the request that is being answered.


def begin_registration(user: User) -> dict[str, Any]:
    """Return what the browser needs to make a passkey, which asks for a PIN, a finger or a face."""
    from allauth.mfa.webauthn.internal import auth

    return _plain(auth.begin_registration(user, passwordless=True))


def begin_authentication(user: User | None) -> dict[str, Any]:
    """Return what the browser needs to use a passkey: one of this user, or any one it has for this site."""
    from allauth.mfa.webauthn.internal import auth

    return _plain(auth.begin_authentication(user))


@transaction.atomic
def add(*, user: User, name: str, answer: str) -> list[str]:
    """Store a new passkey, and return recovery codes if there were none. Raises Refused if it is not accepted."""
    from allauth.mfa.webauthn.internal import auth

    credential = _read(answer)
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    rows = Authenticator.objects.filter(user=user, type=Authenticator.Type.WEBAUTHN)
    n = rows.count()
    if n >= MOST:
        raise Refused(_("You already have {n} passkeys. Remove one first.").format(n=MOST))
    _attempt(lambda: auth.complete_registration(credential))
    auth.WebAuthn.add(user, name or f"{n + 1}", credential)
    return second_factors.after_adding(user)


@transaction.atomic
def authenticate(*, user: User | None, answer: str) -> User:
    """Return the active user whose passkey answered: this one, or whoever it belongs to. Raises Refused if none."""
    from allauth.mfa.webauthn.internal import auth

    credential = _read(answer)
    found: User = user or _attempt(lambda: auth.extract_user_from_response(credential))
    row: Authenticator = _attempt(lambda: auth.complete_authentication(found, credential))
    if not found.is_active:
        raise Refused(NOT_ACCEPTED)
    Authenticator.objects.filter(pk=row.pk).update(last_used_at=timezone.now())
    return found


def _attempt(step: Callable[[], Any]) -> Any:
    """Return the result of a step. Raises Refused for anything that a device or a forger can send wrongly."""
    from cryptography.exceptions import InvalidSignature

    try:
        return step()
    except (ValidationError, InvalidSignature, ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise Refused(NOT_ACCEPTED) from error


def _read(answer: str) -> dict[str, Any]:
    try:
        credential = json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise Refused(NOT_ACCEPTED) from error
    if not isinstance(credential, dict):
        raise Refused(NOT_ACCEPTED)
    return credential


def _plain(options: Any) -> dict[str, Any]:
    """Return the options as JSON has them: the library's mappings write bytes as text."""
    plain: dict[str, Any] = json.loads(json.dumps(options, default=dict))
    return plain
