"""Revising: annotators edit a submitted HIT while the project's window is open; every version is kept.

Each change gets a revision: number 0 is the submitted answer, each later number a later one. A judgment of a candidate
has the newest value; a judgment of a control keeps the first, so that no one answers a control twice. Marks, places,
pay and the measured time stay as they were at submission.

Unsent changes are a draft too, so that a crash or an hour offline loses none of them. The draft is separated from that
of an unsubmitted HIT by its address and by the version that it changes: a late draft of the rating page is refused
after the submission (409), and so is a draft of a version that is no longer the newest. It becomes a revision only when
the annotator sends it, and is then deleted.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from django.db import connection, transaction
from django.db.models import Case, FloatField, Value, When
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.batches.control_plan import shows_repeats
from annotate.models import Assignment, Batch, Draft, Judgment, JudgmentRevision, Remark, RemarkRevision
from annotate.onboarding.consent import explain_withdrawal
from annotate.places import Answer
from annotate.places.locking import LockedAssignment, lock_annotator, lock_assignment
from annotate.rating.answers import SubmittedBefore, TakesNoAnswers, check_answers, content_sha256
from annotate.rating.sent import SentAnswers
from annotate.rating.submitted_versions import ItemRemark, Record, fetch_versions, normalise_numbers
from projects import log
from projects.access import Right, explain_refusal
from projects.errors import Refused
from projects.models import Act, Membership
from projects.rubric.rubrics import frozen_criteria


@dataclass(frozen=True)
class RevisionWindow:
    """Whether a submitted HIT may be edited and until when, or the sentence that explains why not."""

    until: datetime | None = None
    why_closed: str = ""

    @property
    def is_open(self) -> bool:
        return not self.why_closed


@dataclass(frozen=True)
class Revised:
    """The outcome of a revision: the number of changed judgments and comments, and whether it was stored before."""

    n_changed: int
    was_stored: bool = False


def find_window(assignment: Assignment, *, has_repeats: bool | None = None) -> RevisionWindow:
    """Return whether an assignment may be edited now; its HIT, batch and annotator with the project are fetched.

    Whether its batch has repeats is queried unless it is given.
    """
    batch, minutes = assignment.hit.batch, assignment.annotator.project.revision_minutes
    times = (assignment.submitted_at, timezone.now())
    return _find_window(assignment.state, assignment.mark, times, batch, minutes, has_repeats)


def is_open_to(annotator: Membership, assignment: Assignment) -> bool:
    """Return whether an annotator may edit their assignment now."""
    return not explain_closed_window(annotator, assignment)


def explain_closed_window(annotator: Membership, assignment: Assignment) -> str:
    """Return the sentence that explains why an annotator may not edit their assignment now, or an empty text."""
    return find_window(assignment).why_closed or explain_refusal(annotator, Right.WORK) or explain_withdrawal(annotator)


def version_key(sent: SentAnswers) -> str:
    """Return a name for a version, made from its content, for the form that edits it.

    Sixteen hexadecimal digits tell the few versions of one HIT apart with certainty enough.
    """
    return content_sha256(sent)[:16]


@transaction.atomic
def revise(*, annotator: Membership, assignment_uuid: uuid.UUID, sent: SentAnswers, of: str) -> Revised:
    """Store a new version of a submitted HIT; `of` names the version that the form was filled with.

    The same content as the newest version changes nothing. Raises SubmittedBefore if another page has edited the HIT
    since, TakesNoAnswers if it may no longer be edited, Incomplete, or Assignment.DoesNotExist. Locks the membership,
    the batch, the assignment, then its judgments.
    """
    lock_annotator(annotator)
    batch, minutes = _lock_batch(annotator, assignment_uuid)
    assignment = lock_assignment(annotator, assignment_uuid)
    submitted_at, now = _read_times(assignment)
    criteria = frozen_criteria(assignment.rubric_id)
    if submitted_at is None:
        raise TakesNoAnswers(_("You haven't submitted this HIT."), assignment.state)
    record = fetch_versions(
        assignment.id, layout=assignment.layout, rubric_id=assignment.rubric_id, submitted_at=submitted_at, lock=True
    )
    versions = [version_key(version) for version in record.read_all()]
    new = _keep_known(sent, len(assignment.layout), {criterion.key for criterion in criteria})
    key = version_key(new)
    # A retry of a revision that was stored before, perhaps with others stored since: it must change nothing.
    if key == versions[-1] or (of, key) in pairwise(versions):
        delete_draft(assignment)
        return Revised(0, was_stored=True)
    # Only after the retry: a revision that was stored in time is confirmed however late it is sent again.
    _refuse_unless_open(annotator, _find_window(assignment.state, assignment.mark, (submitted_at, now), batch, minutes))
    if of != versions[-1]:
        raise SubmittedBefore(
            _("You edited this HIT in another tab after opening this one. The saved ratings stay as they are.")
        )
    answers = check_answers(new, assignment.layout, criteria)
    # Versions are ordered by time, and a stored rule wants each later than the one before, even if the clock stepped.
    at = max(now, record.times[-1] + timedelta(microseconds=1))
    n_changed = _write_judgments(record, answers, at) + _write_remarks(assignment, record, new, at)
    Assignment.objects.filter(pk=assignment.id).update(answers_sha256=content_sha256(new))
    delete_draft(assignment)
    revised = Assignment.objects.get(pk=assignment.id)
    log.record(annotator.project, annotator, Act.REVISE_WORK, revised, after={"changes": n_changed})
    return Revised(n_changed)


def newest_answers(assignment: Assignment) -> SentAnswers:
    """Return the newest version of a submitted assignment, as its annotator knows it."""
    return _fetch_record(assignment).read()


def _fetch_record(assignment: Assignment) -> Record:
    if assignment.submitted_at is None:
        raise Refused(_("You haven't submitted this HIT."))
    rubric = assignment.hit.batch.rubric_id
    return fetch_versions(
        assignment.pk, layout=assignment.layout, rubric_id=rubric, submitted_at=assignment.submitted_at
    )


def newest_version(annotator: Membership, assignment_uuid: uuid.UUID) -> SentAnswers | None:
    """Return the newest version of a HIT. Raises TakesNoAnswers if it may no longer be edited."""
    assignment = Assignment.objects.select_related("hit__batch", "annotator__project").get(
        uuid=assignment_uuid, annotator=annotator
    )
    _refuse_unless_open(assignment.annotator, find_window(assignment))
    return newest_answers(assignment)


def _find_window(
    state: str,
    mark: str,
    times: tuple[datetime | None, datetime],
    batch: Batch,
    minutes: int,
    has_repeats: bool | None = None,
) -> RevisionWindow:
    submitted_at, now = times
    if submitted_at is None or state != Assignment.State.SUBMITTED or mark == Assignment.Mark.EXCLUDED:
        return RevisionWindow(why_closed=_("You can no longer edit this HIT."))
    if not minutes:
        return RevisionWindow(why_closed=_("In this project, you can't edit a submitted HIT."))
    if batch.presentation == Batch.Presentation.ONE:
        return RevisionWindow(why_closed=_("You rated this HIT one by one, so you can't edit it."))
    until = submitted_at + timedelta(minutes=minutes)
    if now >= until:
        return RevisionWindow(until, _("The time to edit this HIT is over."))
    if batch.state == Batch.State.ARCHIVED or shows_repeats(batch, has_items=has_repeats):
        return RevisionWindow(
            why_closed=_(
                "HITs like this one can't be edited after you submit them. If something is wrong, tell a project "
                "manager."
            )
        )
    return RevisionWindow(until)


def _refuse_unless_open(annotator: Membership, window: RevisionWindow) -> None:
    if window.why_closed:
        raise TakesNoAnswers(window.why_closed, "closed")
    if refusal := explain_refusal(annotator, Right.WORK) or explain_withdrawal(annotator):
        raise TakesNoAnswers(refusal, "suspended")


# A shared lock: several annotators revise HITs of one batch at the same time, but archiving it waits for them.
_BATCH = """
SELECT b.id, p.revision_minutes
FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id JOIN annotate_batch b ON b.id = h.batch_id
JOIN projects_project p ON p.id = b.project_id
WHERE a.uuid = %s AND a.annotator_id = %s FOR SHARE OF b
"""


def _lock_batch(annotator: Membership, assignment_uuid: uuid.UUID) -> tuple[Batch, int]:
    """Lock and return the batch, so that it is not archived meanwhile, and the project's minutes for revisions."""
    with connection.cursor() as cursor:
        cursor.execute(_BATCH, [assignment_uuid, annotator.pk])
        row = cursor.fetchone()
    if row is None:
        raise Assignment.DoesNotExist
    return Batch.objects.get(pk=row[0]), row[1]


def _read_times(assignment: LockedAssignment) -> tuple[datetime | None, datetime]:
    """Return when the locked assignment was submitted, and the current time: now() would be before the locks."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT submitted_at, clock_timestamp() FROM annotate_assignment WHERE id = %s", [assignment.id])
        submitted_at, now = cursor.fetchone()
    return submitted_at, now


def _keep_known(sent: SentAnswers, n_items: int, keys: Iterable[str]) -> SentAnswers:
    """Return what can be stored of a form: the HIT's own items and criteria, no values for what can't be judged."""
    known = set(keys)
    own = sent.first(n_items)
    values = {
        position: {key: value for key, value in entries.items() if key in known}
        for position, entries in own.values.items()
        if position not in own.cannot
    }
    kept = replace(own, values={position: entries for position, entries in values.items() if entries})
    return normalise_numbers(kept)


def _write_judgments(record: Record, answers: list[Answer], at: datetime) -> int:
    """Add the versions that differ; return their number. Judgments of controls keep their first value."""
    new = {(answer.item_id, answer.criterion_id): answer.value for answer in answers}
    revisions: list[JudgmentRevision] = []
    newest: dict[int, float | None] = {}
    for judgment in record.judgments:
        value, versions = new[judgment.item_id, judgment.criterion_id], record.values[judgment.pk]
        if value == versions[-1][1]:
            continue
        if len(versions) == 1:
            submitted_at, submitted = versions[0]
            revisions.append(JudgmentRevision(judgment=judgment, n=0, value=submitted, revised_at=submitted_at))
        revisions.append(JudgmentRevision(judgment=judgment, n=len(versions), value=value, revised_at=at))
        newest[judgment.pk] = value
    JudgmentRevision.objects.bulk_create(revisions)
    of_candidates = [judgment.pk for judgment in record.judgments if judgment.candidate_id is not None]
    updated = {pk: newest[pk] for pk in of_candidates if pk in newest}
    if updated:
        # One UPDATE for all. Cast tells PostgreSQL the type: a CASE of NULL values only would be text.
        cases = [When(pk=pk, then=Value(value)) for pk, value in updated.items()]
        Judgment.objects.filter(pk__in=updated).update(value=Cast(Case(*cases), FloatField()))
    return len(newest)


def _write_remarks(assignment: LockedAssignment, record: Record, new: SentAnswers, at: datetime) -> int:
    """Do the same for comments and flags. A control's reason why it can't be judged stays the first, like its value."""
    of_controls = {judgment.item_id for judgment in record.judgments if judgment.candidate_id is None}
    n_changed = 0
    for position, item_id in enumerate(assignment.layout):
        remark = ItemRemark(position in new.flags, new.comments.get(position, ""), new.cannot.get(position, ""))
        stored = record.remarks.get(item_id) or [(record.times[0], ItemRemark())]
        if remark == stored[-1][1]:
            continue
        n_changed += 1
        versions = [*([(0, *stored[0])] if len(stored) == 1 else []), (len(stored), at, remark)]
        RemarkRevision.objects.bulk_create(
            RemarkRevision(assignment_id=assignment.id, item_id=item_id, n=n, revised_at=when, **each._asdict())
            for n, when, each in versions
        )
        if item_id in of_controls:
            remark = remark._replace(cannot_judge_reason=stored[0][1].cannot_judge_reason)
        _store_remark(assignment.id, item_id, remark)
    return n_changed


def _store_remark(assignment_id: int, item_id: int, remark: ItemRemark) -> None:
    """Store the comment that managers read, unresolved again; delete it if nothing is written any more."""
    if not any(remark):
        Remark.objects.filter(assignment=assignment_id, item=item_id).delete()
        return
    Remark.objects.update_or_create(
        assignment_id=assignment_id, item_id=item_id, defaults={**remark._asdict(), "resolved_at": None}
    )


def delete_draft(assignment: LockedAssignment) -> None:
    Draft.objects.filter(pk=assignment.id).delete()
