"""Single sign-on: which account an identity of the OpenID Connect provider opens. It never creates one by itself.

Only an invitation does: whoever accepts one may sign up with an identity instead of a password.
"""

import hashlib
import time
from dataclasses import asdict, dataclass
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from projects.accounts import second_factors
from projects.errors import Refused
from projects.models import User

LINKED_TO_ANOTHER = _("Another account here is linked to this identity. Sign in with it, or unlink it there first.")


WAITING, WAITING_SECONDS = "waiting_identity", 10 * 60
"""The key in the session, and how long after the provider has said who comes an invitation can be accepted."""


@dataclass(frozen=True)
class Identity:
    """An identity that the provider has confirmed and no account is linked to, of somebody with an invitation."""

    key: str
    uid: str
    email: str
    at: float


def is_configured() -> bool:
    return bool(settings.OIDC_ISSUER)


def make_key() -> str:
    """Return the name under which identities of this provider are stored.

    It depends on the issuer: when the site changes its provider, the identities of the new one must not open accounts
    that were linked to the old one, although both may number people from 1.
    """
    return f"oidc-{hashlib.sha256(settings.OIDC_ISSUER.rstrip('/').encode()).hexdigest()[:16]}"


def find_identity(user: User) -> SocialAccount | None:
    return SocialAccount.objects.filter(user=user, provider=make_key()).first()


@transaction.atomic
def find_user(uid: str, claims: dict[str, Any]) -> User | None:
    """Return the active user whom this identity opens, or None.

    That is the user who linked it. Where the site matches addresses, it is else the one account that the operator
    prepared for an address that the provider has verified: nobody has signed in to it, and it has no password. In any
    other account people enter what address they like, so it proves nothing there.
    """
    linked = SocialAccount.objects.select_related("user").filter(provider=make_key(), uid=uid).first()
    if linked is not None:
        return linked.user if linked.user.is_active else None
    email = str(claims.get("email") or "").strip()
    is_verified = claims.get("email_verified") is True or claims.get("email_verified") == "true"
    if not (settings.OIDC_MATCH_EMAIL and email and is_verified):
        return None
    found = _list_prepared(email)
    if len(found) != 1 or find_identity(found[0]) is not None:
        return None
    link(user=found[0], uid=uid, email=email)
    return found[0]


@transaction.atomic
def link(*, user: User, uid: str, email: str) -> None:
    """Link an identity to an account. Raises Refused if either has another already; again the same changes nothing."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    present = find_identity(user)
    if present is not None and present.uid == uid:
        return
    if present is not None:
        raise Refused(_("This account is already linked to another identity. Unlink that first."))
    _row, is_new = SocialAccount.objects.get_or_create(
        provider=make_key(), uid=uid, defaults={"user": user, "extra_data": {"email": email}}
    )
    if not is_new:
        raise Refused(LINKED_TO_ANOTHER)


def _list_prepared(email: str) -> list[User]:
    """Return the accounts with this address that have no password and that nobody has signed in to, locked."""
    users = User.objects.select_for_update(no_key=True)
    unused = users.filter(email__iexact=email, is_active=True, last_login=None)
    return [user for user in unused if not user.has_usable_password()]


def remember(request: HttpRequest, uid: str, email: str) -> None:
    """Keep an identity in the session, until its owner accepts the invitation that they came with."""
    request.session[WAITING] = asdict(Identity(key=make_key(), uid=uid, email=email, at=time.time()))


def recall(request: HttpRequest) -> Identity | None:
    """Return the identity that waits in the session, for ten minutes and while its provider is the site's."""
    stored = request.session.get(WAITING)
    if not (stored and is_configured()):
        return None
    identity = Identity(**stored)
    is_fresh = 0 <= time.time() - identity.at <= WAITING_SECONDS
    return identity if is_fresh and identity.key == make_key() else None


@transaction.atomic
def unlink(*, user: User) -> None:
    """Remove the link and end the other sessions. Raises Refused if no other way to sign in would be left."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if not user.has_usable_password() and not second_factors.list_factors(user).passkeys:
        raise Refused(_("Set a password or add a passkey first. Otherwise you couldn't sign in any more."))
    if SocialAccount.objects.filter(user=user, provider=make_key()).delete()[0]:
        second_factors.end_sessions(user)
