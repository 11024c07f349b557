"""What managers do about work: watch it, decide on it, take it back, review it, pay for it."""

import uuid
from dataclasses import replace

from annotate.data import withdrawing
from annotate.frames.criteria_in_use import criteria_in_use
from annotate.models import Finding, Item, Judgment, Notice, Remark, Review
from annotate.moderation import decisions, members
from annotate.moderation.work_filter import WorkFilter
from annotate.onboarding import notices
from annotate.payments import paying
from annotate.quality import findings, monitoring
from annotate.reviews import adjudication, remarks, spot_checks
from annotate.work import revising, submitting
from projects.models import Passage
from tests.old_data.filling.bay import Bay, answers


def watch(bay: Bay) -> None:
    """Figures, findings and spot checks, by levels so strict that so little work shows something."""
    strict = {"least_items": 8, "chance": 0.3}
    spot_checks.set_rules(**bay.by_manager, share=0.2, least=1, thresholds=strict)
    adjudication.set_rule(**bay.by_manager, wins=True)
    monitoring.refresh_figures(project=bay.project)
    spot_checks.draw_spot_checks(project=bay.project)


def decide(bay: Bay) -> None:
    """Every decision that may be taken, some of them taken back."""
    _revise(bay)
    _decide_on_work(bay)
    _decide_on_people(bay)
    _decide_on_data(bay)
    _review(bay)
    first, second, *_ = Finding.objects.filter(state=Finding.State.OPEN).order_by("pk")
    findings.resolve_finding(**bay.by_manager, findings=[first.pk], note="Looked at.")
    findings.resolve_finding(**bay.by_manager, findings=[second.pk], state=Finding.State.ACTED, note="Warned.")


def _revise(bay: Bay) -> None:
    (rated,) = bay.work["trial"]
    changed = replace(answers(rated, 2), comments={0: "Not quite."})
    before = revising.version_key(revising.newest_answers(rated))
    revising.revise(annotator=bay["anna"], assignment_uuid=rated.uuid, sent=changed, of=before)


def _decide_on_work(bay: Bay) -> None:
    fast, same = bay.work["emil"]
    good, partly_good = bay.work["anna"]
    decisions.approve(**bay.by_manager, chosen=WorkFilter(uuids=(str(good.uuid),)), why="Good work.")
    decisions.approve(**bay.by_manager, chosen=WorkFilter(uuids=(str(bay.work["gwen"][0].uuid),)))
    decisions.reject(**bay.by_manager, chosen=WorkFilter(uuids=(str(fast.uuid),)), reason="Too fast.", is_unpaid=True)
    submitting.reply(annotator=bay["emil"], assignment_uuid=fast.uuid, text="I read quickly.")
    decisions.reject(**bay.by_manager, chosen=WorkFilter(uuids=(str(same.uuid),)), reason="Confirm password.")
    decisions.accept(**bay.by_manager, assignment=same, why="It was fine.")
    ordinary = Item.objects.filter(pk__in=partly_good.layout, control=Item.Control.NONE).latest("pk")
    place = partly_good.layout.index(ordinary.pk)
    why = "The question was changed."
    decisions.set_aside(**bay.by_manager, assignment=partly_good, place=place, is_counted=False, why=why)
    remark = Remark.objects.filter(assignment__annotator=bay["ben"]).earliest("pk")
    remarks.resolve(**bay.by_manager, remark=remark)


def _decide_on_people(bay: Bay) -> None:
    manager = bay["manager"]
    members.warn(target=bay["gwen"], actor=manager, text="Please take your time.")
    members.suspend(target=bay["ben"], actor=manager, why="Asked for it.", text="You have a pause.")
    notices.confirm(notice=Notice.objects.filter(annotator=bay["ben"]).latest("pk"), annotator=bay["ben"])
    everything = members.Exclusion(scope=members.ExclusionScope.ALL)
    members.remove(target=bay["cleo"], actor=manager, why="Rated without reading.", exclusion=everything)


def _decide_on_data(bay: Bay) -> None:
    counted = Judgment.objects.filter(is_counted=True, candidate__isnull=False)
    candidate = counted.filter(annotator=bay["anna"]).earliest("pk").candidate
    assert candidate
    withdrawing.withdraw_candidate(**bay.by_manager, candidate=candidate, why="Not an answer.")
    passage = Passage.objects.get(dataset__project=bay.project, external_id="lentil-pot")
    withdrawing.withdraw_passage(**bay.by_manager, passage=passage, why="Its author asked us to.")
    criterion = next(each for each in criteria_in_use(bay.project) if each.key == "correctness")
    candidates = counted.filter(criterion__key=criterion.key, candidate__withdrawn_at=None)
    for each in candidates.order_by("candidate_id").distinct("candidate_id")[:3]:
        assert each.candidate
        adjudication.adjudicate(
            **bay.by_manager, candidate=each.candidate, criterion=criterion, value=2, note="By the text."
        )


def _review(bay: Bay) -> None:
    """One review done, one rated, the others waiting."""
    waiting = Review.objects.filter(state=Review.State.WAITING).order_by("pk")
    done, rated, *_ = waiting
    for review in (done, rated):
        sent = answers(review.assignment, 4)
        spot_checks.store_review_ratings(review=review, reviewer=bay["manager"], sent=sent)
    fine, poor = spot_checks.ItemVerdict(is_poor=False), spot_checks.ItemVerdict(is_poor=True, note="Off.")
    verdicts = dict.fromkeys(range(len(done.assignment.layout)), fine) | {0: poor}
    spot_checks.store_verdicts(review=done, reviewer=bay["manager"], verdicts=verdicts)


def pay(bay: Bay) -> None:
    """A payment, and what was earned and approved since."""
    owner, anna = bay["owner"], bay["anna"]
    for kind, cents in (("bonus", 500), ("adjustment", -20)):
        paying.add_entry(actor=owner, annotator=anna, kind=kind, cents=cents, why="Agreed.", key=uuid.uuid4())
    paying.make_payment(project=bay.project, actor=owner, note="October")
    paying.approve_waiting(project=bay.project, actor=owner)
