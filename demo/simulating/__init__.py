"""Simulating: how many bad annotators the quality alerts flag, and how many good ones, on simulated work."""

from collections.abc import Callable, Sequence
from itertools import product

from demo.simulating.arrangements import PLANS, Arrangement
from demo.simulating.ground import run_apart
from demo.simulating.working import Outcome, work_through
from demo.simulating.worlds import World
from projects.errors import Refused

FEWEST_ANNOTATORS, MOST_ANNOTATORS = 5, 200
MOST_HITS = 50
OnProgress = Callable[[int, int], None]


def simulate(
    *,
    seed: int,
    world: World,
    n_annotators: int,
    n_hits: int,
    overlaps: Sequence[int],
    controls: Sequence[int],
    on_progress: OnProgress,
) -> list[Outcome]:
    """Simulate each combination of overlap and controls; nothing is stored. Raises Refused for invalid arguments."""
    _check(seed, n_annotators, n_hits, overlaps, controls)
    arrangements = [Arrangement(*each) for each in product(dict.fromkeys(overlaps), dict.fromkeys(controls))]
    total = len(arrangements) * n_annotators * n_hits

    def work(check: Callable[[], None]) -> list[Outcome]:
        n_done = 0

        def on_hit() -> None:
            nonlocal n_done
            check()
            n_done += 1
            on_progress(min(n_done, total), total)

        return [
            work_through(each, world=world, seed=seed, n_annotators=n_annotators, n_hits=n_hits, on_hit=on_hit)
            for each in arrangements
        ]

    return run_apart(work)


def _check(seed: int, n_annotators: int, n_hits: int, overlaps: Sequence[int], controls: Sequence[int]) -> None:
    checks = [
        (0 <= seed < 2**31, "The seed must be a number from 0 to 2,147,483,647."),
        (
            FEWEST_ANNOTATORS <= n_annotators <= MOST_ANNOTATORS,
            f"The number of annotators must be {FEWEST_ANNOTATORS} to {MOST_ANNOTATORS}.",
        ),
        (1 <= n_hits <= MOST_HITS, f"The number of HITs per annotator must be 1 to {MOST_HITS}."),
        (
            bool(overlaps) and all(1 <= each <= n_annotators for each in overlaps),
            "Each overlap must be 1 to all annotators.",
        ),
        (bool(controls) and all(each in PLANS for each in controls), "Controls per HIT must be 0, 1 or 2."),
    ]
    wrong = [sentence for is_right, sentence in checks if not is_right]
    if wrong:
        raise Refused(wrong[0], details=wrong[1:])
