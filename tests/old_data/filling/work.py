"""Batches of every kind in every state, and work that ended in every way."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotate import places
from annotate.batches import control_plan, creating, judgments_wanted, lifecycle
from annotate.batches.control_plan import ControlPlan
from annotate.batches.selection import Selection
from annotate.batches.terms import Terms
from annotate.controls import control_jobs, pool
from annotate.integrity import daily_counts
from annotate.models import Assignment, Batch, ControlJob
from annotate.planning import plans
from annotate.planning.overlap import Rule
from annotate.qualification import granting
from annotate.work import drafts, submitting
from demo.annotators import CAREFUL, NOISY, SimulatedAnnotator, hire
from projects.models import ConsentAcceptance
from projects.settings import lifecycle as projects
from projects.texts import versions as texts
from tests.browser.crew import CONTRARY, GUESSER, worth
from tests.old_data.filling.bay import ENDS, Bay, end, submit
from tests.old_data.filling.people import CONSENT

RATED = ("free-answers", "span-answers")


def _make_batch(bay: Bay, selection: Selection, **terms: Any) -> Batch:
    made = creating.create_batch(**bay.by_manager, selection=selection, terms=Terms(**terms))
    bay.batches[made.name] = made
    return made


def run_trial(bay: Bay) -> None:
    """A part of the data, rated twice; one HIT of it was given back."""
    trial = _make_batch(
        bay,
        Selection(splits=("dev",), datasets=RATED, seed=3),
        name="Trial",
        kind=Batch.Kind.TRIAL,
        judgments=2,
        hit_size=5,
    )
    lifecycle.open_batch(batch=trial, actor=bay["manager"])
    crew = [CAREFUL, CAREFUL, NOISY, CAREFUL, GUESSER, CONTRARY]
    bay.crew = hire(bay.project, crew, worth=worth, seed=4)
    # Simulated annotators date their work back, and nobody works before they have agreed.
    ConsentAcceptance.objects.update(accepted_at=timezone.now() - timedelta(days=2))
    for member in bay.crew:
        granting.grant(annotator=member.membership, actor=bay["manager"], why="A program.")
    returned = bay.claim("ben")
    submitting.return_hit(annotator=bay["ben"], assignment_uuid=returned.uuid, reason="I know this text.")
    bay.work["trial"] = [bay.rate("anna", 4, comments={0: "Nearly."}, flags=frozenset({1}))]
    _work(bay.crew[:3])
    lifecycle.close(batch=trial, actor=bay["manager"])


def collect(bay: Bay) -> None:
    """The collection, with controls of every kind."""
    manager = bay["manager"]
    full = _make_batch(
        bay,
        Selection(splits=("train", "test"), datasets=RATED, seed=3),
        name="Collection",
        judgments=3,
        hit_size=6,
        trial=bay.batches["Trial"],
        use_of_trial="count",
        priority=2,
    )
    plan = ControlPlan(
        known_per_hit=1, degraded_per_hit=0.5, repeats=2, repeats_every=3, known_hit_every=4, distance=1, seed=9
    )
    pool.set_plan(batch=full, actor=manager, plan=plan)
    job = control_jobs.start(batch=full, actor=manager)
    assert control_jobs.run(job.pk) == ControlJob.State.DONE
    made = control_plan.list_pool(full)
    known, wrong = made.filter(recipe="reference").earliest("pk"), made.filter(recipe="other").latest("pk")
    pool.reword(batch=full, actor=manager, item_id=known.pk, text=f"{known.shown_text} Indeed.")
    pool.retire(batch=full, actor=manager, item_ids=[wrong.pk], why="Could be right here too.")
    pool.accept(batch=full, actor=manager)
    lifecycle.open_batch(batch=full, actor=manager)
    for name in ("anna", "cleo", "dora"):
        bay.work[name] = [bay.rate(name, 3), bay.rate(name, 4)]
    remarks = {"comments": {0: "Two readings.", 1: "Short."}, "cannot": {2: "It is cut off."}}
    bay.work["ben"] = [bay.rate("ben", 4, flags=frozenset({0}), **remarks)]
    _take_too_long(bay)
    judgments_wanted.change_wanted(batch=full, actor=manager, judgments=4)
    bay.work["emil"].append(bay.rate("emil", 2))


def _take_too_long(bay: Bay) -> None:
    """Of three whose time ran out, one sends nothing, one still finds a place, and one's place was taken."""
    late = {name: bay.claim(name) for name in ("ben", "emil", "gwen")}
    over = timezone.now() - timedelta(hours=2)
    Assignment.objects.filter(pk__in=[each.pk for each in late.values()]).update(due_at=over)
    with transaction.atomic():
        places.sweep()
    bay.work["emil"] = [submit(late["emil"], 3)]
    _work(bay.crew)
    bay.work["gwen"] = [submit(late["gwen"], 5)]


def _work(crew: Sequence[SimulatedAnnotator]) -> None:
    """A HIT each by turns until nobody finds one any more."""
    busy = list(crew)
    while busy:
        busy = [annotator for annotator in busy if annotator.work_once()]


def make_other_batches(bay: Bay) -> None:
    """Batches that are paused, in draft and archived, and those of a plan."""
    manager, trial = bay["manager"], bay.batches["Trial"]
    stepped = _make_batch(
        bay,
        Selection(datasets=("spans",)),
        name="One by one",
        judgments=2,
        hit_size=5,
        order=Batch.Order.DEPTH,
        presentation=Batch.Presentation.ONE,
    )
    lifecycle.open_batch(batch=stepped, actor=manager)
    lifecycle.pause(batch=stepped, actor=manager)
    _make_batch(
        bay,
        Selection(datasets=("questions",)),
        name="For two people",
        judgments=2,
        order=Batch.Order.PASSAGE,
        annotators=(bay["anna"], bay["emil"]),
        trial=trial,
        use_of_trial="leave_out",
        requires_qualification=False,
    )
    over = _make_batch(
        bay,
        Selection(sources=("human",), sample=6, seed=1),
        name="Human answers",
        judgments=1,
        hit_size=3,
        max_hits_per_day=5,
        max_hits_per_annotator=9,
        max_share=0.5,
        trial=trial,
        use_of_trial="anew",
    )
    for act in (lifecycle.open_batch, lifecycle.close, lifecycle.archive):
        act(batch=over, actor=manager)
    rules = [Rule("question_generation", "*", 2), Rule("span", "*", 3)]
    plan = plans.create_plan(**bay.by_manager, name="Overlap", rules=rules)
    plans.start_plan(plan=plan, actor=manager, asked="leave_out")
    plans.create_plan(**bay.by_manager, name="Later", rules=[Rule("*", "*", 1)])


def leave_open(bay: Bay) -> None:
    """What is under way: a HIT with answers that were not sent, and a consent that nobody has agreed to."""
    others = Batch.objects.filter(project=bay.project, control_job=None).order_by("number")
    for batch, state in zip(others, ENDS, strict=False):
        end(ControlJob.objects.create(batch=batch, requested_by=bay["manager"]), state)
    found = bay.claim("anna")
    sent = {"answers": {"0": {"correctness": [3, timezone.now().timestamp() * 1000]}}}
    drafts.save(annotator=bay["anna"], assignment_uuid=found.uuid, sent=sent)
    texts.revise_consent(**bay.by_manager, text=f"{CONSENT}\n\nThe data are published.", based_on=2)
    projects.change_settings(project=bay.project, actor=bay["owner"], values={"revision_minutes": 0})
    daily_counts.count_day()
