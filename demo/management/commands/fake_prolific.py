"""Serve a fake of Prolific on this machine, with simulated participants."""

import random
import threading
import time
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from demo.fake_prolific.api import TOKEN, Api
from demo.fake_prolific.browser import PlainBrowser
from demo.fake_prolific.http_server import send, serve
from demo.fake_prolific.participants import Participant, recruit
from demo.fake_prolific.platform import Event, Platform
from demo.fake_prolific.request_checks import BadRequest
from projects.commands import ReportingCommand
from projects.options import MOST_PORT, whole_number

MOST_AT_ONCE = 4
PAUSE_SECONDS = 0.5


class Command(ReportingCommand):
    help = (
        "Serve a fake of Prolific on this machine, to rehearse a study from draft to payment: nothing is paid and "
        "nobody is asked. Simulated participants come to every study that is published there. Ends with Ctrl+C."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        port = whole_number(least=0, most=MOST_PORT)  # 0 is any free one
        parser.add_argument("--port", type=port, default=8199, help="port on this machine (default 8199)")
        parser.add_argument("--participants", type=int, default=200, help="how many come at most (default 200)")
        parser.add_argument("--seconds", type=float, default=0.0, help="end after so many seconds (default: never)")
        parser.add_argument("--seed", type=int, default=7, help="seed for what the participants do (default 7)")

    def handle(self, *args: Any, port: int, participants: int, seconds: float, seed: int, **options: Any) -> None:
        platform = Platform(seed=seed)
        with serve(Api(platform), port=port) as url:
            if not self.as_json:
                self.stdout.write(_explain(url))
            with suppress(KeyboardInterrupt):
                self._run(platform, n_most=participants, seconds=seconds, seed=seed)
        statuses = [row["status"] for row in platform.submissions.values()]
        counts = {status: statuses.count(status) for status in sorted(set(statuses))}
        self.answer({"participants": len(statuses), "submissions": counts, "bonuses_paid": len(platform.paid)})

    def _run(self, platform: Platform, *, n_most: int, seconds: float, seed: int) -> None:
        chance, began, n = random.Random(seed), time.monotonic(), 0  # noqa: S311 - no secret
        while not seconds or time.monotonic() - began < seconds:
            platform.settle()
            with platform.lock:
                events, platform.outbox = platform.outbox, []
            for event in events:
                self._send(event)
            if n < n_most and threading.active_count() < MOST_AT_ONCE + 2:
                person = recruit(platform, PlainBrowser, chance=chance, say=self._say)
                if person is not None:
                    n += 1
                    threading.Thread(target=self._live, args=[person], daemon=True).start()
                    continue
            time.sleep(PAUSE_SECONDS)

    def _live(self, person: Participant) -> None:
        try:
            person.live()
        except (BadRequest, OSError, ValueError) as error:
            self._say(f"{person.submission[:6]}… stopped: {error}")

    def _send(self, event: Event) -> None:
        try:
            status = send(event)
        except OSError as error:
            self._say(f"A message to {event.url} failed: {error}")
            return
        if status != 200:
            self._say(f"A message to {event.url} was answered with {status}.")

    def _say(self, line: str) -> None:
        if not self.as_json:
            self.stdout.write(line)


def _explain(url: str) -> str:
    used = url == settings.PROLIFIC_API_URL
    advice = "This site uses it." if used else f"Start the site with PROLIFIC_API_URL={url} to use it."
    return f"A fake of Prolific is at {url}. {advice} Connect the account with the token “{TOKEN}”. Ctrl+C ends it.\n"
