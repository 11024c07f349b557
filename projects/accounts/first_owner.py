"""The first account of a site: created on a page once, by whoever has the code that the terminal prints.

The code is required from every address. A request from the loopback proves nothing, because a proxy on this machine
sends everybody's requests from there.
"""

import base64

from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth.signals import user_login_failed
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare, salted_hmac

from projects.database.locks import AdvisoryLock, lock_in_project
from projects.errors import Refused
from projects.models import Project, User
from projects.web.client_address import client_address

EXISTS = "This site already has an account, so this page is closed. Sign in, or ask the site administrator."
GROUPS, GROUP = 4, 5
"""The length of the code: 20 characters of base 32 have 100 bits, so that no one can guess it."""


def is_fresh() -> bool:
    """Return whether the site has neither an account nor a project, also none that was deleted."""
    return not User.objects.exists() and not Project.objects.exists()


def make_code() -> str:
    """Return the code, which depends on SECRET_KEY alone: the web processes and the terminal need share no file."""
    digest = salted_hmac(__name__, "code", algorithm="sha256").digest()
    letters = base64.b32encode(digest).decode().lower()
    return "-".join(letters[start : start + GROUP] for start in range(0, GROUPS * GROUP, GROUP))


def is_blocked(request: HttpRequest) -> bool:
    """Return whether this address has entered too many wrong codes within a quarter of an hour."""
    return not AxesProxyHandler.is_allowed(request, _as_credentials(request))


def check_code(request: HttpRequest, code: str) -> bool:
    """Return whether the code is right; a wrong one counts as a failed sign-in of this address."""
    typed = "".join(code.lower().split()).replace("-", "")
    if constant_time_compare(typed, make_code().replace("-", "")):
        return True
    user_login_failed.send(sender=__name__, credentials=_as_credentials(request), request=request)
    return False


@transaction.atomic
def create_first_owner(user: User, password: str) -> User:
    """Store the first account, which may create projects. Raises Refused if the site has an account by now.

    Of requests at the same time only the first succeeds: the others wait for its lock and find its account.
    """
    lock_in_project(AdvisoryLock.FIRST_OWNER, 0)
    if not is_fresh():
        raise Refused(EXISTS)
    user.can_create_projects = True
    user.set_password(password)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError as error:  # created on the command line since the check above
        raise Refused(EXISTS) from error
    return user


def _as_credentials(request: HttpRequest) -> dict[str, str]:
    # The name contains the address: wrong codes from elsewhere must not keep the owner out.
    return {"username": f"first owner from {client_address(request)}"}
