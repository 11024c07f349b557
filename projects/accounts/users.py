"""Accounts made on the command line."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

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
            _("“%(username)s” cannot be a username: %(messages)s")
            % {"username": username, "messages": " ".join(error.messages)}
        ) from error
    if User.objects.filter(username__iexact=username).exists():
        raise Refused(
            _("There is a user whose name differs from “%(username)s” in capitals only.") % {"username": username}
        )
    user = User(username=username)
    user.set_unusable_password()
    user.save()
    return user, True
