"""Erasing: a person's account and all that names them; their judgments stay under random names, or are removed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import DateTimeField, Func, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.models import Assignment, Attempt, Draft, Notice, PanelParticipant, Remark, RemarkRevision, SurveyResponse
from annotate.onboarding import former_participants
from annotate.payments import panel_pay
from annotate.payments.paying import sum_unpaid
from annotate.places import leaving
from annotate.places.locking import lock_annotator
from projects import log
from projects.database import erasures
from projects.database.locks import AdvisoryLock, lock_in_project
from projects.errors import Refused
from projects.models import Act, ApiToken, Erasure, Membership, Project, User

KIND = "account"
"""The name of these erasures in the list that a restored backup repeats."""
NO_WORDS = "–"
"""Instead of a reason that was deleted: an empty one would say that the answer could be judged."""
# As for withdrawals of consent: work that was submitted while the erasure waited for a lock is older than it.
_CLOCK = Func(function="clock_timestamp", output_field=DateTimeField())


@dataclass(frozen=True)
class OwnWork:
    """What somebody did in one project, and what they are still owed there."""

    membership: Membership
    n_hits: int
    n_judgments: int
    unpaid_cents: int


def plan_erasure(user: User) -> list[OwnWork]:
    """Return the person's work, project by project."""
    return [_sum_up(member) for member in user.memberships.select_related("project").order_by("project__name", "pk")]


@transaction.atomic
def erase(*, user: User, removes_work: bool) -> int:
    """Delete an account; return how many submitted HITs were removed with it, which is none unless `removes_work`.

    Open work goes to others. Tokens, messages, drafts, answers to surveys, sessions, records of sign-ins and a panel's
    ids are deleted too, and with `removes_work` the comments and reasons. Of a panel's participant a keyed hash stays,
    so that nobody takes part twice. The erasure is repeated when an older backup is restored.
    Raises Refused for the only owner of a project. Locks the account, the members of its projects and its memberships,
    then batches, assignments and HITs.
    """
    locked = User.objects.select_for_update().get(pk=user.pk)
    # So that the last two owners of a project can't both leave, nor one while the other gives up the role.
    for project_id in locked.memberships.order_by("project_id").values_list("project_id", flat=True):
        lock_in_project(AdvisoryLock.MEMBERS, project_id)
    project = find_only_owned(locked)
    if project is not None:
        raise Refused(
            _("You're the only owner of %(project)s. Make someone else an owner, or delete the project first.")
            % {"project": project.name}
        )
    n_removed = _erase(locked, removes_work=removes_work)
    erasures.remember(KIND, {"user": user.pk, "joined": user.date_joined.isoformat(), "removes_work": removes_work})
    return n_removed


def repeat(key: dict[str, Any]) -> bool:
    """Erase an account that a restored backup has brought back; return False if it is not there."""
    # The number alone could be that of somebody else, who joined after the backup was restored for the first time.
    found = User.objects.filter(pk=key["user"], date_joined=datetime.fromisoformat(key["joined"]))
    with transaction.atomic():
        user = found.select_for_update().first()
        if user is not None:
            _erase(user, removes_work=key["removes_work"])
    return user is not None


erasures.register(KIND, repeat)


def _erase(user: User, *, removes_work: bool) -> int:
    # By project, so that two people who share several projects can't wait for each other.
    members = list(user.memberships.select_related("project").order_by("project_id"))
    for member in members:
        lock_annotator(member)
    n_removed = sum(_leave(member, removes_work=removes_work) for member in members)
    _delete_sessions(user)
    # Failed sign-ins have what was typed, which may be the email address, or have other capitals.
    is_theirs = Q(username__iexact=user.get_username())
    is_theirs |= Q(username__iexact=user.email) if user.email else Q()
    for attempts in (AccessAttempt, AccessFailureLog, AccessLog):
        attempts.objects.filter(is_theirs).delete()
    user.delete()
    return n_removed


def _leave(member: Membership, *, removes_work: bool) -> int:
    """End a membership for good; return how many submitted HITs are removed."""
    chosen = leaving.find_submitted(member) if removes_work else Assignment.objects.none()
    # Reasons for returning a HIT and replies to rejections are messages to the managers, and belong to no rating.
    messages = Assignment.objects.filter(annotator=member).exclude(reply="", return_reason="")
    _n_withdrawn, n_removed = leaving.leave_for_good(member, chosen, *messages.values_list("pk", flat=True))
    messages.update(reply="", return_reason="")
    Draft.objects.filter(assignment__annotator=member).delete()
    Attempt.objects.filter(annotator=member).update(draft={})
    Notice.objects.filter(annotator=member).delete()
    SurveyResponse.objects.filter(annotator=member).delete()
    panel_pay.forget_ids([member])
    former_participants.remember(member)
    PanelParticipant.objects.filter(membership=member).delete()
    ApiToken.objects.filter(membership=member).delete()
    if removes_work:
        _delete_comments(member)
    Membership.objects.filter(pk=member.pk).update(standing=Membership.Standing.REMOVED)
    Erasure.objects.create(membership=member, takes_work_out=removes_work, erased_at=_CLOCK)
    log.record(member.project, None, Act.ERASE_ACCOUNT, member, after={"is_taken_out": removes_work})
    return n_removed


def _delete_comments(member: Membership) -> None:
    """Delete what somebody wrote about answers; that one could not be judged stays, without their words."""
    for remarks in (Remark, RemarkRevision):
        own = remarks._default_manager.filter(assignment__annotator=member)
        own.exclude(comment="").update(comment="")
        own.exclude(cannot_judge_reason="").update(cannot_judge_reason=NO_WORDS)
    for attempt in Attempt.objects.filter(annotator=member, answers__isnull=False):
        for item in (attempt.answers or {"items": []})["items"]:
            item.update(comment="", cannot=NO_WORDS if item["cannot"] else "")
        attempt.save(update_fields=["answers"])


def _delete_sessions(user: User) -> None:
    """Delete the rows that say who was signed in. They are few: a nightly task deletes those that are over."""
    own = [
        session.pk
        for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator()
        if session.get_decoded().get(SESSION_KEY) == str(user.pk)
    ]
    Session.objects.filter(pk__in=own).delete()


def find_only_owned(user: User) -> Project | None:
    """Return a project whose only owner the person is, or None; nobody signs in to a disabled account."""
    owned = user.memberships.filter(role=Membership.Role.OWNER, project__deleted_at=None).select_related("project")
    for member in owned.order_by("pk"):
        if not member.project.memberships.able_owners().exclude(user=user).exists():
            return member.project
    return None


def _sum_up(member: Membership) -> OwnWork:
    n_hits, n_judgments = leaving.count_submitted(member)
    return OwnWork(member, n_hits, n_judgments, sum_unpaid(member))
