"""Arrangements of simulated work: the overlap, and the control plans for none, one or two controls per HIT."""

from dataclasses import dataclass

from annotate.batches.control_plan import ControlPlan

MOMENTS = (3, 5, 10)
"""After this many HITs per annotator, the flagged annotators are counted."""
HIT_SIZE = 10
"""As in MOCHA, whose HITs have up to ten candidates of one passage."""
PLANS = {
    0: ControlPlan(),
    1: ControlPlan(known_per_hit=1),
    2: ControlPlan(known_per_hit=1, degraded_per_hit=0.75, repeats=2, repeats_every=8, jitter=0),
}
"""By controls per HIT: one known answer; for two, also 0.75 degraded and 0.25 repeated answers on average."""
CONTROLS = {
    0: "none",
    1: "one known answer in each HIT",
    2: "one known answer in each HIT, and on average 0.75 degraded and 0.25 repeated answers",
}


@dataclass(frozen=True, order=True)
class Arrangement:
    """Judgments per candidate, and controls per HIT."""

    overlap: int
    controls: int

    @property
    def plan(self) -> ControlPlan:
        return PLANS[self.controls]
