"""Claiming and submitting a HIT, by the size of the batch and by the history of the annotator: p50 and p95.

Run: .venv/bin/python -m benchmarks.claims [--sizes 40,4000,40000] [--histories 0,100,1000,10000] [--samples 200]

The acts themselves in one process, without requests: `benchmarks.rating` measures those. Each line is of annotators
who take turns, and who each claim a HIT of ten answers and submit it. The first lines grow the batch, for annotators
without a history; the others grow the history in the largest batch, where every HIT that an annotator has had stands
before those that are new to them. The goal: p95 grows at most 1.5 times from the first line of each to its last.
"""

import argparse
import time
from typing import Any

from benchmarks import ground

GOAL = 1.5
WARM_UP = 20
"""Claims before the measurement, in a project of their own: they prepare the statements."""
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
    with ground.concord("bench_claims"):
        from benchmarks.filling import fill_queue

        _, people = fill_queue("warm-up", WARM_UP, base=1_000_000_000, histories=[0])
        _work(people, WARM_UP)
        print(f"{'HITs':>8} {'history':>8}   claim p50    p95   submit p50    p95  ms")
        rows = []
        for number, size in enumerate(sizes, start=1):
            _, people = fill_queue(f"size-{size}", size, base=number * 10_000_000, histories=[0] * n_people)
            rows.append(_measure(people, options.samples, size, 0))
        _compare("batch", rows)
        rows = []
        for number, history in enumerate(histories, start=len(sizes) + 1):
            _, people = fill_queue(
                f"history-{history}", sizes[-1], base=number * 10_000_000, histories=[history] * n_people
            )
            rows.append(_measure(people, options.samples, sizes[-1], history))
        _compare("history", rows)


def _measure(people: list[Any], n: int, size: int, history: int) -> tuple[float, float]:
    claims, submits = _work(people, n)
    figures = [1000 * ground.quantile(each, share) for each in (claims, submits) for share in (0.5, 0.95)]
    print("{:>8,} {:>8,}   {:9.2f} {:6.2f}   {:10.2f} {:6.2f}".format(size, history, *figures), flush=True)
    return figures[1], figures[3]


def _work(people: list[Any], n: int) -> tuple[list[float], list[float]]:
    """Let people take turns; return the seconds of each claim and of each submit."""
    from annotate.models import Assignment
    from annotate.rating.sent import SentAnswers
    from annotate.work.serving import NoWork, claim
    from annotate.work.submitting import submit

    claims, submits = [], []
    for turn in range(n):
        annotator = people[turn % len(people)]
        start = time.perf_counter()
        claimed = claim(annotator)
        claims.append(time.perf_counter() - start)
        assert not isinstance(claimed, NoWork), claimed
        assignment = Assignment.objects.get(uuid=claimed)
        answers = SentAnswers(values={place: {"correctness": 4.0} for place in range(len(assignment.layout))})
        start = time.perf_counter()
        submit(annotator=annotator, assignment_uuid=assignment.uuid, sent=answers)
        submits.append(time.perf_counter() - start)
    return claims, submits


def _compare(what: str, rows: list[tuple[float, float]]) -> None:
    claims, submits = (last / first for first, last in zip(rows[0], rows[-1], strict=True))
    print(f"growth with the {what}: p95 of a claim {claims:.2f}, of a submit {submits:.2f} (goal {GOAL} or less)")


if __name__ == "__main__":
    main()
