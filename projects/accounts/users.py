"""Accounts created on the command line."""

from django.core.exceptions import ValidationError

from projects.errors import Refused
from projects.models import User


def ensure_user(username: str) -> tuple[User, bool]:
    """Return the user of this name and whether it is new; a new one has no password. Raises Refused for a bad name."""
    user = User.objects.filter(username=username).first()
    if user is not None:
        return user, False
    field = User._meta.get_field("username")
    try:
        username = field.clean(User.normalize_username(username), None)
    except ValidationError as error:
        raise Refused(f"“{username}” cannot be a username: {' '.join(error.messages)}") from error
    # Names are case-sensitive when signing in, so two that differ only in case would be confused.
    if User.objects.filter(username__iexact=username).exists():
        raise Refused(f"A username that differs from “{username}” only in capitalisation already exists.")
    user = User(username=username)
    user.set_unusable_password()
    user.save()
    return user, True
