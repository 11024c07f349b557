"""Claiming and submitting a HIT, by the size of the batch and by the history of the annotator: p50 and p95.

Run: .venv/bin/python -m benchmarks.claims [--sizes 40,4000,40000] [--histories 0,100,1000,10000] [--samples 200]

The acts themselves in one process, without requests: `benchmarks.rating` measures those. Annotators take turns, each
claims a HIT of ten answers and submits it. The first lines grow the batch, for annotators without a history; the
others grow the history in the largest batch. The goal: p95 grows at most 1.5 times from the first of these lines to the
last.
"""

import argparse
import time
from typing import Any

from benchmarks import ground

GOAL = 1.5
MOST_PER_ANNOTATOR = 35
"""Claims of one annotator, so that the smallest batch has HITs for all of them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="40,4000,40000")
    parser.add_argument("--histories", default="0,100,1000,10000")
    parser.add_argument("--samples", type=int, default=200)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    histories = [int(n) for n in options.histories.split(",")]
    n_people = -(-options.samples // MOST_PER_ANNOTATOR)
    kinds = [*((size, 0) for size in sizes), *((sizes[-1], history) for history in histories if history)]
    with ground.concord("bench_claims"):
        from benchmarks.filling import fill_queue

        crowds = {}
        for number, (size, history) in enumerate(kinds, start=1):
            slug, base = f"bench-{size}-{history}", number * 10_000_000
            crowds[size, history] = fill_queue(slug, size, base=base, histories=[history] * n_people)[1]
        seconds = _work(crowds, options.samples)
    print(f"{'HITs':>8} {'history':>8}   claim p50    p95   submit p50    p95  ms")
    p95 = {}
    for size, history in kinds:
        figures = [
            1000 * ground.quantile(list(each), share)
            for each in zip(*seconds[size, history], strict=True)
            for share in (0.5, 0.95)
        ]
        print("{:>8,} {:>8,}   {:9.2f} {:6.2f}   {:10.2f} {:6.2f}".format(size, history, *figures))
        p95[size, history] = (figures[1], figures[3])
    _compare("batch", p95[sizes[0], 0], p95[sizes[-1], 0])
    _compare("history", p95[sizes[-1], 0], p95[sizes[-1], histories[-1]])


def _work(crowds: dict[tuple[int, int], list[Any]], n: int) -> dict[tuple[int, int], list[tuple[float, ...]]]:
    """Let everybody take turns, those of different batches too, and return the seconds of claims and submits.

    Whatever else the machine does then slows all of them alike.
    """
    seconds: dict[tuple[int, int], list[tuple[float, ...]]] = {kind: [] for kind in crowds}
    for turn in range(n):
        for kind, people in crowds.items():
            seconds[kind].append(_work_once(people[turn % len(people)]))
    return seconds


def _work_once(annotator: Any) -> tuple[float, float]:
    """Claim and submit a HIT, and return the seconds of each."""
    from annotate.models import Assignment
    from annotate.rating.sent import SentAnswers
    from annotate.work.serving import NoWork, claim
    from annotate.work.submitting import submit

    start = time.perf_counter()
    claimed = claim(annotator)
    took = time.perf_counter() - start
    assert not isinstance(claimed, NoWork), claimed
    assignment = Assignment.objects.get(uuid=claimed)
    answers = SentAnswers(values={place: {"correctness": 4.0} for place in range(len(assignment.layout))})
    start = time.perf_counter()
    submit(annotator=annotator, assignment_uuid=assignment.uuid, sent=answers)
    return took, time.perf_counter() - start


def _compare(what: str, first: tuple[float, float], last: tuple[float, float]) -> None:
    claims, submits = (later / earlier for earlier, later in zip(first, last, strict=True))
    print(f"growth with the {what}: p95 of a claim {claims:.2f}, of a submit {submits:.2f} (goal {GOAL} or less)")


if __name__ == "__main__":
    main()
