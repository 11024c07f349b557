"""Invitations: links by which people become members. Only the hash of a link's token is stored."""

import hashlib
import uuid
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from projects import log
from projects.access import lock_actor
from projects.errors import Refused
from projects.models import Act, Invitation, Membership
from projects.people.members import grantable_roles
from projects.web.keyed_forms import make_secret

DEFAULT_DAYS = 14
MOST_DAYS = 365
"""How long an invitation is valid where nothing is chosen, and at most: an old link lets nobody in."""


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
    return is_open and may_grant(invitation.created_by, invitation)


def may_grant(maker: Membership, invitation: Invitation) -> bool:
    """Return whether the creator of an invitation can still give its role."""
    has_account = maker.user is not None and maker.user.is_active
    return has_account and maker.is_active and invitation.role in grantable_roles(maker)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
