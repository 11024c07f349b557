"""The control plan of a batch: its numbers, their checks, and the randomness that its seed determines."""

import hashlib
import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from django.db.models import Q, QuerySet

from annotate.models import Batch, Item
from annotate.places.seeds import secret_seed
from projects.errors import Refused

MOST_A_HIT = 50
"""Controls of one kind in a HIT: half of the largest HIT size, so that a typing error doesn't crowd out the work."""
MOST_DEGRADED = 5
"""Degraded answers in a personal HIT. They are all on one passage, and more would make it look unlike other HITs."""
MIN_DUE = 2
"""Degraded answers that must be due before a personal HIT is created, plus up to two more at random.

The rest of the HIT is repeats, so one for a single degraded answer would cost too much; one that always comes at the
same count could be predicted.
"""


@dataclass(frozen=True, kw_only=True)
class ControlPlan:
    """How many controls of each kind a batch shows; all zero, the default, means none.

    `known_per_hit` known answers are in every HIT, and every `known_hit_every` HITs there is a whole HIT of rated
    candidates. `degraded_per_hit` is an average over an annotator's HITs. Every `repeats_every` HITs, `repeats`
    candidates of one passage are repeated in a separate HIT; `repeats_per_hit` are inside a HIT, with one item at a
    time. Separate HITs are filled with further repeats until they are as long as the annotator's other HITs. A control
    comes at least `distance` HITs after its original, or, within a HIT shown one item at a time, at least
    `item_distance` items after it. What comes every n HITs comes up to `jitter` HITs earlier or later.

    The default distances keep a control out of fresh memory: two HITs are about twenty items.
    """

    known_per_hit: int = 0
    known_hit_every: int = 0
    degraded_per_hit: float = 0.0
    repeats: int = 0
    repeats_every: int = 0
    repeats_per_hit: int = 0
    distance: int = 2
    item_distance: int = 5
    jitter: int = 1
    seed: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.is_in_hits or self.known_hit_every or self.repeats or self.repeats_every)

    @property
    def is_in_hits(self) -> bool:
        """Whether an ordinary HIT may show controls."""
        return bool(self.known_per_hit or self.degraded_per_hit or self.repeats_per_hit)

    @property
    def room(self) -> int:
        """Items left free in every HIT, so that it does not exceed the HIT size once it has its controls."""
        return self.known_per_hit + math.ceil(self.degraded_per_hit) + self.repeats_per_hit

    def count_in_hit(self, presentation: str) -> float:
        """Return the mean number of controls in a HIT of the batch, those of personal HITs left out."""
        # Degraded answers of a page with all items come in personal HITs: their originals were on an earlier page.
        is_one = presentation == Batch.Presentation.ONE
        return self.known_per_hit + self.repeats_per_hit + (self.degraded_per_hit if is_one else 0)

    def makes_personal_hits(self, presentation: str) -> bool:
        """Return whether annotators get HITs of their own in addition to the batch's HITs."""
        is_page = presentation == Batch.Presentation.PAGE
        return bool(self.known_hit_every or self.repeats or (self.degraded_per_hit and is_page))

    @classmethod
    def read(cls, stored: dict[str, Any]) -> "ControlPlan":
        """Return the plan stored with a batch; numbers that it does not have are the defaults."""
        return cls(**{name: value for name, value in stored.items() if name in _NAMES})

    def as_json(self) -> dict[str, Any]:
        return {} if self.is_empty else asdict(self)

    def due_at(self, n: int, every: int, *, who: int, what: str) -> int:
        """Return after how many ordinary HITs the n-th HIT of a kind is due, counted from 1.

        It is every `every` HITs, shifted by a number from -width to width that follows from the seed, so that an
        annotator cannot predict it. The shift is below `every`, so that none is due before the first HIT.
        """
        width = min(self.jitter, every - 1)
        return max(1, every * n + math.floor((2 * width + 1) * self.share(what, who, n)) - width)

    def n_degraded_by(self, n_hits: int, who: int) -> int:
        """Return how many degraded items an annotator should have seen after `n_hits` ordinary HITs."""
        return sum(self.n_degraded_of(n, who) for n in range(n_hits))

    def n_degraded_of(self, n: int, who: int) -> int:
        """Return how many degraded items an annotator's ordinary HIT adds to those due; `n` counts HITs from 0.

        Each HIT rounds the average up or down at random, so that 0.5 gives one in half of the HITs.
        """
        return math.floor(self.degraded_per_hit + self.share("degraded", who, n))

    def n_in_personal_hit(self, n_owed: int, *, who: int, n_personal: int) -> int:
        """Return how many degraded answers a personal HIT gets when this many are due; 0 if it has to wait for more.

        `n_personal` is the number of personal HITs that the annotator has had; the threshold is drawn for each.
        """
        least = MIN_DUE + int(3 * self.share("owed", who, n_personal))
        return min(n_owed, MOST_DEGRADED) if n_owed >= least else 0

    def share(self, *parts: object) -> float:
        """Return a number from 0 (inclusive) to 1 (exclusive) that follows from the seed and these parts, as a secret.

        A hash rather than a generator, so that any draw can be repeated by itself, in whatever order annotators come.
        """
        digest = hashlib.sha256(secret_seed(repr((self.seed, *parts))).encode()).digest()
        return int.from_bytes(digest[:7], "big") / 2**56


def shows_repeats(batch: Batch, *, has_items: bool | None = None) -> bool:
    """Return whether a batch has or had repeats: its annotators must not read their earlier answers.

    Degraded answers bring repeats too, which fill their HITs. Repeats may remain from an earlier plan; whether there
    are any is queried unless `has_items` gives it.
    """
    plan = ControlPlan.read(batch.control_plan)
    is_planned = bool(plan.repeats or plan.repeats_per_hit or plan.degraded_per_hit)
    if is_planned or has_items is not None:
        return is_planned or bool(has_items)
    of_batch = Q(pool_of=batch) | Q(hit__batch=batch)
    return Item.objects.filter(of_batch, control=Item.Control.REPEAT).exists()


_NAMES = {field.name for field in fields(ControlPlan)}
QASCORE = ControlPlan(degraded_per_hit=6, repeats_per_hit=3)
"""As in QAScore: of twenty items, eleven are ordinary, six degraded and three repeated."""
QASCORE_HIT_SIZE = 20


def check_plan(plan: ControlPlan, *, presentation: str, hit_size: int) -> None:
    """Raise Refused for impossible numbers, or a plan that does not fit HITs of this size and presentation."""
    if plan.is_empty:
        return
    is_page = presentation == Batch.Presentation.PAGE
    # All faults are reported at once, so that a form needs to be corrected only once.
    checks = [
        (
            0 <= plan.known_per_hit <= MOST_A_HIT,
            f"Set 0 to {MOST_A_HIT} known answers per HIT.",
        ),
        (0 <= plan.known_hit_every <= 1_000, "Set a HIT of rated candidates every 1 to 1,000 HITs, or 0 for never."),
        (
            math.isfinite(plan.degraded_per_hit) and 0 <= plan.degraded_per_hit <= MOST_A_HIT,
            f"Set 0 to {MOST_A_HIT} degraded answers per HIT on average.",
        ),
        (
            0 <= plan.repeats <= MOST_A_HIT,
            f"Set up to {MOST_A_HIT} candidates in a HIT of repeats.",
        ),
        (0 <= plan.repeats_every <= 1_000, "Set a HIT of repeats every 1 to 1,000 HITs, or 0 for never."),
        ((plan.repeats > 0) == (plan.repeats_every > 0), "Set both how many candidates to repeat and how often."),
        (
            0 <= plan.repeats_per_hit <= MOST_A_HIT,
            f"Set 0 to {MOST_A_HIT} repeats per HIT.",
        ),
        (
            not (is_page and plan.repeats_per_hit),
            "On a page with all items a repeat is noticed. Give repeats their own HIT, or show one item at a time.",
        ),
        (1 <= plan.distance <= 1_000, "Set a distance of 1 to 1,000 HITs."),
        (
            plan.item_distance >= 0 and (is_page or plan.item_distance < hit_size),
            "Set a distance in items that is smaller than the HIT.",
        ),
        (0 <= plan.jitter <= 1_000, "Set a jitter of 0 to 1,000 HITs."),
        (0 <= plan.seed < 2**31, "Set a seed from 0 to 2,147,483,647."),
        (
            plan.room < hit_size,
            f"{plan.room} controls leave no room for other items in a HIT of {hit_size}. Increase the HIT size.",
        ),
    ]
    wrong = [sentence for is_right, sentence in checks if not is_right]
    if wrong:
        raise Refused(wrong[0], details=wrong[1:])


def list_pool(batch: Batch) -> QuerySet[Item]:
    """Return the pool as managers see it, without repeats, which are made when shown and need no acceptance."""
    return Item.objects.filter(pool_of=batch).exclude(control=Item.Control.REPEAT)


def clear_pool(batch: Batch) -> None:
    """Delete the pool of a batch that was never opened; for any other, foreign keys refuse it."""
    pool = Item.objects.filter(pool_of=batch)
    # Degraded items refer to their originals in the same pool, so they go first.
    pool.filter(made_from__isnull=False).delete()
    pool.delete()


def lacks_controls(batch: Batch) -> bool:
    """Return whether the batch has controls planned that need acceptance, and none is accepted yet."""
    plan = ControlPlan.read(batch.control_plan)
    is_asked = bool(plan.known_per_hit or plan.known_hit_every or plan.degraded_per_hit)
    return is_asked and not list_pool(batch).filter(accepted_at__isnull=False, retired_at=None).exists()
