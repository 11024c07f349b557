"""Passkeys: to sign in without a password, or as a second factor. A device makes one for each site that asks for it."""

import json
import logging
import struct
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

logger = logging.getLogger(__name__)

MOST = 10
"""Of one account: more than the devices of a person."""
LONGEST_ANSWER = 20_000
"""Characters of what a browser sends for a passkey; the library's time to read one grows with the square."""
STORED_PARTS = ("clientDataJSON", "attestationObject")
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError, struct.error)
"""What the library raises for bytes that are none of a passkey; it has no errors of its own."""
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
    auth.WebAuthn.add(user, name or f"{n + 1}", _choose_stored(credential))
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
    _note_use(row.pk, _attempt(lambda: _read_counter(credential)))
    return found


def _note_use(pk: int, counter: int) -> None:
    """Store when a passkey was used, and its counter. Raises Refused if that is no higher than at the last use.

    A device that counts counts up, so that a copy of it is behind, or puts it behind. Most passkeys are on several
    devices and don't count: their counter is always 0.
    """
    row = Authenticator.objects.select_for_update(no_key=True).filter(pk=pk).first()
    if row is None:  # removed meanwhile
        raise Refused(NOT_ACCEPTED)
    before = row.data.get("counter", 0)
    if (counter or before) and counter <= before:
        logger.warning("Passkey %s of user %s counts %s after %s: it may be a copy.", pk, row.user_id, counter, before)
        raise Refused(NOT_ACCEPTED)
    row.data["counter"], row.last_used_at = counter, timezone.now()
    row.save(update_fields=["data", "last_used_at"])


def _read_counter(credential: dict[str, Any]) -> int:
    from fido2.webauthn import AuthenticationResponse

    counter: int = AuthenticationResponse.from_dict(credential).response.authenticator_data.counter
    return counter


def _choose_stored(credential: dict[str, Any]) -> dict[str, Any]:
    """Return what later sign-ins need of an accepted passkey: the rest is unchecked, and may be anything.

    It is encoded again, because the library skips characters that are no Base64.
    """
    from fido2.utils import websafe_decode, websafe_encode

    name = websafe_encode(websafe_decode(credential["rawId"]))
    response = {part: websafe_encode(websafe_decode(credential["response"][part])) for part in STORED_PARTS}
    return {"id": name, "rawId": name, "type": "public-key", "response": response}


def _attempt(step: Callable[[], Any]) -> Any:
    """Return the result of a step. Raises Refused for anything that a device or a forger can send wrongly."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    try:
        return step()
    except (ValidationError, InvalidSignature, UnsupportedAlgorithm, *UNREADABLE) as error:
        raise Refused(NOT_ACCEPTED) from error


def _read(answer: str) -> dict[str, Any]:
    if len(answer) > LONGEST_ANSWER:
        raise Refused(NOT_ACCEPTED)
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
