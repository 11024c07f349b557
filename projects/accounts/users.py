"""Accounts created, disabled and enabled on the command line."""

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from projects import log
from projects.accounts import second_factors
from projects.errors import Refused
from projects.models import Act, Invitation, Membership, Project, User


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


def find_user(name: str) -> User:
    """Return the user of this name, or else of this email address. Raises Refused if there is none, or several."""
    users = list(User.objects.filter(username=name) or User.objects.filter(email__iexact=name).order_by("username"))
    if not users:
        raise Refused(f"No user “{name}”.")
    if len(users) > 1:
        names = ", ".join(user.username for user in users)
        raise Refused(f"Several accounts have the address {name}: {names}. Use a username.")
    return users[0]


@transaction.atomic
def set_active(*, user: User, is_active: bool) -> bool:
    """Disable or enable an account, log it in each of its projects, and return whether that changes anything.

    Open sessions and invitations end for good; API tokens are refused while the account is disabled.
    """
    if not User.objects.filter(pk=user.pk, is_active=not is_active).update(is_active=is_active):
        return False
    if not is_active:
        second_factors.end_sessions(user)
        _revoke_invitations(user)
    for membership in user.memberships.select_related("project"):
        act = Act.ENABLE_ACCOUNT if is_active else Act.DISABLE_ACCOUNT
        log.record(membership.project, None, act, membership)
    return True


def list_ownerless_projects(user: User) -> list[Project]:
    """Return the projects that this user owns and where no owner can act, since their accounts are disabled."""
    able = Membership.objects.able_owners().filter(project=OuterRef("pk"))
    owned = Project.objects.filter(deleted_at=None, memberships__user=user, memberships__role=Membership.Role.OWNER)
    return list(owned.exclude(Exists(able)).order_by("slug"))


def _revoke_invitations(user: User) -> None:
    """Revoke what the user has invited to: whoever disables an account may not trust the people who hold its links."""
    now = timezone.now()
    for invitation in Invitation.objects.usable(now).filter(created_by__user=user).select_related("project"):
        if Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(revoked_at=now):
            why = "The account of the member who created it was disabled."
            log.record(invitation.project, None, Act.REVOKE_INVITATION, invitation, why=why)
