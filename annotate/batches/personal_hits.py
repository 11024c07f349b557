"""Personal HITs to be expected: those of controls that each annotator gets in addition to a batch's HITs."""

from dataclasses import dataclass
from math import ceil, floor

from annotate.batches.control_plan import ControlPlan
from annotate.models import Batch

N_ANNOTATORS = 12
"""Annotators whose work is played through: draws differ between them, and a dozen average that out."""
N_HITS = 200
"""HITs of one annotator that are played through; more follow at the same rate."""


@dataclass(frozen=True)
class PersonalHits:
    """The expected number of personal HITs, and of the items in them."""

    n_hits: float = 0.0
    n_items: float = 0.0

    def __add__(self, other: "PersonalHits") -> "PersonalHits":
        return PersonalHits(self.n_hits + other.n_hits, self.n_items + other.n_items)

    def __mul__(self, times: float) -> "PersonalHits":
        return PersonalHits(self.n_hits * times, self.n_items * times)


@dataclass(frozen=True, kw_only=True)
class Supply:
    """What a pool holds for personal HITs; None where there is no pool yet, which then is taken to hold enough."""

    degraded_per_hit: float | None = None
    known_passages: float | None = None
    known_per_passage: float | None = None


ENOUGH = Supply()


def expect_personal_hits(
    plan: ControlPlan,
    *,
    presentation: str,
    n_assignments: float,
    n_annotators: int,
    hit_size: int,
    n_items_per_hit: float,
    supply: Supply = ENOUGH,
) -> PersonalHits:
    """Return the personal HITs that a batch brings, if its annotators share the assignments equally.

    The work of some annotators is played through with the plan's own draws, by the rules of `controls.reserved_hits`:
    what is due after how many HITs, and how much of it one HIT can ask.
    """
    if not plan.makes_personal_hits(presentation) or not n_assignments:
        return PersonalHits()
    each = n_assignments / max(1, n_annotators)
    n_played = min(each, N_HITS)
    is_page = presentation == Batch.Presentation.PAGE
    total = PersonalHits()
    for who in range(N_ANNOTATORS):
        # 4.25 HITs each are played as 5 HITs by a quarter of them and as 4 by the others.
        n_hits = floor(n_played) + (who < round((n_played - floor(n_played)) * N_ANNOTATORS))
        course = _Course(plan, who, hit_size, max(1, round(n_items_per_hit)), supply, is_page)
        total += course.play(n_hits)
    return total * (n_annotators / N_ANNOTATORS * each / n_played)


class _Course:
    """One annotator's way through a batch: what was rated, and what was asked again."""

    def __init__(self, plan: ControlPlan, who: int, hit_size: int, n_items: int, supply: Supply, is_page: bool) -> None:
        self.plan, self.who, self.n_items = plan, who, n_items
        self.has_degraded = is_page and bool(plan.degraded_per_hit)
        self.n_gold = self.n_personal = self.n_repeat_hits = self.n_degraded = self.n_due = self.n_owed = 0
        self.n_gold_left = None if supply.known_passages is None else round(supply.known_passages)
        known = supply.known_per_passage
        # Reserved HITs are as long as ordinary ones with their known answers.
        self.length = min(hit_size, n_items + plan.known_per_hit)
        self.gold_size = min(self.length, self.length if known is None else max(1, round(known)))
        self.supply = supply
        # What is left to ask of each ordinary HIT, in order: its degraded answers and its items. `ranks` has the place
        # of each ordinary HIT among all that the annotator has submitted, because distances count all of these.
        self.degraded: list[int] = []
        self.repeatable: list[int] = []
        self.ranks: list[int] = []
        self.n_submitted = 0

    def play(self, n_hits: int) -> PersonalHits:
        found = PersonalHits()
        for n_work in range(n_hits + 1):
            if n_work:
                self._submit_work(n_work)
            while n_items := self._take_gold(n_work) or self._take_personal(n_work):
                found += PersonalHits(1, n_items)
                self.n_submitted += 1
        return found

    def _submit_work(self, n_work: int) -> None:
        per_hit = self.supply.degraded_per_hit
        if per_hit is None:
            # As many as the pool is made with: twice the average, at most one of each item.
            n_degraded = ceil(2 * self.plan.degraded_per_hit)
        else:
            n_degraded = floor(per_hit * n_work) - floor(per_hit * (n_work - 1))
        self.degraded.append(min(n_degraded, self.n_items) if self.has_degraded else 0)
        self.repeatable.append(self.length)
        self.n_submitted += 1
        self.ranks.append(self.n_submitted)
        if self.has_degraded:
            self.n_due += self.plan.n_degraded_of(n_work - 1, self.who)
            self.n_owed = self.n_due - self.n_degraded

    def _take_gold(self, n_work: int) -> int:
        every = self.plan.known_hit_every
        if not every or self.n_gold_left == 0:
            return 0
        if n_work < self.plan.due_at(self.n_gold + 1, every, who=self.who, what="gold"):
            return 0
        self.n_gold += 1
        if self.n_gold_left is not None:
            self.n_gold_left -= 1
        return self.gold_size

    def _take_personal(self, n_work: int) -> int:
        plan = self.plan
        n_degraded = min(
            plan.n_in_personal_hit(self.n_owed, who=self.who, n_personal=self.n_personal),
            self.length,
        )
        is_repeat_due = bool(plan.repeats_every) and n_work >= plan.due_at(
            self.n_repeat_hits + 1, plan.repeats_every, who=self.who, what="repeat"
        )
        rated = [at for at, rank in enumerate(self.ranks) if self.n_submitted - rank + 1 >= plan.distance]
        if not rated or not (n_degraded or is_repeat_due):
            return 0

        def find_worth(at: int) -> tuple[int, int, int]:
            asked = min(n_degraded, self.degraded[at])
            again = max(0, min(self.length - asked, self.repeatable[at] - asked))
            n_due = min(again, plan.repeats) if is_repeat_due else 0
            return (again + asked, n_due, asked) if n_due or asked else (0, 0, 0)

        best = max(rated, key=find_worth)
        n_items, _n_due, asked = find_worth(best)
        if not n_items:
            return 0
        self.degraded[best] -= asked
        self.repeatable[best] -= n_items - asked
        self.n_personal += 1
        self.n_repeat_hits += n_items > asked
        self.n_degraded += asked
        self.n_owed -= asked
        return n_items
