"""The fake platform in a thread, with a clock that tests set."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.test import Client
from django.utils import timezone

from annotate.prolific.calling import Client as ApiClient
from demo.fake_prolific.api import TOKEN, Api, Fault
from demo.fake_prolific.http_server import serve
from demo.fake_prolific.platform import Event, Platform


@dataclass
class Fake:
    """A platform, its API, and what tests do with them."""

    platform: Platform
    api: Api
    url: str
    now: datetime = field(default_factory=timezone.now)
    waits: list[float] = field(default_factory=list)

    def client(self, **over: Any) -> ApiClient:
        """A client that notes how long it would wait, and doesn't."""
        return ApiClient(**{"url": self.url, "token": TOKEN, "patience": 60.0, "sleep": self.waits.append, **over})

    def fail(self, kind: str, path: str = ".*", **over: Any) -> None:
        self.api.faults.append(Fault(kind, path=path, **over))

    def pass_time(self, **over: float) -> None:
        self.now += timedelta(**over)

    def deliver(self, events: list[Event] | None = None) -> list[int]:
        """Send the messages that wait, or these, in this order; return the statuses of the answers."""
        if events is None:
            events, self.platform.outbox = self.platform.outbox, []
        return [post(event).status_code for event in events]

    def count_calls(self, method: str, end: str) -> int:
        return sum(each == method and path.endswith(end) for each, path in self.api.calls)


@contextmanager
def fake_prolific(**over: Any) -> Iterator[Fake]:
    found: list[Fake] = []
    platform = Platform(clock=lambda: found[0].now if found else timezone.now(), **over)
    api = Api(platform)
    with serve(api) as url:
        found.append(Fake(platform, api, url))
        yield found[0]


def post(event: Event, **over: str) -> Any:
    """Send a message to this site, with other headers where given."""
    headers = {**event.headers, **over}
    path = "/" + event.url.split("/", 3)[3]
    return Client().post(path, event.body, content_type="application/json", headers=headers)


def study_values(**over: Any) -> dict[str, Any]:
    """A study that the API accepts."""
    return {
        "name": "Rate answers",
        "description": "Read a text and rate answers.",
        "external_study_url": "https://site.example/panel/x/?PROLIFIC_PID={{%PROLIFIC_PID%}}",
        "prolific_id_option": "url_parameters",
        "completion_codes": [{"code": "DONE", "code_type": "COMPLETED", "actions": [{"action": "MANUALLY_REVIEW"}]}],
        "reward": 200,
        "total_available_places": 10,
        "estimated_completion_time": 10,
        **over,
    }
