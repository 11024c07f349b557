"""Admission: who is qualified for a project's work, who may take its test, and the explanation for everyone else."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from annotate.models import Attempt, Grant, Qualification, QualificationItem, QualificationTest
from projects.language.amounts import format_near_moment
from projects.models import Membership

Purpose = QualificationItem.Purpose
GRACE = timedelta(seconds=90)
"""How long after the time limit answers are still graded: a form may be under way, or a clock may be slow.

Longer than for HITs, because a missed test costs an attempt.
"""


@dataclass(frozen=True)
class Admission:
    """One annotator's relation to the project's test; `n_used` are the attempts that count now."""

    test: QualificationTest
    qualification: Qualification | None
    open_attempt: Attempt | None
    revoked: Grant | None
    n_used: int
    last_ended_at: datetime | None
    now: datetime

    @property
    def is_asked(self) -> bool:
        """Whether the test is required at all."""
        return self.test.state == QualificationTest.State.OPEN

    @property
    def has_expired(self) -> bool:
        """Whether the annotator was qualified and the time that it lasts is over."""
        qualification = self.qualification
        return bool(
            qualification and qualification.is_qualified and qualification.until and qualification.until <= self.now
        )

    @property
    def is_of_old_rubric(self) -> bool:
        """Whether the annotator qualified under an earlier version of the rubric, and has to take the test again."""
        qualification = self.qualification
        return bool(
            qualification
            and qualification.is_qualified
            and self.test.on_new_rubric != QualificationTest.OnNewRubric.KEEP
            and qualification.rubric_id != self.test.rubric_id
        )

    @property
    def is_qualified(self) -> bool:
        qualification = self.qualification
        is_valid = qualification is not None and qualification.is_qualified
        return is_valid and not self.has_expired and not self.is_of_old_rubric

    @property
    def n_left(self) -> int:
        """The number of attempts that are left."""
        return max(0, self.test.max_attempts - self.n_used)

    @property
    def again_at(self) -> datetime | None:
        """When the next attempt may begin, or None if it may begin now."""
        if self.last_ended_at is None:
            return None
        at = self.last_ended_at + timedelta(hours=self.test.wait_hours)
        return at if at > self.now else None

    @property
    def can_begin(self) -> bool:
        return (
            self.is_asked
            and not self.is_qualified
            and self.revoked is None
            and self.open_attempt is None
            and self.n_left > 0
            and self.again_at is None
        )

    @property
    def why_not(self) -> str:
        """The explanation why the annotator can't work, with what to do; empty if they can."""
        # The order matters: each sentence assumes that those above it don't apply.
        if not self.is_asked or self.is_qualified:
            return ""
        if self.revoked is not None:
            return gettext("A project manager ended your qualification. Ask them what to do next.")
        if self.open_attempt is not None:
            return gettext("You've started the qualification test. Finish and pass it to start work.")
        if not self.n_left:
            return gettext("You've used all your attempts at the qualification test. Please contact a project manager.")
        left = ngettext("You have {n} attempt left.", "You have {n} attempts left.", self.n_left).format(n=self.n_left)
        not_yet = gettext("You haven't passed the qualification test yet.")
        if self.again_at is not None:
            again = gettext("You can try again from {moment} UTC.").format(moment=format_near_moment(self.again_at))
            return f"{not_yet} {again} {left}"
        if self.n_used:
            return f"{not_yet} {left}"
        if self.is_of_old_rubric:
            return gettext("The rating scale has changed since you qualified. Please take the test again.")
        if self.has_expired:
            return gettext("Your qualification has expired. Take the test again to continue.")
        return gettext("Pass the qualification test to start.")


def find_admissions(annotators: Iterable[Membership]) -> dict[int, Admission]:
    """Return the admission of each annotator by membership id, omitting projects without a test.

    One query if no project has a test, four otherwise, however many annotators there are.
    """
    people = list(annotators)
    tests = {
        test.project_id: test
        for test in QualificationTest.objects.filter(project__in={each.project_id for each in people})
    }
    tested = [each.pk for each in people if each.project_id in tests]
    if not tested:
        return {}
    qualifications = Qualification.objects.in_bulk(tested)
    attempts: dict[int, list[Attempt]] = {}
    # Drafts and answers may be large, and the desk asks for all projects of an annotator at once.
    tried = Attempt.objects.filter(annotator__in=tested, purpose=Purpose.TEST).defer("draft", "answers", "layout")
    for attempt in tried.order_by("pk"):
        attempts.setdefault(attempt.annotator_id, []).append(attempt)
    # In order of id, so that the last decision of a manager on each annotator remains.
    grants: dict[int, Grant] = {}
    for grant in Grant.objects.filter(annotator__in=tested).order_by("pk"):
        grants[grant.annotator_id] = grant
    now = timezone.now()
    return {
        each.pk: _make_admission(
            tests[each.project_id], qualifications.get(each.pk), attempts.get(each.pk, []), grants.get(each.pk), now
        )
        for each in people
        if each.project_id in tests
    }


def find_admission(annotator: Membership) -> Admission | None:
    return find_admissions([annotator]).get(annotator.pk)


def find_qualified(test: QualificationTest) -> QuerySet[Qualification]:
    """Return the current qualifications of active annotators: the rule of `Admission.is_qualified`, in one query."""
    rows = Qualification.objects.filter(
        Q(until=None) | Q(until__gt=timezone.now()),
        annotator__project=test.project_id,
        annotator__standing=Membership.Standing.ACTIVE,
        annotator__is_annotator=True,
        is_qualified=True,
    )
    return rows if test.on_new_rubric == QualificationTest.OnNewRubric.KEEP else rows.filter(rubric=test.rubric_id)


def is_time_up(attempt: Attempt, now: datetime) -> bool:
    """Return whether the time of an attempt is over, grace included."""
    return attempt.due_at is not None and now > attempt.due_at + GRACE


def _make_admission(
    test: QualificationTest,
    qualification: Qualification | None,
    attempts: Sequence[Attempt],
    grant: Grant | None,
    now: datetime,
) -> Admission:
    """Return the admission; only attempts under this rubric count, since the last pass and a manager's last decision.

    A manager's decision starts the count again: someone whose qualification is granted and later revoked has not used
    up their attempts.
    """
    # An attempt whose time is up stays open in its row until someone acts on it; here it counts as ended.
    is_live = [each.state == Attempt.State.OPEN and not is_time_up(each, now) for each in attempts]
    open_one = next((each for each, live in zip(attempts, is_live, strict=True) if live), None)
    used: list[Attempt] = []
    for attempt, live in zip(attempts, is_live, strict=True):
        # Passing starts the count again: whoever has to requalify later gets all attempts.
        if attempt.state == Attempt.State.PASSED:
            used = []
        elif not live and attempt.rubric_id == test.rubric_id and not (grant and attempt.started_at < grant.given_at):
            used.append(attempt)
    last = used[-1] if used else None
    return Admission(
        test=test,
        qualification=qualification,
        open_attempt=open_one if open_one and open_one.rubric_id == test.rubric_id else None,
        revoked=grant if grant is not None and grant.kind == Grant.Kind.REVOKED else None,
        n_used=len(used),
        last_ended_at=(last.finished_at or last.due_at) if last else None,
        now=now,
    )
