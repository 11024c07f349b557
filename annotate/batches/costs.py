"""Costs: the HITs, money and hours that a batch is expected to take, with controls and what has to be done again."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from math import floor
from random import Random

from django.db import connection
from django.db.models import F, Sum, TextField, Window
from django.db.models.functions import MD5, Cast

from annotate.batches.control_plan import ControlPlan
from annotate.batches.personal_hits import ENOUGH, PersonalHits, Supply, expect_personal_hits
from annotate.models import Batch, Hit, Item
from annotate.models.conditions import is_collected, is_counted, is_known, is_work, was_submitted
from annotate.models.pay import compute_hit_pay
from annotate.rating.pace import BYTES_PER_SECOND, MEASURED, SECONDS_PER_RATING, Pace, measure_texts, read_pace
from measures.outcome import Undefined
from measures.quality.shares import Share, compute_share
from projects.models import Candidate, Passage, Project

N_HITS_MEASURED = 1_000
"""HITs whose texts are measured: all of a usual batch, a random sample of a larger one."""
N_PASSAGES_MEASURED = 200
N_KNOWN_MEASURED = 1_000
"""Rated candidates of which it is looked up who has had them."""


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


@dataclass(frozen=True, kw_only=True)
class PlannedHit:
    """A HIT to be priced: its passage, its candidates with their questions, and how many annotators rate it."""

    passage: int
    candidates: Sequence[int]
    questions: Sequence[int]
    n_places: int


@dataclass(frozen=True, kw_only=True)
class Texts:
    """The mean bytes of a HIT's passage, and of one item with its share of questions and references."""

    passage_bytes: float = 0.0
    item_bytes: float = 0.0
    n_criteria: int = 1

    def estimate_seconds(self, n_hits: float, n_items: float) -> float:
        """Return the time of so many HITs with so many items in all, estimated from the length of the texts."""
        reading = (n_hits * self.passage_bytes + n_items * self.item_bytes) / BYTES_PER_SECOND
        return reading + SECONDS_PER_RATING * n_items * self.n_criteria


@dataclass(frozen=True, kw_only=True)
class Work:
    """The ordinary work to be priced: how many assignments have how many candidates, and the length of their texts.

    The numbers of assignments are fractions where a sample stands for all.
    """

    sizes: Mapping[int, float]
    texts: Texts

    @classmethod
    def of_mean_size(cls, n_assignments: float, n_judgments: float, texts: Texts) -> "Work":
        """Return the work of HITs of which only the mean size is known: as many of the sizes next to it as give it."""
        if not n_assignments:
            return cls(sizes={}, texts=texts)
        small = int(n_judgments // n_assignments)
        n_large = n_judgments - small * n_assignments
        return cls(sizes={small: n_assignments - n_large, small + 1: n_large}, texts=texts)

    @property
    def n_assignments(self) -> float:
        return sum(self.sizes.values())

    @property
    def n_judgments(self) -> float:
        return sum(n_items * n for n_items, n in self.sizes.items())

    def __mul__(self, times: float) -> "Work":
        return replace(self, sizes={n_items: n * times for n_items, n in self.sizes.items()})


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


@dataclass(frozen=True)
class Redone:
    """Submitted assignments that others had to do again, as far as this project has any.

    `share` is of all that were submitted; `paid_share` is how many of those done again were paid nevertheless.
    """

    share: Share | Undefined
    paid_share: float = 1.0

    def expect_more(self, share: float) -> float:
        """Return the assignments that are done again for each one that counts, if this share is."""
        # Those done again may have to be done again too, which sums up to q / (1 - q).
        return share / (1 - min(share, 0.95))


@dataclass(frozen=True)
class Basis:
    """What a project's work so far says about work to come: its pace, how much was redone, and who can work."""

    pace: Pace
    redone: Redone
    n_active: int

    def expect_annotators(self, judgments: int, *, n_named: int = 0) -> int:
        """Return how many share the work: the chosen annotators, or all active ones, at least one per judgment."""
        return n_named or max(judgments, self.n_active, 1)


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
    def total(self) -> Portion:
        return self.ordinary + self.personal + self.again

    @property
    def pay_cents(self) -> int:
        return self.total.cents

    @property
    def cents(self) -> int:
        return self.pay_cents + self.fee_cents

    @property
    def n_assignments(self) -> int:
        return round(self.total.n_hits)

    @property
    def hours(self) -> float:
        return self.total.hours

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
    # Degraded answers of a page with all items come in personal HITs: their originals were on an earlier page.
    is_one = presentation == Batch.Presentation.ONE
    n_controls = controls.known_per_hit + controls.repeats_per_hit + (controls.degraded_per_hit if is_one else 0)
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
        fee_cents=rates.compute_fee((ordinary + personal + again).pay_cents),
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


def measure_work(hits: Iterable[PlannedHit], *, rubric_id: int | None) -> Work:
    """Return the sizes of HITs, and the length of their texts, measured on a random sample of very many."""
    hits = [hit for hit in hits if hit.n_places]
    sizes: Counter[int] = Counter()
    for hit in hits:
        sizes[len(hit.candidates)] += hit.n_places
    # A fixed seed: the same page twice shows the same numbers.
    sample = hits if len(hits) <= N_HITS_MEASURED else Random(0).sample(hits, N_HITS_MEASURED)  # noqa: S311
    passages: Counter[int] = Counter()
    questions: Counter[int] = Counter()
    candidates: Counter[int] = Counter()
    for hit in sample:
        passages[hit.passage] += hit.n_places
        for question in set(hit.questions):
            questions[question] += hit.n_places
        for candidate in hit.candidates:
            candidates[candidate] += hit.n_places
    if not candidates:
        return Work(sizes=sizes, texts=Texts())
    of_passages, of_items, n_criteria = measure_texts(
        passages=passages, questions=questions, candidates=candidates, rubric_id=rubric_id
    )
    texts = Texts(
        passage_bytes=of_passages / sum(passages.values()),
        item_bytes=of_items / sum(candidates.values()),
        n_criteria=n_criteria,
    )
    return Work(sizes=sizes, texts=texts)


def measure_project_texts(project: Project, *, rubric_id: int | None) -> Texts:
    """Return the length of a project's texts, measured on some of its passages with all that is asked about them."""
    sample = Passage.objects.filter(dataset__project=project, withdrawn_at=None).order_by(MD5(Cast("pk", TextField())))
    candidates = Candidate.objects.filter(
        question__passage__in=sample.values("pk")[:N_PASSAGES_MEASURED], withdrawn_at=None
    )
    found: dict[int, tuple[list[int], list[int]]] = {}
    for passage, candidate, question in candidates.values_list("question__passage_id", "pk", "question_id"):
        asked = found.setdefault(passage, ([], []))
        asked[0].append(candidate)
        asked[1].append(question)
    hits = (
        PlannedHit(passage=passage, candidates=candidates, questions=questions, n_places=1)
        for passage, (candidates, questions) in found.items()
    )
    return measure_work(hits, rubric_id=rubric_id).texts


def fetch_planned_hits(places: Mapping[int, int]) -> list[PlannedHit]:
    """Return these HITs of existing batches, given by id with their number of places, to be priced."""
    found: dict[int, tuple[int, list[int], list[int]]] = {}
    items = Item.objects.filter(
        hit__in=list(places), control=Item.Control.NONE, retired_at=None, candidate__isnull=False
    )
    for hit, passage, candidate, question in items.values_list(
        "hit_id", "hit__passage_id", "candidate_id", "question_id"
    ):
        _, candidates, questions = found.setdefault(hit, (passage, [], []))
        candidates.append(candidate or 0)
        questions.append(question)
    return [
        PlannedHit(passage=passage, candidates=candidates, questions=questions, n_places=places[hit])
        for hit, (passage, candidates, questions) in found.items()
    ]


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


def measure_basis(project: Project) -> Basis:
    """Return what the project's work so far says about work to come."""
    with connection.cursor() as cursor:
        cursor.execute(_BASIS, {"project": project.pk})
        rows = cursor.fetchall()
    n, n_again, n_paid, n_active = rows[0][:4]
    pace = read_pace([row[4:] for row in rows if row[4] is not None])
    share = compute_share(n_again, n, nothing="nothing was submitted yet")
    return Basis(pace, Redone(share, n_paid / n_again if n_again else 1.0), n_active)


# The work submitted so far, how much of it was rejected, excluded or surplus, and how much of that is paid; the active
# annotators; and in further columns the rows of the pace, of which there may be none.
_BASIS = f"""
SELECT redone.*, measured.* FROM (
SELECT count(*) AS n, count(*) FILTER (WHERE NOT a.holds_place),
       count(*) FILTER (WHERE NOT a.holds_place AND NOT (a.state = 'rejected' AND a.is_unpaid)),
       (SELECT count(*) FROM projects_membership m
        WHERE m.project_id = %(project)s AND m.standing = 'active' AND m.is_annotator
          AND m.kind IN ('person', 'simulated'))
FROM annotate_batch b JOIN annotate_hit h ON h.batch_id = b.id AND {is_work("h")}
JOIN annotate_assignment a ON a.hit_id = h.id AND {was_submitted("a")}
WHERE b.project_id = %(project)s AND {is_collected("b")}) redone
LEFT JOIN ({MEASURED}) measured ON true
"""


def find_supply(batch: Batch) -> Supply:
    """Return what the pool of a batch holds for personal HITs: what is not retired, accepted or not."""
    plan = ControlPlan.read(batch.control_plan)
    if not plan.makes_personal_hits(batch.presentation):
        return ENOUGH
    pool = Item.objects.filter(pool_of=batch, retired_at=None).exclude(control=Item.Control.REPEAT)
    if not pool.exists():
        return find_supply_of_new(
            batch.project,
            list(Item.objects.filter(hit__batch=batch).values_list("candidate", flat=True)),
            plan,
        )
    degraded_per_hit = pool.filter(control=Item.Control.DEGRADED).count() / max(1, batch.n_hits)
    known = pool.filter(recipe=Item.Recipe.KNOWN_CANDIDATE)
    return _add_known(
        Supply(degraded_per_hit=degraded_per_hit), batch.project, known.values_list("candidate", flat=True)
    )


def find_supply_of_new(project: Project, candidates: Collection[int], plan: ControlPlan) -> Supply:
    """Return what the pool of a batch with these candidates can hold: rated candidates that are not among them."""
    if not plan.known_hit_every:
        return ENOUGH
    with connection.cursor() as cursor:
        cursor.execute(_SCORED, {"project": project.pk, "limit": N_KNOWN_MEASURED, "chosen": list(candidates)})
        return _add_known(ENOUGH, project, [row[0] for row in cursor.fetchall()])


def _add_known(supply: Supply, project: Project, candidates: Iterable[int | None]) -> Supply:
    """Return the supply with the rated candidates that an annotator has not had: no one gets a candidate twice."""
    known = list(candidates)[:N_KNOWN_MEASURED]
    with connection.cursor() as cursor:
        cursor.execute(_UNSEEN, {"project": project.pk, "known": known})
        n_passages, n_candidates = map(float, cursor.fetchone())
    per_passage = n_candidates / n_passages if n_passages else 0.0
    return replace(supply, known_passages=n_passages, known_per_passage=per_passage)


# Candidates with a known score as `controls.known_answers` finds them: judged at least twice, or imported.
_SCORED = f"""
SELECT DISTINCT scored.candidate_id FROM (
    SELECT j.candidate_id, j.criterion_id
    FROM annotate_batch b JOIN annotate_hit h ON h.batch_id = b.id
    JOIN annotate_assignment a ON a.hit_id = h.id JOIN annotate_judgment j ON j.assignment_id = a.id
    WHERE b.project_id = %(project)s AND {is_counted("j")} AND j.candidate_id <> ALL(%(chosen)s::bigint[])
    GROUP BY 1, 2 HAVING count(*) >= 2 OR bool_or(NOT {is_collected("b")})) scored
LIMIT %(limit)s
"""

# How many of these candidates, and of their passages, an active annotator has not been served, on average.
_UNSEEN = f"""
SELECT coalesce(avg(left_to_ask.n_passages), 0), coalesce(avg(left_to_ask.n_candidates), 0)
FROM (
    SELECT m.id, count(DISTINCT q.passage_id) AS n_passages, count(c.id) AS n_candidates
    FROM projects_membership m
    LEFT JOIN (projects_candidate c JOIN projects_question q ON q.id = c.question_id)
        ON c.id = ANY(%(known)s::bigint[]) AND NOT EXISTS (
            SELECT 1 FROM annotate_item i JOIN annotate_assignment a ON a.hit_id = i.hit_id
            WHERE i.candidate_id = c.id AND a.annotator_id = m.id)
    WHERE m.project_id = %(project)s AND m.standing = 'active' AND m.is_annotator AND {is_known("m")}
    GROUP BY m.id) left_to_ask
"""
