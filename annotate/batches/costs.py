"""Costs: the pay, fees and hours that a batch is expected to take, with controls and what has to be done again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from math import floor

from django.db.models import F, Sum, Window

from annotate.batches.control_plan import ControlPlan
from annotate.batches.personal_hits import ENOUGH, PersonalHits, Supply, expect_personal_hits
from annotate.batches.workload import (
    N_HITS_MEASURED,
    Basis,
    Redone,
    Work,
    fetch_planned_hits,
    find_supply,
    measure_basis,
    measure_work,
)
from annotate.models import Batch, Hit
from annotate.models.pay import compute_hit_pay
from annotate.rating.pace import Pace
from measures.outcome import Undefined
from projects.language.amounts import round_hours
from projects.models import Project


@dataclass(frozen=True, kw_only=True)
class Rates:
    """The pay for a HIT and an item, and the platform's share on top of it."""

    hit_size: int
    cents_per_hit: int
    cents_per_item: int
    fee_share: float
    is_pay_prorated: bool = False

    @classmethod
    def of_project(cls, project: Project) -> "Rates":
        """Return the rates of a new batch without controls."""
        return cls(
            hit_size=project.hit_size,
            cents_per_hit=project.cents_per_hit,
            cents_per_item=project.cents_per_item,
            fee_share=project.fee_share,
        )

    @classmethod
    def of_batch(cls, batch: Batch) -> "Rates":
        return cls(
            hit_size=batch.hit_size,
            cents_per_hit=batch.cents_per_hit,
            cents_per_item=batch.cents_per_item,
            fee_share=batch.fee_share,
            is_pay_prorated=batch.is_pay_prorated,
        )

    def expect_pay(self, n_items: float) -> float:
        """Return the mean cents for HITs that show this many items on average, such as 2.5."""
        whole = floor(n_items)
        pay = self._pay(whole)
        return pay if n_items == whole else pay + (n_items - whole) * (self._pay(whole + 1) - pay)

    def compute_fee(self, cents: float) -> int:
        # As decimals: 0.07 as a float is a little less, and the fee of 50 cents would be rounded down.
        fee = Decimal(str(round(cents))) * Decimal(str(self.fee_share))
        return int(fee.quantize(Decimal(1), rounding=ROUND_HALF_UP))

    def _pay(self, n_items: int) -> int:
        return compute_hit_pay(
            n_items=n_items,
            hit_size=self.hit_size,
            cents_per_hit=self.cents_per_hit,
            cents_per_item=self.cents_per_item,
            is_prorated=self.is_pay_prorated,
        )


@dataclass(frozen=True)
class Portion:
    """Part of a cost: HITs, the items they show, their pay in cents and their seconds."""

    n_hits: float = 0.0
    n_items: float = 0.0
    pay_cents: float = 0.0
    seconds: float = 0.0

    @property
    def cents(self) -> int:
        return round(self.pay_cents)

    @property
    def n_whole_hits(self) -> int:
        return round(self.n_hits)

    @property
    def n_whole_items(self) -> int:
        return round(self.n_items)

    @property
    def hours(self) -> float:
        return self.seconds / 3600

    def __add__(self, other: "Portion") -> "Portion":
        return Portion(
            self.n_hits + other.n_hits,
            self.n_items + other.n_items,
            self.pay_cents + other.pay_cents,
            self.seconds + other.seconds,
        )

    def __mul__(self, times: float) -> "Portion":
        return Portion(self.n_hits * times, self.n_items * times, self.pay_cents * times, self.seconds * times)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What work is expected to take: ordinary HITs with their controls, personal HITs, and HITs done again."""

    ordinary: Portion
    personal: Portion
    again: Portion
    fee_cents: int
    pace: Pace
    redone: Redone
    n_annotators: int

    @property
    def parts(self) -> tuple[Portion, ...]:
        return (self.ordinary, self.personal, self.again)

    @property
    def pay_cents(self) -> int:
        """The sum of the parts as they are shown, each in whole cents."""
        return sum(part.cents for part in self.parts)

    @property
    def cents(self) -> int:
        return self.pay_cents + self.fee_cents

    @property
    def n_assignments(self) -> int:
        return sum(part.n_whole_hits for part in self.parts)

    @property
    def n_items(self) -> int:
        return sum(part.n_whole_items for part in self.parts)

    @property
    def hours(self) -> float:
        return sum(part.hours for part in self.parts)

    @property
    def shown_hours(self) -> float:
        """The sum of the parts as they are shown, in minutes, hours or days."""
        return sum(round_hours(part.hours) for part in self.parts)

    @property
    def hours_range(self) -> tuple[float, float] | None:
        """The hours at the ends of the pace's interval, or None if it has none."""
        pace = self.pace
        if pace.low is None or pace.high is None:
            return None
        return (self.hours * pace.low / pace.factor, self.hours * pace.high / pace.factor)

    @property
    def cents_per_hour(self) -> int | None:
        return round(self.pay_cents / self.hours) if self.hours else None

    @property
    def cents_per_hour_range(self) -> tuple[int, int] | None:
        hours = self.hours_range
        if hours is None or not hours[0]:
            return None
        return (round(self.pay_cents / hours[1]), round(self.pay_cents / hours[0]))

    def is_under(self, floor_cents: int | None) -> bool:
        """Return whether the expected hourly rate is below the floor."""
        rate = self.cents_per_hour
        return floor_cents is not None and rate is not None and bool(self.pay_cents) and rate < floor_cents

    def may_be_under(self, floor_cents: int | None) -> bool:
        """Return whether the hourly rate is expected above the floor, and yet may turn out below it."""
        rates = self.cents_per_hour_range
        if floor_cents is None or rates is None or not self.pay_cents or self.is_under(floor_cents):
            return False
        return rates[0] < floor_cents


def price(
    work: Work,
    *,
    rates: Rates,
    basis: Basis,
    n_annotators: int,
    controls: ControlPlan | None = None,
    presentation: str = Batch.Presentation.PAGE,
    supply: Supply = ENOUGH,
) -> Cost:
    """Return what the work is expected to cost at these rates, if so many annotators share it equally."""
    controls = controls or ControlPlan()
    pace, redone = basis.pace, basis.redone
    n_assignments, n_judgments = work.n_assignments, work.n_judgments
    n_controls = controls.count_in_hit(presentation)
    n_items = n_judgments + n_assignments * n_controls
    ordinary = Portion(
        n_assignments,
        n_items,
        sum(n * rates.expect_pay(size + n_controls) for size, n in work.sizes.items()),
        work.texts.estimate_seconds(n_assignments, n_items) * pace.factor,
    )
    found = (
        expect_personal_hits(
            controls,
            presentation=presentation,
            n_assignments=n_assignments,
            n_annotators=n_annotators,
            hit_size=rates.hit_size,
            n_items_per_hit=n_judgments / n_assignments,
            supply=supply,
        )
        if n_assignments
        else PersonalHits()
    )
    personal = Portion(
        found.n_hits,
        found.n_items,
        found.n_hits * rates.expect_pay(found.n_items / found.n_hits) if found.n_hits else 0.0,
        work.texts.estimate_seconds(found.n_hits, found.n_items) * pace.factor,
    )
    again = Portion()
    if not isinstance(redone.share, Undefined):
        again = ordinary * redone.expect_more(redone.share.share)
        again = replace(again, pay_cents=again.pay_cents * redone.paid_share)
    return Cost(
        ordinary=ordinary,
        personal=personal,
        again=again,
        fee_cents=rates.compute_fee(sum(part.cents for part in (ordinary, personal, again))),
        pace=pace,
        redone=redone,
        n_annotators=n_annotators,
    )


def add_costs(costs: Sequence[Cost]) -> Cost | None:
    """Return the sum of costs of one project, or None without any."""
    if not costs:
        return None
    return replace(
        costs[0],
        ordinary=sum((cost.ordinary for cost in costs), Portion()),
        personal=sum((cost.personal for cost in costs), Portion()),
        again=sum((cost.again for cost in costs), Portion()),
        fee_cents=sum(cost.fee_cents for cost in costs),
    )


def describe_cost(cost: Cost) -> dict[str, object]:
    """Return the parts of a cost and what they are based on, as commands print them; null is not known."""
    pace, share, hours = cost.pace, cost.redone.share, cost.hours_range
    return {
        "expected_assignments": cost.n_assignments,
        "personal_hits": round(cost.personal.n_hits, 1),
        "personal_pay_cents": cost.personal.cents,
        "redone_assignments": None if isinstance(share, Undefined) else round(cost.again.n_hits, 1),
        "redone_pay_cents": None if isinstance(share, Undefined) else cost.again.cents,
        "cents_per_hour": cost.cents_per_hour,
        "hours_low": hours and round(hours[0], 2),
        "hours_high": hours and round(hours[1], 2),
        "measured_hits": pace.n_hits,
        "measured_annotators": pace.n_annotators,
    }


def price_batch(batch: Batch) -> Cost:
    """Return what the places of a batch that are not done yet are expected to cost."""
    hits = Hit.objects.filter(batch=batch, purpose=Hit.Purpose.WORK)
    left = hits.filter(places_wanted__gt=F("places_done")).annotate(n=F("places_wanted") - F("places_done"))
    # The first HITs of the queue are a random sample of a batch with more. The window counts all of them.
    sample = left.annotate(n_left=Window(Sum("n"))).order_by("queue_key", "pk")[:N_HITS_MEASURED]
    rows = list(sample.values_list("pk", "n", "n_left"))
    work = measure_work(fetch_planned_hits({pk: n for pk, n, _ in rows}), rubric_id=batch.rubric_id)
    n_left = rows[0][2] if rows else 0
    return make_pricing(batch)(work * (n_left / work.n_assignments if work.n_assignments else 1))


def price_more(batch: Batch, changes: Sequence[tuple[int, int]]) -> list[Cost]:
    """Return the costs of adding to a batch, or taking from it, so many assignments with so many candidates each."""
    hits = Hit.objects.filter(batch=batch, purpose=Hit.Purpose.WORK).order_by("queue_key", "pk")
    places = dict.fromkeys(hits.values_list("pk", flat=True)[:N_HITS_MEASURED], 1)
    texts = measure_work(fetch_planned_hits(places), rubric_id=batch.rubric_id).texts
    pricing = make_pricing(batch)
    return [pricing(Work.of_mean_size(n, n_items, texts)) for n, n_items in changes]


def make_pricing(batch: Batch, basis: Basis | None = None) -> Callable[[Work], Cost]:
    """Return the function that prices work at the terms of a batch."""
    basis = basis or measure_basis(batch.project)
    n_named = batch.named_annotators.count() if batch.has_named_annotators else 0
    return partial(
        price,
        rates=Rates.of_batch(batch),
        basis=basis,
        n_annotators=basis.expect_annotators(batch.judgments, n_named=n_named),
        controls=ControlPlan.read(batch.control_plan),
        presentation=batch.presentation,
        supply=find_supply(batch),
    )
