"""Invitations: links by which people become members. Only the hash of a link's token is stored."""

import hashlib
import uuid
from datetime import timedelta

from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from projects import log
from projects.access import lock_actor
from projects.accounts import single_sign_on
from projects.accounts.single_sign_on import Identity
from projects.errors import Refused
from projects.models import Act, Invitation, Membership, User
from projects.people.members import grantable_roles
from projects.web.keyed_forms import make_secret

DEFAULT_DAYS = 14
MOST_DAYS = 365

OVER = gettext_lazy("This invitation was already used, revoked or expired. Ask the person who sent it for a new one.")


class AlreadyMember(Refused):
    """The person is, or was, a member; the link changes nothing."""

    def __init__(self, membership: Membership) -> None:
        super().__init__(_("You're already in this project, so the link changes nothing."))
        self.membership = membership


@transaction.atomic
def create_invitation(
    *,
    actor: Membership,
    role: str,
    is_annotator: bool = False,
    max_uses: int = 1,
    days: int = DEFAULT_DAYS,
    note: str = "",
    key: uuid.UUID | None = None,
) -> tuple[Invitation, str]:
    """Create an invitation, and return it with its token, which is not stored.

    The same key again is the same invitation. Raises Refused for a role above the actor's right. The actor's row stays
    locked until the end of the transaction, so that an act that takes the right away waits, finds this invitation and
    revokes it.
    """
    lock_actor(actor)
    if role == Membership.Role.OWNER or role not in grantable_roles(actor):
        raise Refused("You can't invite people to this role.")
    if not 1 <= days <= MOST_DAYS:
        raise Refused(f"Enter a validity of 1 to {MOST_DAYS} days.")
    token = make_secret("invitation", actor, key)
    if (created := find_invitation(token)) is not None:
        if not is_usable(created):
            raise Refused("This invitation was already created and has ended. Open this page again for another one.")
        return created, token
    invitation = Invitation.objects.create(
        project=actor.project,
        role=role,
        is_annotator=is_annotator or role == Membership.Role.ANNOTATOR,
        token_sha256=_hash(token),
        note=note,
        max_uses=max_uses,
        expires_at=timezone.now() + timedelta(days=days),
        created_by=actor,
    )
    after = {
        "role": role,
        "is_annotator": invitation.is_annotator,
        "max_uses": max_uses,
        "expires_at": invitation.expires_at.isoformat(),
    }
    log.record(actor.project, actor, Act.INVITE, invitation, after=after)
    return invitation, token


@transaction.atomic
def revoke(*, invitation: Invitation, actor: Membership) -> None:
    """Revoke an invitation; revoking it again does nothing."""
    if Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(revoked_at=timezone.now()):
        log.record(invitation.project, actor, Act.REVOKE_INVITATION, invitation)


def find_invitation(token: str) -> Invitation | None:
    return Invitation.objects.select_related("project", "created_by__user").filter(token_sha256=_hash(token)).first()


def is_usable(invitation: Invitation) -> bool:
    """Return whether the link still works, and its creator may still assign the role."""
    usable = Invitation.objects.usable(timezone.now())
    is_open = usable.filter(pk=invitation.pk, project__deleted_at=None).exists()
    return is_open and _may_grant(invitation.created_by, invitation)


def sign_up(*, token: str, username: str, password: str | None, identity: Identity | None = None) -> Membership:
    """Create an account and join with it, or neither; with an identity it needs no password.

    Raises Refused if the name is taken, the link has ended, or the identity belongs to another account.
    """
    hashed = make_password(password)  # slow on purpose, so before the transaction that holds locks
    try:
        with transaction.atomic():
            user = User.objects.create(username=username, password=hashed)
            if identity is not None:
                single_sign_on.link(user=user, uid=identity.uid, email=identity.email)
            return join(token=token, user=user)
    except IntegrityError as taken:
        raise Refused(_("This username is taken. Choose another one.")) from taken


@transaction.atomic
def join(*, token: str, user: User) -> Membership:
    """Join by an invitation, and return the new membership. Simultaneous requests never exceed its number of uses.

    Raises AlreadyMember, without using the link up, and Refused if the link has ended or its creator lost the right.
    """
    invitation = find_invitation(token)
    if invitation is None or invitation.project.deleted_at is not None:
        raise Refused(OVER)
    project = invitation.project
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # two clicks by one person run one after the other
    present = Membership.objects.filter(project=project, user=user).first()
    if present is not None:
        raise AlreadyMember(present)
    # Locked, so that an act that takes the creator's right away and this one wait for each other.
    makers = Membership.objects.select_for_update(no_key=True, of=("self",)).select_related("user")
    maker = makers.get(pk=invitation.created_by_id)
    if not _may_grant(maker, invitation):
        raise Refused(OVER)
    # The condition and the count are one statement: a row read before might have been used up since.
    taken = Invitation.objects.usable(timezone.now()).filter(pk=invitation.pk).update(n_uses=F("n_uses") + 1)
    if not taken:
        raise Refused(OVER)
    membership = Membership.objects.create(
        project=project, user=user, role=invitation.role, is_annotator=invitation.is_annotator
    )
    after = {"role": membership.role, "is_annotator": membership.is_annotator, "invitation": invitation.pk}
    log.record(project, membership, Act.JOIN, membership, after=after)
    return membership


def _may_grant(maker: Membership, invitation: Invitation) -> bool:
    has_account = maker.user is not None and maker.user.is_active
    return has_account and maker.is_active and invitation.role in grantable_roles(maker)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
