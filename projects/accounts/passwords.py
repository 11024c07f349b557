"""Passwords: reset links, who may issue them, and the failed attempts that throttle signing in."""

from axes.models import AccessAttempt
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import transaction
from django.urls import reverse
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.utils.translation import gettext_lazy

from projects import log
from projects.access import has_second_factor, lock_actor
from projects.errors import Refused
from projects.models import Act, Membership, User

OVER = gettext_lazy("This link was already used, or it's older than an hour. Ask for a new one.")


@transaction.atomic
def issue_link(*, target: Membership, actor: Membership) -> str:
    """Return the path of a reset link for a member. Raises Refused unless the issuer manages all the account can do."""
    lock_actor(actor)
    reason = explain_missing_link(target=target, actor=actor)
    if reason:
        raise Refused(reason)
    assert target.user is not None
    log.record(target.project, actor, Act.ISSUE_RESET_LINK, target)
    return link_path(target.user, issuer=actor)


@transaction.atomic
def issue_link_as_operator(*, user: User) -> str:
    """Return the path of a reset link for any user, and log it in each of their projects."""
    for membership in user.memberships.select_related("project"):
        log.record(membership.project, None, Act.ISSUE_RESET_LINK, membership)
    return link_path(user)


def explain_missing_link(*, target: Membership, actor: Membership) -> str:
    """Return who can issue a link for this member instead, as a sentence; empty if the actor may.

    Whoever holds a reset link can take over the account. The account must therefore give access to nothing that the
    issuer does not manage: a manager may issue links for members below a manager, an owner also for managers. Projects
    from which the member was suspended or removed count as well, because the member may be restored at any time.
    Asked again when the link is opened and when it is used: what the account opens may have grown since.
    """
    user = target.user
    if user is None:
        return "This annotator has no account."
    if user == actor.user:
        return "Change your own password on your account page."
    if signs_in_by_panel(user):
        return (
            "Participants sign in by opening the study again from the platform. A password would close that way, and "
            "the panel's page lists browsers that were turned away, to let them in."
        )
    if user.is_superuser or user.is_staff or user.can_create_projects:
        return "This account has rights on the whole site. Only the site administrator can create the link."
    mine = {
        membership.project_id: membership
        for membership in Membership.objects.active().filter(user=actor.user, project__deleted_at=None)
        if membership.can_manage
    }
    for theirs in user.memberships.all():
        if theirs.role == Membership.Role.OWNER:
            return "This account owns a project. Only the site administrator can create the link."
        manager = mine.get(theirs.project_id)
        if manager is None:
            return (
                "This person is or was in a project that you don't manage. Only the site "
                "administrator can create the link."
            )
        if theirs.role == Membership.Role.MANAGER and not manager.is_owner:
            return "Only a project owner can create the link for a manager."
    return ""


def signs_in_by_panel(user: User) -> bool:
    """Return whether a panel's link opens this account: only one that it made, which can do nothing but work here.

    A password or a second factor closes that way: whoever has one signs in by it.
    """
    if user.has_usable_password() or user.is_staff or user.is_superuser or user.can_create_projects:
        return False
    memberships = list(user.memberships.all())
    is_plain = len(memberships) == 1 and memberships[0].is_participant and not memberships[0].can_read
    return is_plain and not has_second_factor(user)


def link_path(user: User, *, issuer: Membership | None = None) -> str:
    """Return the path of a reset link, which works once and for an hour (PASSWORD_RESET_TIMEOUT).

    It names who issued it, because it works no longer than they may issue it; without an issuer it is the operator's.
    """
    whom = f"{user.pk}" if issuer is None else f"{user.pk}-{issuer.pk}"
    token = _Tokens(issuer).make_token(user)
    return reverse("projects:password-reset", args=[urlsafe_base64_encode(whom.encode()), token])


def find_by_link(uidb64: str, token: str) -> User | None:
    """Return the active user of a valid reset link, or None."""
    return _find(uidb64, token, for_update=False)


@transaction.atomic
def reset(*, uidb64: str, token: str, password: str) -> User:
    """Set the password. Raises Refused if the link is invalid or was used; of simultaneous uses only one succeeds."""
    user = _find(uidb64, token, for_update=True)
    if user is None:
        raise Refused(OVER)
    user.set_password(password)  # makes all earlier links invalid: their tokens depend on the old password's hash
    user.save(update_fields=["password"])
    # Whoever has chosen a new password must not wait for failures with the old one.
    AccessAttempt.objects.filter(username=user.username).delete()
    return user


def change(*, user: User, password: str) -> None:
    """Set a new password; this ends every session that was opened with the old one."""
    user.set_password(password)
    user.save(update_fields=["password"])


def forget_failures(user: User, address: str) -> None:
    """Delete a user's failed attempts from this address after signing in, and no others: an attacker's still count."""
    AccessAttempt.objects.filter(username=user.username, ip_address=address or None).delete()


class _Tokens(PasswordResetTokenGenerator):
    """Tokens of reset links, which are valid with the name of their issuer alone."""

    key_salt = "projects.accounts.passwords"

    def __init__(self, issuer: Membership | None) -> None:
        super().__init__()
        self._issuer = "" if issuer is None else f"{issuer.pk}"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        return f"{self._issuer}-{super()._make_hash_value(user, timestamp)}"


def _find(uidb64: str, token: str, *, for_update: bool) -> User | None:
    try:
        keys = [int(part) for part in urlsafe_base64_decode(uidb64).decode().split("-")]
    except (ValueError, OverflowError):
        return None
    # The link may contain any numbers, and the database only takes a bigint.
    if len(keys) > 2 or not all(0 < key < 2**63 for key in keys):
        return None
    users = User.objects.filter(pk=keys[0], is_active=True)
    # Locked, also so that joining another project, which locks the account too, comes before or after.
    user = (users.select_for_update(of=("self",)) if for_update else users).first()
    issuer = Membership.objects.filter(pk=keys[1]).select_related("user").first() if keys[1:] else None
    if user is None or (keys[1:] and issuer is None) or not _Tokens(issuer).check_token(user, token):
        return None
    return user if issuer is None or _may_still_issue(issuer, user) else None


def _may_still_issue(issuer: Membership, user: User) -> bool:
    """Return whether this member could issue a link for the account now: either may have changed since."""
    if issuer.user is None or not issuer.user.is_active:
        return False
    target = Membership.objects.select_related("user").filter(project=issuer.project_id, user=user).first()
    return target is not None and not explain_missing_link(target=target, actor=issuer)
