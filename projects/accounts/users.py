"""Accounts made on the command line."""

from django.core.exceptions import ValidationError

from projects.errors import Refused
from projects.models import User


def ensure_user(username: str) -> tuple[User, bool]:
    """The user of this name, made without a password when new. Raises Refused for a name that cannot be one."""
    user = User.objects.filter(username=username).first()
    if user is not None:
        return user, False
    field = User._meta.get_field("username")
    try:
        username = field.clean(User.normalize_username(username), None)
    except ValidationError as error:
        raise Refused(
            "“{username}” cannot be a username: {messages}".format(username=username, messages=" ".join(error.messages))
        ) from error
    if User.objects.filter(username__iexact=username).exists():
        raise Refused(f"A username that differs from “{username}” only in capitalisation already exists.")
    user = User(username=username)
    user.set_unusable_password()
    user.save()
    return user, True
