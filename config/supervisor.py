"""The supervisor of `manage.py serve`: it restarts processes that end, and stops all of them together."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from types import FrameType

from config import forks
from config.data_folder import NotAvailable

LOOK_SECONDS = 0.1  # between looks at the children
LONGEST_PAUSE_SECONDS = 30.0  # before a program that keeps failing starts again
STEADY_SECONDS = 60.0  # a program that ran this long starts again without a longer pause
GRACE_SECONDS = 30.0  # after SIGTERM, for requests and jobs under way
HASTE_SECONDS = 0.7  # after Ctrl+C


@dataclass
class Child:
    """A program in a fork, which is restarted when it ends, after a pause that doubles while it keeps failing."""

    name: str
    command: Sequence[str]
    """The name of its module, and its arguments."""
    hasty_signal: signal.Signals
    process: BaseProcess | None = None
    started_at: float = 0.0
    pause_seconds: float = 0.5
    due_at: float = field(default_factory=time.monotonic)

    def start(self) -> None:
        self.process = forks.start_program(self.command)
        self.started_at = time.monotonic()

    def is_running(self) -> bool:
        return self.process is not None and self.process.exitcode is None

    def look_after(self, say: Callable[[str], None]) -> None:
        now = time.monotonic()
        if self.is_running():
            return
        if self.process is not None:
            self._plan_next_start(now, say)
        if now >= self.due_at:
            try:
                self.start()
            except OSError as error:  # such as no memory for another process
                say(f"The {self.name} can't start: {error}.")
                self._wait_longer(now)

    def _plan_next_start(self, now: float, say: Callable[[str], None]) -> None:
        self.sweep()
        ended, self.process = self.process, None
        if now - self.started_at > STEADY_SECONDS:
            self.pause_seconds = 0.5
        self._wait_longer(now)
        code = ended.exitcode if ended else 0
        say(f"The {self.name} ended (exit {code}); it starts again in {self.pause_seconds:.0f} s.")

    def _wait_longer(self, now: float) -> None:
        self.pause_seconds = min(self.pause_seconds * 2, LONGEST_PAUSE_SECONDS)
        self.due_at = now + self.pause_seconds

    def sweep(self) -> None:
        """Kill processes that the program may have left running, such as web workers or the beat."""
        if self.process is None or self.process.pid is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()  # it may not have had the time to get a group of its own
        self.process.join()

    def signal(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.pid is not None and self.is_running():
            os.kill(self.process.pid, number)


class Upkeep:
    """Keeps what the children need running, after pauses that double while that fails, and says once what is wrong.

    `ensure` raises NotAvailable or OSError if it fails; `find_trouble` returns what is wrong with what runs.
    """

    def __init__(
        self,
        ensure: Callable[[], None],
        find_trouble: Callable[[], str],
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ensure, self.find_trouble, self.say, self.clock = ensure, find_trouble, say, clock
        self.pause_seconds, self.due_at, self.last_message = 0.5, 0.0, ""

    def look(self) -> None:
        if self.clock() < self.due_at:
            return
        try:
            self.ensure()
            trouble = self.find_trouble()
        except (NotAvailable, OSError) as reason:
            trouble = str(reason)
            self.pause_seconds = min(2 * self.pause_seconds, LONGEST_PAUSE_SECONDS)
        else:
            self.pause_seconds = 0.5
        self.due_at = self.clock() + self.pause_seconds
        # How long until the next attempt changes; the first line is the same for one cause.
        if trouble.partition("\n")[0] != self.last_message.partition("\n")[0]:
            self.say(f"\n{trouble}" if trouble else "\nThe private servers run again.")
            self.last_message = trouble


class Stopped(Exception):
    """A signal asks the supervisor to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.is_hasty = number == signal.SIGINT


def supervise(
    children: Sequence[Child],
    *,
    say: Callable[[str], None],
    on_ready: Callable[[], bool],
    each_second: Callable[[], None],
) -> None:
    """Run the children until SIGINT (all end within a second) or SIGTERM (requests and jobs are finished first).

    `on_ready` is called until it returns true, `each_second` about once a second.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    is_ready, looked_at = False, time.monotonic()
    try:
        while True:
            for child in children:
                child.look_after(say)
            is_ready = is_ready or on_ready()
            if time.monotonic() - looked_at > 1:
                each_second()
                looked_at = time.monotonic()
            time.sleep(LOOK_SECONDS)
    except Stopped as stopped:
        end(children, is_hasty=stopped.is_hasty)
    except BaseException:
        end(children, is_hasty=True)
        raise


def end(children: Sequence[Child], *, is_hasty: bool) -> None:
    """Signal the children, wait until they end or time is up, and kill the rest. Another Ctrl+C shortens the wait."""
    for child in children:
        child.signal(child.hasty_signal if is_hasty else signal.SIGTERM)
    deadline = time.monotonic() + (HASTE_SECONDS if is_hasty else GRACE_SECONDS)
    while any(child.is_running() for child in children) and time.monotonic() < deadline:
        try:
            time.sleep(0.02)
        except Stopped as again:
            deadline = time.monotonic() + (0 if again.is_hasty else GRACE_SECONDS)
    for child in children:
        child.sweep()


def _stop(number: int, _: FrameType | None) -> None:
    raise Stopped(number)
