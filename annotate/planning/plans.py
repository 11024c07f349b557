"""Overlap plans: created, priced and started; starting one creates and extends the batches that are missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from django.db import transaction
from django.db.models.functions import Now

from annotate import places
from annotate.batches import lifecycle, trials
from annotate.batches.costs import Cost, Rates, add_costs, make_pricing, price
from annotate.batches.creating import create_batch, cut, plan_hits
from annotate.batches.selection import Selection
from annotate.batches.terms import Terms, check_terms
from annotate.batches.workload import (
    N_HITS_MEASURED,
    Basis,
    Work,
    fetch_planned_hits,
    find_supply_of_new,
    measure_basis,
    measure_work,
)
from annotate.models import Batch, Hit, OverlapPlan
from annotate.planning.coverage import fetch_coverage, fetch_open_hits
from annotate.planning.hit_presentation import Presentation, read_presentation
from annotate.planning.overlap import (
    MissingJudgments,
    PlannedBatch,
    Rule,
    TopUp,
    compute_missing,
    read_rules,
    write_rules,
)
from projects import log
from projects.database.numbering import next_number
from projects.errors import Refused
from projects.models import Act, Membership, Project, Rubric
from projects.rubric.rubrics import current_rubric

Use = Batch.UseOfTrial


@dataclass(frozen=True)
class TrialUse:
    """How a plan uses the project's trial."""

    trial: Batch | None = None
    use: str = ""


@dataclass(frozen=True)
class PricedPart:
    """A batch to be created, with its cost."""

    part: PlannedBatch
    cost: Cost


@dataclass(frozen=True)
class PricedTopUp:
    """More places on an existing batch, with their cost at its rates."""

    top_up: TopUp
    batch: Batch
    cost: Cost


@dataclass(frozen=True)
class PricedPlan:
    """What a plan is missing, and its cost."""

    missing: MissingJudgments
    parts: list[PricedPart]
    top_ups: list[PricedTopUp]
    use: TrialUse
    is_pay_prorated: bool = False
    """Whether the new batches pay short HITs by item."""
    n_criteria: int = 1
    """Criteria of the rubric: pages count a judgment for each of them."""

    @property
    def costs(self) -> list[Cost]:
        return [part.cost for part in self.parts] + [top_up.cost for top_up in self.top_ups]

    @property
    def cost(self) -> Cost | None:
        """The cost of everything that is missing, or None if nothing is."""
        return add_costs(self.costs)

    @property
    def cents(self) -> int:
        return self.cost.cents if self.cost else 0

    @property
    def hours(self) -> float:
        return sum(cost.hours for cost in self.costs)

    @property
    def is_empty(self) -> bool:
        return not self.parts and not self.top_ups


@dataclass(frozen=True)
class Started:
    """What starting a plan created: batches, and places on existing ones; `figures` are what was missing before."""

    batches: list[Batch]
    n_places: int
    n_topped_up: int
    figures: PricedPlan


@transaction.atomic
def create_plan(*, project: Project, actor: Membership | None, name: str, rules: Sequence[Rule]) -> OverlapPlan:
    """Store a plan; no batch is created before it is started. Raises Refused without a name or a rule."""
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    _check(name, rules)
    number = next_number(project, OverlapPlan)
    plan = OverlapPlan.objects.create(
        project=project, number=number, name=name.strip(), rules=write_rules(rules), created_by=actor
    )
    log.record(project, actor, Act.MAKE_PLAN, plan, after=_describe(plan))
    return plan


@transaction.atomic
def change_plan(*, plan: OverlapPlan, actor: Membership | None, name: str, rules: Sequence[Rule]) -> None:
    """Change a plan's rules. Existing batches stay; raised numbers are collected when the plan is continued."""
    _check(name, rules)
    locked = OverlapPlan.objects.select_for_update(no_key=True).get(pk=plan.pk)
    before = _describe(locked)
    plan.name, plan.rules = name.strip(), write_rules(rules)
    plan.save(update_fields=["name", "rules"])
    log.record(plan.project, actor, Act.CHANGE_PLAN, plan, before=before, after=_describe(plan))


def find_trial_use(plan: OverlapPlan | None, project: Project, asked: str = "") -> TrialUse:
    """Return the use of the trial: that of the plan's batches, else the requested one, else its exclusion."""
    earlier = plan.batches.exclude(trial=None).select_related("trial").first() if plan is not None else None
    if earlier is not None:
        return TrialUse(earlier.trial, earlier.use_of_trial)
    trial = trials.list_trials(project).first()
    return TrialUse(trial, asked or Use.LEAVE_OUT) if trial is not None else TrialUse()


def price_plan(project: Project, rules: Sequence[Rule], use: TrialUse, presentation: Presentation) -> PricedPlan:
    """Return what is missing now, with its cost.

    Raises Refused without a rubric, for a trial that can't be counted, or for controls that have no room.
    """
    presentation.check()
    rubric = current_rubric(project)
    if rubric is None:
        raise Refused("This project has no rubric yet. Choose one under Task › Rubric, then create the plan.")
    trials.check_use(project, kind=Batch.Kind.FULL, trial=use.trial, use=use.use, rubric=rubric)
    missing = compute_missing(
        fetch_coverage(
            project,
            rubric,
            counted_trial=use.trial if use.use == Use.COUNT else None,
            left_out_trial=use.trial if use.use == Use.LEAVE_OUT else None,
        ),
        fetch_open_hits(project, rubric),
        rules,
        partial(cut, hit_size=presentation.n_ordinary),
    )
    basis = measure_basis(project)
    rates = replace(
        Rates.of_project(project), hit_size=presentation.hit_size, is_pay_prorated=presentation.makes_personal_hits
    )
    parts = [
        PricedPart(
            part,
            price(
                measure_work(plan_hits(part.hits, part.judgments), rubric_id=rubric.pk),
                rates=rates,
                basis=basis,
                n_annotators=basis.expect_annotators(part.judgments),
                controls=presentation.controls,
                presentation=presentation.presentation,
                supply=find_supply_of_new(project, [row.candidate for row in part.rows], presentation.controls),
            ),
        )
        for part in missing.parts
    ]
    batches = Batch.objects.select_related("project", "rubric").in_bulk([each.batch_id for each in missing.top_ups])
    top_ups = [
        PricedTopUp(each, batches[each.batch_id], cost)
        for each, cost in zip(missing.top_ups, _price_top_ups(missing.top_ups, batches, basis, rubric), strict=True)
    ]
    return PricedPlan(missing, parts, top_ups, use, rates.is_pay_prorated, rubric.criteria.count())


def _price_top_ups(top_ups: Sequence[TopUp], batches: Mapping[int, Batch], basis: Basis, rubric: Rubric) -> list[Cost]:
    """Return the cost of each, with the texts of all of them measured together."""
    places = {hit: 1 for each in top_ups for hits in each.hits.values() for hit in hits[:N_HITS_MEASURED]}
    if not places:
        return []
    texts = measure_work(fetch_planned_hits(places), rubric_id=rubric.pk).texts
    return [
        make_pricing(batches[each.batch_id], basis)(Work.of_mean_size(each.n_places, each.n_judgments, texts))
        for each in top_ups
    ]


@transaction.atomic
def start_plan(
    *,
    plan: OverlapPlan,
    actor: Membership | None,
    asked: str = "",
    opens: bool = False,
    why: str = "",
    presentation: Presentation | None = None,
) -> Started:
    """Create what is missing: places on open HITs where they fit exactly, and a draft batch for each missing number.

    Starting it again creates only what is missing by then. Locks the project and its batches, so that of two people
    who start at once the second finds nothing missing. Raises Refused as creating and opening batches does.
    """
    project = Project.objects.select_for_update(no_key=True).get(pk=plan.project_id)
    list(Batch.objects.filter(project=project).order_by("pk").select_for_update(no_key=True).values_list("pk"))
    # What is missing is computed only now, under the locks, and not taken from the page that was looked at.
    plan.refresh_from_db()
    presentation = presentation or read_presentation(plan, project)
    figures = price_plan(project, read_rules(plan.rules), find_trial_use(plan, project, asked), presentation)
    # Before HITs of other batches are locked: creating a batch takes the lock of withdrawals, and a withdrawal holds it
    # while it waits for HITs.
    batches = [_create_part(plan, actor, each.part, figures.use, presentation) for each in figures.parts]
    n_places = sum(_add_places(each, plan, actor) for each in figures.top_ups)
    if plan.started_at is None:
        OverlapPlan.objects.filter(pk=plan.pk).update(started_at=Now())
        plan.refresh_from_db(fields=["started_at"])
    log.record(
        project,
        actor,
        Act.START_PLAN,
        plan,
        after={"batches": [batch.number for batch in batches], "places_added": n_places, "trial": figures.use.use},
        why=why,
    )
    for batch in batches if opens else ():
        lifecycle.open_batch(batch=batch, actor=actor, why=why)
    return Started(batches, n_places, len(figures.top_ups), figures)


def _create_part(
    plan: OverlapPlan, actor: Membership | None, part: PlannedBatch, use: TrialUse, presentation: Presentation
) -> Batch:
    each = "1 judgment each" if part.judgments == 1 else f"{part.judgments} judgments each"
    terms = replace(
        _make_terms(part.judgments, presentation),
        name=f"{plan.name[:90]}: {each}",
        trial=use.trial,
        use_of_trial=use.use,
        plan=plan,
    )
    return create_batch(
        project=plan.project,
        actor=actor,
        selection=Selection(seed=plan.number),
        terms=check_terms(plan.project, terms),
        rows=part.rows,
    )


def _make_terms(judgments: int, presentation: Presentation) -> Terms:
    return Terms(
        judgments=judgments,
        hit_size=presentation.hit_size,
        presentation=Batch.Presentation(presentation.presentation),
        must_read_to_end=presentation.must_read_to_end,
        controls=presentation.controls,
    )


def _add_places(priced: PricedTopUp, plan: OverlapPlan, actor: Membership | None) -> int:
    batch, hits = priced.batch, priced.top_up.hits
    all_hits = sorted(hit for ids in hits.values() for hit in ids)
    # All HITs are locked at once, in order of id: set_wanted below locks one group after the other.
    list(Hit.objects.filter(pk__in=all_hits).order_by("pk").select_for_update(no_key=True).values_list("pk"))
    added = sum(places.set_wanted(batch, judgments=wanted, hit_ids=ids)[0] for wanted, ids in hits.items())
    wanted_now = set(batch.hits.filter(purpose=Hit.Purpose.WORK).values_list("places_wanted", flat=True))
    # The batch's own number follows only if all its HITs have the same. With a trial's judgments counted, HITs need
    # fewer places than the batch has judgments, and the number stays.
    before = batch.judgments
    if len(wanted_now) == 1 and not trials.count_reused(batch):
        batch.judgments = wanted_now.pop()
        batch.save(update_fields=["judgments"])
    log.record(
        batch.project,
        actor,
        Act.WANT_JUDGMENTS,
        batch,
        before={"judgments": before},
        after={"judgments": batch.judgments, "added": added, "removed": 0, "plan": plan.number},
    )
    return added


def _check(name: str, rules: Sequence[Rule]) -> None:
    if not name.strip():
        raise Refused("Give the plan a name.")
    if not any(rule.judgments for rule in rules):
        raise Refused("Set at least one judgment for some part of the data.")


def _describe(plan: OverlapPlan) -> dict[str, object]:
    return {"number": plan.number, "name": plan.name, "rules": plan.rules}
