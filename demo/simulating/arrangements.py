"""How the simulated work is arranged: the overlap, and the controls that stand for one or two a HIT."""

from dataclasses import dataclass

from annotate.batches.control_plan import ControlPlan

MOMENTS = (3, 5, 10)
"""After so many HITs of everybody it is looked who is flagged."""
HIT_SIZE = 10
PLANS = {
    0: ControlPlan(),
    1: ControlPlan(known_per_hit=1),
    2: ControlPlan(known_per_hit=1, degraded_per_hit=0.75, repeats=2, repeats_every=8, jitter=0),
}
"""By controls per HIT: one known answer; and on average 0.75 degraded and 0.25 repeated answers besides."""
CONTROLS = {
    0: "none",
    1: "one known answer in each HIT",
    2: "one known answer in each HIT, and on average 0.75 degraded and 0.25 repeated answers",
}


@dataclass(frozen=True, order=True)
class Arrangement:
    """So many judgments of each candidate, so many controls per HIT."""

    overlap: int
    controls: int

    @property
    def plan(self) -> ControlPlan:
        return PLANS[self.controls]
