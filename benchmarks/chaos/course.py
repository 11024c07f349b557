"""The course of a run: everybody works, and one fault follows another, each after the site has recovered."""

import argparse
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from benchmarks import ground
from benchmarks.chaos.faults import Fault, list_faults
from benchmarks.chaos.people import Manager, Watch, Worker
from benchmarks.chaos.site import Site, wait_until
from benchmarks.load import Record

BACK_SECONDS = 180.0
"""Longest time until a site has to answer again, and to do jobs again."""


@dataclass
class Recoveries:
    """Seconds after each fault until a page was there again, and until a job was done."""

    pages: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    jobs: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failure: str = ""
    """What did not come back."""

    def show(self) -> None:
        print(f"\n{'Fault':<30} {'times':>5}  {'page again: median':>18} {'longest':>8}  {'jobs again: longest':>19}")
        for name, seconds in self.pages.items():
            median, longest = f"{ground.quantile(seconds, 0.5):.1f} s", f"{max(seconds):.1f} s"
            jobs = f"{max(self.jobs[name]):.1f} s" if self.jobs[name] else ""
            print(f"{name:<30} {len(seconds):>5}  {median:>18} {longest:>8}  {jobs:>19}")
        every = list(chain.from_iterable(self.pages.values()))
        print(f"{'all':<30} {len(every):>5}  longest time until the site answered again: {max(every, default=0):.1f} s")
        if self.failure:
            print(f"the run ended early: {self.failure}")


def live_through(
    site: Site, people: list[Worker], manager: Manager, options: argparse.Namespace
) -> tuple[Record, Recoveries]:
    """Let everybody work until the time is over, and faults happen meanwhile."""
    record, recoveries, stop = Record(), Recoveries(), threading.Event()
    watch = Watch(site.port, people[0].cookies["session"])
    acts = [partial(worker.live, record, stop) for worker in people]
    acts += [partial(manager.import_all, stop), partial(manager.export_all, people, stop), partial(watch.look, stop)]
    threads = [threading.Thread(target=act, daemon=True) for act in acts]
    for thread in threads:
        thread.start()
    if not wait_until(lambda: record.acknowledged and manager.imported):
        recoveries.failure = "nothing was submitted and imported before the first fault"
    until = time.monotonic() + 60 * options.minutes
    for fault, seconds, calm in plan(list_faults(site), options):
        if time.monotonic() > until or recoveries.failure:
            break
        print(f"{time.strftime('%H:%M:%S')} {fault.name}", flush=True)
        recoveries.failure = happen(fault, seconds, watch, manager, recoveries)
        time.sleep(calm)
    stop.set()
    for thread in threads:
        thread.join()
    return record, recoveries


def plan(faults: list[Fault], options: argparse.Namespace) -> Iterator[tuple[Fault, float, float]]:
    """Yield faults without an end, each once in every round, with how long it lasts and how long it is calm then."""
    chance = random.Random(options.seed)
    for fault in faults:
        if fault.obstacle:
            print(f"left out: {fault.name}, because {fault.obstacle}", flush=True)
    possible = [fault for fault in faults if not fault.obstacle and options.only in fault.name]
    while True:
        chance.shuffle(possible)
        for fault in possible:
            yield fault, chance.uniform(options.longest / 5, options.longest), chance.uniform(0, options.calm)


def happen(fault: Fault, seconds: float, watch: Watch, manager: Manager, recoveries: Recoveries) -> str:
    """Let a fault happen, and wait until the site answers, and does jobs if the fault stops them.

    Return what does not come back; empty if everything does.
    """
    with ExitStack() as held:
        held.enter_context(fault.make())
        if fault.lasts:
            time.sleep(seconds)
        if not fault.is_lived_with:
            held.close()
        if not _measure(recoveries.pages[fault.name], lambda: watch.asked_at):
            return f"no page {BACK_SECONDS:.0f} s after “{fault.name}”"
        if fault.stops_jobs and not _measure(recoveries.jobs[fault.name], lambda: manager.began_at):
            return f"no job was done {BACK_SECONDS:.0f} s after “{fault.name}”"
    return ""


def _measure(seconds: list[float], read: Callable[[], float]) -> bool:
    """Wait until what began after now has succeeded, and append how long that took; False if it takes too long."""
    began = time.monotonic()
    if not wait_until(lambda: read() > began, BACK_SECONDS):
        return False
    seconds.append(time.monotonic() - began)
    return True
