"""A member's role, whether they annotate, and their standing."""

from collections.abc import Callable

from django.db import transaction
from django.utils import timezone

from projects import log
from projects.access import adopt_locked
from projects.database.locks import AdvisoryLock, lock_in_project
from projects.errors import Refused
from projects.models import Act, Invitation, Membership

Role = Membership.Role
Standing = Membership.Standing
BELOW_MANAGER = (Role.ANNOTATOR, Role.RESEARCHER)


def grantable_roles(actor: Membership) -> tuple[Membership.Role, ...]:
    """The roles that a member may give to somebody: none above the own, and only owners make managers and owners."""
    if actor.is_owner:
        return (Role.ANNOTATOR, Role.RESEARCHER, Role.MANAGER, Role.OWNER)
    return BELOW_MANAGER if actor.can_manage else ()


def explain_fixed_role(*, target: Membership, actor: Membership | None) -> str:
    """The sentence that says why this actor may not change this member; empty when they may."""
    if target.kind != Membership.Kind.PERSON:
        return f"No account uses this seat: its type is “{target.get_kind_display()}”."
    if actor is not None and not actor.is_owner and target.role not in BELOW_MANAGER:
        return "Only the project owner can change managers and owners."
    return ""


@transaction.atomic
def change_role(*, target: Membership, role: str, actor: Membership) -> Membership:
    """Give another role. Raises Refused above the actor's own right, or where the last owner would go.

    An annotator annotates; whoever is raised above that goes on annotating until it is switched off.
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
    """Say whether somebody above an annotator rates HITs as well. Raises Refused for an annotator."""
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
    """The sentence that says why this actor may not suspend, remove or restore this member; empty when they may.

    Imported and simulated annotators have a standing too, for what they judged can be left out. No actor is the
    command line, which may do all.
    """
    if target.kind == Membership.Kind.UNKNOWN:
        return "The annotators of these imported scores are unknown, so this is not possible."
    if actor is not None and target.pk == actor.pk:
        return "You can't change your own status."
    if actor is not None and not actor.is_owner and target.role not in BELOW_MANAGER:
        return "Only the project owner can change managers and owners."
    return ""


@transaction.atomic
def change_standing(*, target: Membership, standing: str, actor: Membership | None, why: str = "") -> Membership:
    """Suspend, remove or take back. It counts from the next request on; judgments stay as they are.

    Raises Refused for oneself and for the last owner.
    """
    target, before = set_standing(target=target, standing=standing, actor=actor)
    if before != standing:
        after = {"standing": standing}
        log.record(
            target.project, actor, Act.CHANGE_STANDING, target, before={"standing": before}, after=after, why=why
        )
    return target


@transaction.atomic
def set_standing(*, target: Membership, standing: str, actor: Membership | None) -> tuple[Membership, str]:
    """As `change_standing`, for an act that writes the line of the log itself: the locked row, and what it was."""
    target = _lock(target, actor, why_not=explain_fixed_status)
    before = target.standing
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
    """The member's fresh row, locked, as acts on the people of one project come one by one.

    These have a lock of their own: a long import locks the project, and nobody has to stay in it for that long.
    """
    lock_in_project(AdvisoryLock.MEMBERS, target.project_id)
    fresh = {
        membership.pk: membership
        for membership in Membership.objects.select_for_update(no_key=True, of=("self",))
        .select_related("project")
        .filter(pk__in=(target.pk, actor.pk if actor else target.pk))
        .order_by("pk")
    }
    if actor is not None:
        adopt_locked(actor, fresh[actor.pk])
    found = fresh[target.pk]
    if reason := (why_not or explain_fixed_role)(target=found, actor=actor):
        raise Refused(reason)
    return found


def _refuse_for_last_owner(target: Membership, what: str) -> None:
    others = target.project.memberships.active().filter(role=Role.OWNER).exclude(pk=target.pk)
    if not others.exists():
        raise Refused(what)


def _revoke_invitations_above(member: Membership, actor: Membership | None) -> None:
    """The open invitations that a member could no longer make end with the right to make them."""
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
