"""Passwords: reset links, who may issue them, and the failed attempts that throttle signing in."""

from axes.models import AccessAttempt
from django.contrib.auth.tokens import default_token_generator
from django.db import transaction
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.utils.translation import gettext_lazy

from projects import log
from projects.access import lock_actor
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
    return link_path(target.user)


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
    """
    user = target.user
    if user is None:
        return "This annotator has no account."
    if user == actor.user:
        return "Change your own password on your account page."
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


def link_path(user: User) -> str:
    """Return the path of a reset link, which works once and for an hour (PASSWORD_RESET_TIMEOUT)."""
    uidb64 = urlsafe_base64_encode(force_bytes(user.pk))
    return reverse("projects:password-reset", args=[uidb64, default_token_generator.make_token(user)])


def find_by_link(uidb64: str, token: str) -> User | None:
    """Return the active user of a valid reset link, or None."""
    user = _find(uidb64, for_update=False)
    return user if user is not None and default_token_generator.check_token(user, token) else None


@transaction.atomic
def reset(*, uidb64: str, token: str, password: str) -> User:
    """Set the password. Raises Refused if the link is invalid or was used; of simultaneous uses only one succeeds."""
    user = _find(uidb64, for_update=True)
    if user is None or not default_token_generator.check_token(user, token):
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


def _find(uidb64: str, *, for_update: bool) -> User | None:
    try:
        key = int(urlsafe_base64_decode(uidb64))
    except (TypeError, ValueError, OverflowError):
        return None
    if not 0 < key < 2**63:  # the link may contain any number, and the database only takes a bigint
        return None
    users = User.objects.filter(pk=key, is_active=True)
    return (users.select_for_update() if for_update else users).first()
