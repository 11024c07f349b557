"""Second factors of an account: an authenticator app, passkeys, and recovery codes for when both are lost."""

from collections.abc import Iterator
from dataclasses import dataclass

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from allauth.mfa.utils import decrypt, encrypt
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext_lazy as _

from projects import log
from projects.access import SECOND_FACTORS
from projects.errors import Refused
from projects.models import Act, Guesses, Membership, User

Kind = Authenticator.Type
WRONG_CODE = _("Wrong code. Enter the code that the app shows now.")
QUIET = 4
"""The margin around a code, in modules: scanners need it."""


@dataclass(frozen=True)
class Factors:
    """What an account has."""

    app: Authenticator | None
    passkeys: list[Authenticator]
    n_codes: int
    """Recovery codes that were not used yet."""

    def __bool__(self) -> bool:
        return self.app is not None or bool(self.passkeys)


def list_factors(user: User) -> Factors:
    rows = list(Authenticator.objects.filter(user=user).order_by("pk"))
    codes = next((row for row in rows if row.type == Kind.RECOVERY_CODES), None)
    return Factors(
        app=next((row for row in rows if row.type == Kind.TOTP), None),
        passkeys=[row for row in rows if row.type == Kind.WEBAUTHN],
        n_codes=_count_unused(codes) if codes is not None else 0,
    )


def is_guessing(user: User) -> bool:
    """Return whether too many wrong codes were entered for this account within a quarter of an hour, from anywhere."""
    return Guesses.are_too_many(_guess_key(user))


@transaction.atomic
def check_code(user: User, code: str) -> bool:
    """Return whether this is a code of the user's app or a recovery code; each works once, and wrong ones count.

    The user's row is locked, so that requests at the same time can neither use one code twice nor guess beyond the
    limit. A code that comes after too many wrong ones is wrong.
    """
    _lock(user)
    if is_guessing(user):
        return False
    typed = "".join(code.split()).replace("-", "")
    rows = {row.type: row for row in Authenticator.objects.filter(user=user).exclude(type=Kind.WEBAUTHN)}
    if Kind.TOTP in rows and _use_app(rows[Kind.TOTP], typed):
        return True
    if Kind.RECOVERY_CODES in rows and _use_recovery_code(rows[Kind.RECOVERY_CODES], typed):
        return True
    Guesses.count(_guess_key(user))
    return False


@transaction.atomic
def set_up_app(*, user: User, secret: str, code: str) -> list[str]:
    """Store the secret of an authenticator app that shows this code, and return recovery codes if there were none.

    Raises Refused for a wrong code, and if the account has an app.
    """
    _lock(user)
    if Authenticator.objects.filter(user=user, type=Kind.TOTP).exists():
        raise Refused(_("This account already has an authenticator app. Remove it first."))
    counter = _find_counter(secret, "".join(code.split()))
    if counter is None:
        raise Refused(WRONG_CODE, field="code")
    Authenticator.objects.create(user=user, type=Kind.TOTP, data={"secret": encrypt(secret), "used": counter})
    return after_adding(user)


def after_adding(user: User) -> list[str]:
    """End the sessions that were opened before, and return recovery codes if there were none. In the transaction."""
    end_sessions(user)
    has_codes = Authenticator.objects.filter(user=user, type=Kind.RECOVERY_CODES).exists()
    return [] if has_codes else make_recovery_codes(user=user)


@transaction.atomic
def make_recovery_codes(*, user: User) -> list[str]:
    """Replace the recovery codes and return the new ones, which are shown once. Raises Refused without a factor."""
    _lock(user)
    if not Authenticator.objects.filter(user=user, type__in=SECOND_FACTORS).exists():
        raise Refused(_("Set up an authenticator app or a passkey first."))
    Authenticator.objects.filter(user=user, type=Kind.RECOVERY_CODES).delete()
    codes: list[str] = RecoveryCodes.activate(user).generate_codes()
    return codes


@transaction.atomic
def remove(*, user: User, pk: int) -> None:
    """Remove an app or a passkey, with the last one the recovery codes too, and end the other sessions."""
    _lock(user)
    if Authenticator.objects.filter(user=user, type__in=SECOND_FACTORS, pk=pk).delete()[0]:
        if not Authenticator.objects.filter(user=user, type__in=SECOND_FACTORS).exists():
            Authenticator.objects.filter(user=user).delete()
        end_sessions(user)


@transaction.atomic
def reset(*, user: User) -> int:
    """Remove all factors of somebody who has lost them, log it in each of their projects, and return how many.

    Raises Refused if there are none. The password stays: it alone opens the account again, and nothing else.
    """
    _lock(user)
    n: int = Authenticator.objects.filter(user=user, type__in=SECOND_FACTORS).count()
    if not n:
        raise Refused(f"The account “{user.username}” has no second factor.")
    Authenticator.objects.filter(user=user).delete()
    end_sessions(user)
    Guesses.objects.filter(address=_guess_key(user)).delete()
    for membership in Membership.objects.filter(user=user).select_related("project"):
        log.record(membership.project, None, Act.RESET_SECOND_FACTOR, membership)
    return n


def end_sessions(user: User) -> None:
    """End the user's sessions; the caller renews the hash in the one that goes on."""
    User.objects.filter(pk=user.pk).update(factors_version=F("factors_version") + 1)
    user.refresh_from_db(fields=["factors_version"])


def _lock(user: User) -> None:
    User.objects.select_for_update(no_key=True).get(pk=user.pk)


def _use_app(row: Authenticator, typed: str) -> bool:
    secret = _decrypt(row.data["secret"])
    counter = None if secret is None else _find_counter(secret, typed, after=row.data.get("used", 0))
    if counter is None:
        return False
    # Stored, so that nobody who has watched the code being typed can use it again: neither now nor in another process.
    row.data["used"] = counter
    row.last_used_at = timezone.now()
    row.save(update_fields=["data", "last_used_at"])
    return True


def _use_recovery_code(row: Authenticator, typed: str) -> bool:
    if _decrypt(row.data["seed"]) is None or not row.wrap().validate_code(typed):
        return False
    Authenticator.objects.filter(pk=row.pk).update(last_used_at=timezone.now())
    return True


def _find_counter(secret: str, typed: str, *, after: int = 0) -> int | None:
    """Return the step of time whose code was typed, if it is later than `after`."""
    counters: Iterator[int] = yield_hotp_counters_from_time()
    return next(
        (
            counter
            for counter in counters
            if counter > after and constant_time_compare(format_hotp_value(hotp_value(secret, counter)), typed)
        ),
        None,
    )


def _count_unused(row: Authenticator) -> int:
    return len(row.wrap().get_unused_codes()) if _decrypt(row.data["seed"]) is not None else 0


def _decrypt(stored: str) -> str | None:
    """Return a secret, or None if SECRET_KEY has changed since: its codes are wrong then, like any others."""
    from cryptography.fernet import InvalidToken

    try:
        secret: str = decrypt(stored)
    except InvalidToken:
        return None
    return secret


def _guess_key(user: User) -> str:
    return f"code {user.pk}"


def draw_qr_code(text: str) -> tuple[int, str]:
    """Return the width of a QR code in modules, margin included, and the dark ones as a path of SVG.

    Pages draw a path without styles of their own.
    """
    from qrcode.main import QRCode

    code = QRCode(border=QUIET)
    code.add_data(text)
    rows = code.get_matrix()
    dark = [f"M{x} {y}h1v1h-1z" for y, row in enumerate(rows) for x, is_dark in enumerate(row) if is_dark]
    return len(rows), "".join(dark)
