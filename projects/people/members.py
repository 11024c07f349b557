"""A member's role, whether they annotate, and their status (active, suspended, removed)."""

from collections.abc import Callable

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils import timezone

from projects import log
from projects.access import adopt_locked
from projects.database.locks import AdvisoryLock, lock_in_project
from projects.errors import Refused
from projects.models import Act, Invitation, Membership, Project

Role = Membership.Role
Standing = Membership.Standing
BELOW_MANAGER = (Role.ANNOTATOR, Role.RESEARCHER)


def grantable_roles(actor: Membership) -> tuple[Membership.Role, ...]:
    """Return the roles that a member may assign: owners all of them, managers those below a manager."""
    if actor.is_owner:
        return (Role.ANNOTATOR, Role.RESEARCHER, Role.MANAGER, Role.OWNER)
    return BELOW_MANAGER if actor.can_manage else ()


def explain_lost_account(target: Membership) -> str:
    """Return why nobody can use this member's seat or read its messages any more; empty if somebody can."""
    return "They deleted their account, so no one can use this seat." if target.is_erased else ""


def explain_fixed_role(*, target: Membership, actor: Membership | None) -> str:
    """Return why this actor may not change this member's role, as a sentence; empty if they may."""
    if target.kind != Membership.Kind.PERSON:
        return f"No account uses this seat: its type is “{target.get_kind_display()}”."
    if lost := explain_lost_account(target):
        return lost
    if actor is not None and not actor.is_owner and target.role not in BELOW_MANAGER:
        return "Only the project owner can change managers and owners."
    return ""


@transaction.atomic
def change_role(*, target: Membership, role: str, actor: Membership) -> Membership:
    """Assign another role. Raises Refused for a role above the actor's right, and for the last owner.

    An annotator always annotates. Someone promoted from annotator keeps annotating until that is switched off.
    """
    target = _lock(target, actor)
    if role not in grantable_roles(actor):
        raise Refused("You can't assign a role above your own.")
    if target.role == role:
        return target
    if target.is_owner:
        _refuse_for_last_owner(
            target, "A project needs an owner. Make someone else an owner before you change this role."
        )
    before = {"role": target.role, "is_annotator": target.is_annotator}
    target.role = role
    target.is_annotator = target.is_annotator or role == Role.ANNOTATOR
    target.save(update_fields=["role", "is_annotator"])
    after = {"role": target.role, "is_annotator": target.is_annotator}
    log.record(target.project, actor, Act.CHANGE_ROLE, target, before=before, after=after)
    _revoke_invitations_above(target, actor)
    return target


@transaction.atomic
def set_annotates(*, target: Membership, annotates: bool, actor: Membership) -> Membership:
    """Set whether a member above an annotator also rates HITs. Raises Refused for an annotator."""
    target = _lock(target, actor)
    if target.role == Role.ANNOTATOR:
        raise Refused("An annotator always annotates. To stop this, suspend the member or change the role.")
    if target.is_annotator == annotates:
        return target
    target.is_annotator = annotates
    target.save(update_fields=["is_annotator"])
    after = {"is_annotator": annotates}
    before = {"is_annotator": not annotates}
    log.record(target.project, actor, Act.CHANGE_WHETHER_ANNOTATES, target, before=before, after=after)
    return target


def explain_fixed_status(*, target: Membership, actor: Membership | None) -> str:
    """Return why this actor may not suspend, remove or restore this member, as a sentence; empty if they may.

    Imported and simulated annotators have a status too, because their judgments can be excluded. An actor of None is
    the command line, which may change everybody.
    """
    if target.kind == Membership.Kind.UNKNOWN:
        return "The annotators of these imported scores are unknown, so this is not possible."
    if actor is not None and target.pk == actor.pk:
        return "You can't change your own status."
    if actor is not None and not actor.is_owner and target.role not in BELOW_MANAGER:
        return "Only the project owner can change managers and owners."
    return ""


@transaction.atomic
def set_standing(*, target: Membership, standing: str, actor: Membership | None) -> tuple[Membership, str]:
    """Suspend, remove or restore a member from the next request on; return the locked row and the old status.

    What else the act does, its entry in the log included, is up to the caller. Raises Refused for oneself, for the last
    owner, and for whoever deleted their account, unless they are removed.
    """
    target = _lock(target, actor, why_not=explain_fixed_status)
    before = target.standing
    if standing != Standing.REMOVED and (lost := explain_lost_account(target)):
        raise Refused(lost)
    if before == standing:
        return target, before
    if target.is_owner:
        _refuse_for_last_owner(
            target, "A project needs an owner. Make someone else an owner before you suspend or remove this one."
        )
    target.standing = standing
    target.save(update_fields=["standing"])
    _revoke_invitations_above(target, actor)
    return target, before


def _lock(target: Membership, actor: Membership | None, *, why_not: Callable[..., str] | None = None) -> Membership:
    """Lock the member and the actor, and return the member's fresh row. Raises Refused if the actor has lost the right.

    Changes of one project's members run one after another. They have a lock of their own, because a long import locks
    the project, and removing someone must not wait for that.
    """
    lock_in_project(AdvisoryLock.MEMBERS, target.project_id)
    # Both rows in one statement, in the order of their keys, so that two acts cannot wait for each other.
    fresh = {
        membership.pk: membership
        for membership in Membership.objects.select_for_update(no_key=True, of=("self",))
        .select_related("project")
        .filter(pk__in=(target.pk, actor.pk if actor else target.pk))
        .order_by("pk")
    }
    if actor is not None:
        # Checked again under the lock: another request may just have taken the actor's right away.
        adopt_locked(actor, fresh[actor.pk])
    found = fresh[target.pk]
    if reason := (why_not or explain_fixed_role)(target=found, actor=actor):
        raise Refused(reason)
    return found


def _refuse_for_last_owner(target: Membership, what: str) -> None:
    # Two owners who demote each other at the same time cannot both succeed: the members' lock is held.
    if not target.project.memberships.able_owners().exclude(pk=target.pk).exists():
        raise Refused(what)


def _revoke_invitations_above(member: Membership, actor: Membership | None) -> None:
    """Revoke the member's open invitations to roles that the member may no longer assign."""
    allowed = grantable_roles(member) if member.is_active else ()
    now = timezone.now()
    beyond = Invitation.objects.filter(created_by=member).usable(now).exclude(role__in=allowed)
    for invitation in beyond:
        Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(revoked_at=now)
        log.record(
            member.project,
            actor,
            Act.REVOKE_INVITATION,
            invitation,
            why="The rights of the member who created it have changed.",
        )


def find_owner(project: Project, *, for_what: str) -> Membership:
    """Return the owner in whose name a command acts, the first of several who can act. Raises Refused without one."""
    owner = project.memberships.able_owners().order_by("id").first()
    if owner is None:
        raise Refused(f"The project has no active owner, in whose name {for_what}. Enable an owner’s account first.")
    return owner


def fetch_member(project: Project, pseudonym: str) -> Membership:
    """Return the member with their account and project. Raises Http404."""
    return get_object_or_404(project.memberships.select_related("user", "project"), pseudonym=pseudonym)
