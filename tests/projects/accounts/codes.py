"""Second factors of users in tests, and the codes that their apps show."""

import time

from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from allauth.mfa.utils import encrypt

from projects.models import User

SECRET = "JBSWY3DPEHPK3PXP"


def show_code(secret: str = SECRET, *, steps: int = 0) -> str:
    """The code that an app with this secret shows so many times thirty seconds from now."""
    code: str = format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))
    return code


def give_app(user: User) -> Authenticator:
    return Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data={"secret": encrypt(SECRET)})
