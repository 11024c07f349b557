"""Annotators at work on a running site, who send again what was not answered, and what must be stored afterwards."""

import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import TypeVar

from annotate.integrity.verifying import verify
from annotate.models import Assignment, Judgment
from projects.models import Project
from tests import processes
from tests.annotate.open_batches import assert_equation
from tests.factories import make_membership
from tests.raw_http import Visitor

T = TypeVar("T")
LOST = (OSError, http.client.HTTPException)


@dataclass
class Shift:
    """One annotator at work by raw HTTP: every submit is sent again until it is acknowledged, or the site is gone."""

    visitor: Visitor
    slug: str
    stop: threading.Event
    acknowledged: list[str] = field(default_factory=list)
    n_retries: int = 0
    wrong: list[str] = field(default_factory=list)

    def work(self) -> None:
        path = self._until_answered(partial(self.visitor.start, self.slug))
        while path and "/work/" in path and not self.stop.is_set():
            form = self._until_answered(partial(self.visitor.fill, path))
            if not form:
                return
            reply = self._until_answered(partial(self.visitor.post, path, form))
            if reply is None:
                return
            if reply.status != HTTPStatus.SEE_OTHER:
                self.wrong.append(f"{reply.status} {reply.text[:200]}")
                return
            self.acknowledged.append(path.rstrip("/").rsplit("/", 1)[1])
            path = reply.location

    def _until_answered(self, act: Callable[[], T]) -> T | None:
        until = time.monotonic() + processes.PATIENCE
        while time.monotonic() < until:
            try:
                return act()
            except AssertionError as error:
                self.wrong.append(str(error))
                return None
            except LOST:
                if self.stop.is_set():
                    return None
                self.n_retries += 1
                time.sleep(0.05)
        self.wrong.append("no answer for 20 s")
        return None


def hire(project: Project, url: str, stop: threading.Event, n: int = 6) -> list[Shift]:
    return [Shift(Visitor.of(make_membership(project), url), project.slug, stop) for _ in range(n)]


def start(shifts: list[Shift]) -> list[threading.Thread]:
    threads = [threading.Thread(target=shift.work, daemon=True) for shift in shifts]
    for thread in threads:
        thread.start()
    return threads


def assert_all_is_stored_once(shifts: list[Shift]) -> None:
    assert [wrong for shift in shifts for wrong in shift.wrong] == []
    acknowledged = [uuid for shift in shifts for uuid in shift.acknowledged]
    assert acknowledged
    submitted = Assignment.objects.submitted()
    assert {str(uuid) for uuid in submitted.values_list("uuid", flat=True)} >= set(acknowledged)
    assert len(acknowledged) == len(set(acknowledged))
    assert Judgment.objects.count() == 3 * submitted.count()
    assert_equation()
    assert verify() == []
