"""Joining a project by an invitation, with an account or with a new one."""

from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from projects import log
from projects.accounts import single_sign_on
from projects.accounts.single_sign_on import Identity
from projects.errors import Refused
from projects.models import Act, Invitation, Membership, User
from projects.people.invitations import find_invitation, may_grant

OVER = gettext_lazy("This invitation was already used, revoked or expired. Ask the person who sent it for a new one.")


class AlreadyMember(Refused):
    """The person is, or was, a member; the link changes nothing."""

    def __init__(self, membership: Membership) -> None:
        super().__init__(_("You're already in this project, so the link changes nothing."))
        self.membership = membership


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
    if not may_grant(maker, invitation):
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
