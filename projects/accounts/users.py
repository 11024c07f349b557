"""Accounts created on the command line."""

from django.core.exceptions import ValidationError

from projects.errors import Refused
from projects.models import User


def ensure_user(username: str, *, email: str = "") -> tuple[User, bool]:
    """Return the user of this name and whether it is new; a new one has no password.

    Raises Refused for a bad name or address, and for another address of an account that exists: people change theirs.
    """
    user = User.objects.filter(username=username).first()
    if user is not None:
        if email and user.email.lower() != email.lower():
            raise Refused(f"The account “{username}” already exists, with another address or none.", field="email")
        return user, False
    field = User._meta.get_field("username")
    try:
        username = field.clean(User.normalize_username(username), None)
    except ValidationError as error:
        raise Refused(f"“{username}” cannot be a username: {' '.join(error.messages)}") from error
    # Names are case-sensitive when signing in, so two that differ only in case would be confused.
    if User.objects.filter(username__iexact=username).exists():
        raise Refused(f"A username that differs from “{username}” only in capitalisation already exists.")
    try:
        user = User(username=username, email=User._meta.get_field("email").clean(email, None))
    except ValidationError as error:
        raise Refused(f"“{email}” is not an email address.", field="email") from error
    user.set_unusable_password()
    user.save()
    return user, True
