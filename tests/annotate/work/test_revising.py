"""Revising a submitted HIT: every version is kept, results read the newest, checks the first; nothing else changes."""

from datetime import timedelta
from unittest.mock import patch
from uuid import UUID

import pytest
from django.utils import timezone

from annotate.batches import lifecycle
from annotate.batches.control_plan import ControlPlan
from annotate.integrity import verifying
from annotate.models import Assignment, Batch, Draft, Item, Judgment, JudgmentRevision, Remark, RemarkRevision
from annotate.moderation import decisions
from annotate.moderation.work_filter import WorkFilter
from annotate.payments import pending
from annotate.quality import monitoring
from annotate.quality.evidence import fetch_scores, fetch_texts, fetch_work_records, find_quality_scale
from annotate.quality.figures import PreparedScores, compute_figures
from annotate.rating import answers
from annotate.rating.sent import SentAnswers
from annotate.work import drafts, revising, revision_draft, submitting
from measures.quality.thresholds import Thresholds
from projects.errors import Refused
from projects.models import LogEntry, Membership, Project
from tests.annotate.open_batches import answered, fetch, open_batch
from tests.sized_projects import claim

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(project: Project) -> Project:
    project.revision_minutes = 30
    project.save()
    return project


@pytest.fixture
def batch(project: Project) -> Batch:
    return open_batch(project, cents_per_hit=50)


@pytest.fixture
def done(batch: Batch, annotator: Membership) -> UUID:
    """A HIT submitted with 4 for each of three items."""
    found = claim(annotator)
    submitting.submit(annotator=annotator, assignment_uuid=found, sent=answered())
    return found


def newest(uuid: UUID) -> SentAnswers:
    return revising.newest_answers(Assignment.objects.select_related("hit__batch").get(uuid=uuid))


def revise(annotator: Membership, uuid: UUID, sent: SentAnswers, of: SentAnswers | None = None) -> revising.Revised:
    key = revising.version_key(newest(uuid) if of is None else of)
    return revising.revise(annotator=annotator, assignment_uuid=uuid, sent=sent, of=key)


def values(uuid: UUID) -> list[float | None]:
    assignment = fetch(uuid)
    found = dict(Judgment.objects.filter(assignment=assignment).values_list("item_id", "value"))
    return [found[item] for item in assignment.layout]


def changed(*over: float, **more: object) -> SentAnswers:
    return SentAnswers(values={place: {"correctness": float(value)} for place, value in enumerate(over)}, **more)  # type: ignore[arg-type]


def make_control(uuid: UUID, place: int) -> None:
    """An item of a HIT that is not yet submitted becomes a control."""
    Item.objects.filter(pk=fetch(uuid).layout[place]).update(
        control=Item.Control.KNOWN_ANSWER, expected={"correctness": [5, 5]}
    )


def versions(uuid: UUID, place: int) -> list[tuple[int, float | None]]:
    assignment = fetch(uuid)
    of_item = JudgmentRevision.objects.filter(judgment__assignment=assignment, judgment__item=assignment.layout[place])
    return list(of_item.values_list("n", "value"))


def test_the_newest_is_stored_and_both_versions_are_kept(annotator: Membership, done: UUID) -> None:
    before = fetch(done)
    assert revise(annotator, done, changed(4, 2, 4)) == revising.Revised(1)
    assert values(done) == [4, 2, 4]
    assert (versions(done, 0), versions(done, 1)) == ([], [(0, 4), (1, 2)])
    first = JudgmentRevision.objects.get(n=0)
    assert first.revised_at == before.submitted_at
    assert revise(annotator, done, changed(4, 5, 4)).n_changed == 1
    assert versions(done, 1) == [(0, 4), (1, 2), (2, 5)]
    after = fetch(done)
    assert after.answers_sha256 == answers.content_sha256(changed(4, 5, 4)) != before.answers_sha256
    same = ("state", "mark", "holds_place", "submitted_at", "item_seconds", "active_seconds")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    assert Judgment.objects.filter(is_counted=True).count() == 3
    assert verifying.verify() == []


def test_saving_twice_changes_nothing(annotator: Membership, done: UUID) -> None:
    assert revise(annotator, done, answered()).was_stored
    assert not JudgmentRevision.objects.exists()
    first = newest(done)
    revise(annotator, done, changed(1, 1, 1))
    revise(annotator, done, changed(2, 1, 1))
    again = revise(annotator, done, changed(1, 1, 1), of=first)
    assert again.was_stored, "a retry of the first change came late"
    assert values(done) == [2, 1, 1]
    assert LogEntry.objects.filter(act="revise work").count() == 2


def test_a_submit_retried_after_a_revision_does_not_undo_it(annotator: Membership, done: UUID) -> None:
    revise(annotator, done, changed(1, 1, 1, comments={0: "Read it again."}))
    assert submitting.submit(annotator=annotator, assignment_uuid=done, sent=answered()).was_stored
    assert values(done) == [1, 1, 1]
    with pytest.raises(answers.SubmittedBefore):
        submitting.submit(annotator=annotator, assignment_uuid=done, sent=answered(value=3))


def test_cannot_be_judged_comes_and_goes(annotator: Membership, done: UUID) -> None:
    revise(annotator, done, changed(4, 4, cannot={2: "No sense"}, flags=frozenset({0})))
    assert values(done) == [4, 4, None]
    assert Remark.objects.get(item=fetch(done).layout[2]).cannot_judge_reason == "No sense"
    assert verifying.verify() == []
    revise(annotator, done, changed(4, 4, 3))
    assert values(done) == [4, 4, 3]
    assert not Remark.objects.exists()
    remarks = RemarkRevision.objects.filter(item=fetch(done).layout[2]).values_list("n", "cannot_judge_reason")
    assert list(remarks) == [(0, ""), (1, "No sense"), (2, "")]
    assert verifying.verify() == []


def test_a_remark_that_is_changed_is_looked_at_again(annotator: Membership, batch: Batch) -> None:
    found = claim(annotator)
    sent = answered(comments={0: "First."})
    submitting.submit(annotator=annotator, assignment_uuid=found, sent=sent)
    Remark.objects.update(resolved_at=timezone.now())
    revise(annotator, found, answered(comments={0: "First."}, flags=frozenset({1})))
    assert Remark.objects.filter(resolved_at=None).count() == 1
    revise(annotator, found, answered(comments={0: "Second."}))
    assert Remark.objects.get().comment == "Second."
    assert Remark.objects.get().resolved_at is None


def test_of_a_control_the_first_answer_stays_and_its_annotator_cannot_tell(annotator: Membership, batch: Batch) -> None:
    found = claim(annotator)
    make_control(found, 1)
    submitting.submit(annotator=annotator, assignment_uuid=found, sent=changed(4, 1, cannot={2: "No sense"}))
    sent = changed(5, 5, 5, comments={1: "Now I see."})
    revise(annotator, found, sent)
    assert values(found) == [5, 1, 5]
    assert newest(found) == sent
    assert versions(found, 1) == [(0, 1), (1, 5)]
    assert Remark.objects.get().comment == "Now I see."
    assert verifying.verify() == []


def test_a_control_that_could_not_be_judged_stays_so(annotator: Membership, batch: Batch) -> None:
    found = claim(annotator)
    make_control(found, 1)
    first = SentAnswers(values={0: {"correctness": 4}, 2: {"correctness": 4}}, cannot={1: "No sense"})
    submitting.submit(annotator=annotator, assignment_uuid=found, sent=first)
    revise(annotator, found, changed(4, 5, 4))
    assert values(found) == [4, None, 4]
    assert Remark.objects.get().cannot_judge_reason == "No sense"
    assert newest(found) == changed(4, 5, 4)
    revise(annotator, found, first)
    assert newest(found) == first
    assert verifying.verify() == []


def test_the_window_is_the_projects_and_the_servers(annotator: Membership, done: UUID) -> None:
    submitted_at = fetch(done).submitted_at
    assert submitted_at is not None
    Assignment.objects.update(submitted_at=submitted_at - timedelta(minutes=29))
    revise(annotator, done, changed(1, 1, 1))
    Assignment.objects.update(submitted_at=submitted_at - timedelta(minutes=31))
    with pytest.raises(answers.TakesNoAnswers, match="time to edit this HIT is over"):
        revise(annotator, done, changed(2, 2, 2))
    assert revise(annotator, done, changed(1, 1, 1)).was_stored, "a retry after the end is not refused as too late"
    Project.objects.update(revision_minutes=0)
    with pytest.raises(answers.TakesNoAnswers, match="edit a submitted HIT"):
        revise(annotator, done, changed(2, 2, 2))


def decide(project: Project, manager: Membership, what: str) -> None:
    act = {"approve": {}, "reject": {"reason": "Careless."}}[what]
    getattr(decisions, what)(project=project, actor=manager, chosen=WorkFilter(), **act)


@pytest.mark.parametrize("what", ["approve", "reject"])
def test_decided_work_stays(
    project: Project, annotator: Membership, manager: Membership, done: UUID, what: str
) -> None:
    decide(project, manager, what)
    with pytest.raises(answers.TakesNoAnswers, match="no longer edit this HIT"):
        revise(annotator, done, changed(1, 1, 1))
    assert values(done) == [4, 4, 4]


@pytest.mark.parametrize(
    "over",
    [
        {"presentation": Batch.Presentation.ONE},
        {"state": Batch.State.ARCHIVED},
        {"control_plan": ControlPlan(repeats=2, repeats_every=3).as_json()},
    ],
)
def test_batches_whose_answers_stay(annotator: Membership, batch: Batch, done: UUID, over: dict[str, object]) -> None:
    Batch.objects.update(**over)
    with pytest.raises(answers.TakesNoAnswers):
        revise(annotator, done, changed(1, 1, 1))
    assert values(done) == [4, 4, 4]


def test_repeats_that_were_planned_once_are_not_forgotten(annotator: Membership, batch: Batch, done: UUID) -> None:
    item = Item.objects.get(pk=fetch(done).layout[0])
    Item.objects.create(
        pool_of=batch, question=item.question, candidate=item.candidate, made_from=item, control="repeat", position=9
    )
    with pytest.raises(answers.TakesNoAnswers):
        revise(annotator, done, changed(1, 1, 1))


def test_a_closed_batch_still_takes_changes_and_whoever_may_not_work_makes_none(
    annotator: Membership, batch: Batch, done: UUID
) -> None:
    lifecycle.close(batch=batch, actor=None)
    revise(annotator, done, changed(1, 1, 1))
    Membership.objects.filter(pk=annotator.pk).update(standing=Membership.Standing.SUSPENDED)
    with pytest.raises(answers.TakesNoAnswers, match="on hold"):
        revise(annotator, done, changed(2, 2, 2))


def test_the_second_of_two_pages_sees_the_conflict(annotator: Membership, done: UUID) -> None:
    opened = newest(done)
    revise(annotator, done, changed(1, 1, 1), of=opened)
    with pytest.raises(answers.SubmittedBefore, match="in another tab"):
        revise(annotator, done, changed(2, 2, 2), of=opened)
    assert values(done) == [1, 1, 1]


@pytest.mark.parametrize("sent", [changed(4, 4), changed(4, 4, 9), changed(4, 4, 1.5)])
def test_a_wrong_form_changes_nothing(annotator: Membership, done: UUID, sent: SentAnswers) -> None:
    with pytest.raises(answers.Incomplete):
        revise(annotator, done, sent)
    assert not JudgmentRevision.objects.exists()


def test_others_and_unsent_hits_are_not_found(
    annotator: Membership, other_annotator: Membership, batch: Batch, done: UUID
) -> None:
    for who, uuid in ((other_annotator, done), (annotator, UUID(int=7))):
        with pytest.raises(Assignment.DoesNotExist):
            revising.revise(annotator=who, assignment_uuid=uuid, sent=changed(1, 1, 1), of="")
    with pytest.raises(answers.TakesNoAnswers):
        revising.revise(annotator=annotator, assignment_uuid=claim(annotator), sent=changed(1, 1, 1), of="")


def test_unsent_changes_are_a_draft_of_one_version(annotator: Membership, done: UUID) -> None:
    key = revising.version_key(newest(done))
    change = {"answers": {"1": {"correctness": [2, 1]}, "0": {"correctness": [None, 1]}}}
    revision_draft.save_draft(annotator=annotator, assignment_uuid=done, sent=change, of=key)
    assignment = Assignment.objects.select_related("hit__batch").get(uuid=done)
    filled = revision_draft.prefill_form(assignment, newest(done))
    assert filled.values == {1: {"correctness": 2}, 2: {"correctness": 4}}
    later = {"answers": {"2": {"correctness": [3, 2]}}}
    revision_draft.save_draft(annotator=annotator, assignment_uuid=done, sent=later, of=key)
    filled = revision_draft.prefill_form(assignment, newest(done))
    assert filled.values == {1: {"correctness": 2}, 2: {"correctness": 3}}
    assert values(done) == [4, 4, 4], "nothing is stored before it is sent"
    revise(annotator, done, changed(1, 1, 1))
    assert not Draft.objects.exists()
    with pytest.raises(answers.TakesNoAnswers, match="Reload this page to see what you saved there"):
        revision_draft.save_draft(annotator=annotator, assignment_uuid=done, sent=change, of=key)


def test_the_draft_of_the_open_page_is_refused_after_the_submit(annotator: Membership, done: UUID) -> None:
    with pytest.raises(answers.TakesNoAnswers, match="already submitted"):
        drafts.save(annotator=annotator, assignment_uuid=done, sent={"answers": {"0": {"correctness": [1, 1]}}})
    Assignment.objects.update(submitted_at=timezone.now() - timedelta(hours=1))
    with pytest.raises(answers.TakesNoAnswers, match="is over"):
        revision_draft.save_draft(
            annotator=annotator, assignment_uuid=done, sent={}, of=revising.version_key(newest(done))
        )
    with pytest.raises(Refused):
        revising.newest_answers(Assignment.objects.select_related("hit__batch").get(uuid=claim(annotator)))


def test_nothing_is_approved_by_itself_while_it_may_change(project: Project, done: UUID) -> None:
    assert decisions.approve_overdue(project, after_days=0) == 0
    Project.objects.update(approve_after_days=0)
    work = fetch(done)
    assert work.submitted_at is not None
    assert pending.find_pending(work).until == work.submitted_at + timedelta(minutes=30)
    Assignment.objects.update(submitted_at=timezone.now() - timedelta(minutes=31))
    assert decisions.approve_overdue(project, after_days=0) == 1


def test_figures_are_computed_again_after_a_revision(project: Project, annotator: Membership, done: UUID) -> None:
    monitoring.refresh_figures(project=project)
    revise(annotator, done, changed(1, 1, 1))
    assert monitoring.find_stale_projects() == [project]
    assert monitoring.refresh_figures(project=project).n_annotators == 1


def test_a_degraded_answer_is_compared_with_the_first_rating_of_its_source(
    project: Project, annotator: Membership, batch: Batch, done: UUID
) -> None:
    source = Item.objects.get(pk=fetch(done).layout[0])
    control = fetch(claim(annotator))
    Item.objects.filter(pk=control.layout[0]).update(control=Item.Control.DEGRADED, made_from=source)
    submitting.submit(annotator=annotator, assignment_uuid=control.uuid, sent=answered())
    before = fetch_degraded(project, annotator)
    revise(annotator, done, changed(5, 4, 4))
    assert values(done)[0] == 5
    assert fetch_degraded(project, annotator) == before == [(4, 4)]


def fetch_degraded(project: Project, annotator: Membership) -> list[tuple[float, float]]:
    """Return the ratings of each degraded answer and of its source, as their test gets them."""
    scale = find_quality_scale(project)
    assert scale is not None
    comparison, records = PreparedScores(fetch_scores(scale), scale), fetch_work_records([annotator], scale)
    texts = fetch_texts(sorted(comparison.find_candidates(records)))
    with patch("annotate.quality.figures.degraded_test") as tested:
        compute_figures(annotator.pk, comparison, records[annotator.pk], texts, Thresholds())
    again, first = tested.call_args.args
    return list(zip(again.tolist(), first.tolist(), strict=True))


def test_a_clock_that_was_set_back_keeps_the_versions_in_order(annotator: Membership, done: UUID) -> None:
    Assignment.objects.update(submitted_at=timezone.now() + timedelta(hours=1))
    revise(annotator, done, changed(1, 1, 1))
    revise(annotator, done, changed(2, 2, 2))
    assert [value for _, value in versions(done, 0)] == [4, 1, 2]
    assert newest(done) == changed(2, 2, 2)
    assert verifying.verify() == []
