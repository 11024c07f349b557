"""The project that is filled: who is in it, and the little that its parts share."""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from django.core.files.uploadedfile import TemporaryUploadedFile
from django.utils import timezone

from annotate.models import Assignment, Batch
from annotate.rating.sent import SentAnswers
from annotate.work import serving, submitting
from demo.annotators import SimulatedAnnotator
from projects.jobs.queue import Job
from projects.models import Membership, Project

ENDS = ("queued", "running", "failed", "cancelled", "interrupted")
"""The states of a job other than done."""


@dataclass
class Bay:
    """The project as it grows."""

    people: dict[str, Membership] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    crew: list[SimulatedAnnotator] = field(default_factory=list)
    work: dict[str, list[Assignment]] = field(default_factory=dict)
    """What each annotator submitted to the collection."""
    batches: dict[str, Batch] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Membership:
        return self.people[name]

    @property
    def project(self) -> Project:
        return self["owner"].project

    @property
    def by_manager(self) -> dict[str, Any]:
        """Arguments of an act on the project."""
        return {"project": self.project, "actor": self["manager"]}

    def claim(self, name: str) -> Assignment:
        found = serving.claim(self[name])
        assert isinstance(found, uuid.UUID), (name, found)
        return Assignment.objects.get(uuid=found)

    def rate(self, name: str, value: float, **over: Any) -> Assignment:
        return submit(self.claim(name), value, **over)


def submit(assignment: Assignment, value: float, **over: Any) -> Assignment:
    sent = answers(assignment, value, **over)
    submitting.submit(annotator=assignment.annotator, assignment_uuid=assignment.uuid, sent=sent)
    assignment.refresh_from_db()
    return assignment


def answers(assignment: Assignment, value: float, **over: Any) -> SentAnswers:
    """A form with an answer to everything, from this value on by turns."""
    values: dict[int, dict[str, float | str]] = {
        place: {"correctness": float(1 + (value + place) % 5), "completeness": 20.0 * value}
        for place in range(len(assignment.layout))
        if place not in over.get("cannot", {})
    }
    return SentAnswers(values=values, seconds=[6.0] * len(assignment.layout), **over)


@contextmanager
def uploaded(name: str, content: bytes) -> Iterator[TemporaryUploadedFile]:
    """A file as a browser sends it; the act moves it to where uploads are kept."""
    sent = TemporaryUploadedFile(name, "text/plain", len(content), "utf-8")
    sent.write(content)
    sent.seek(0)
    yield sent
    with suppress(FileNotFoundError):
        sent.close()


def write_csv(rows: Sequence[Sequence[str]]) -> bytes:
    return "".join(",".join(row) + "\n" for row in rows).encode()


def end(job: Job, state: str) -> None:
    """What a worker that died, a fault or a person makes of a job."""
    now = timezone.now()
    changes: dict[str, Any] = {"state": state}
    if state in ("running", "interrupted"):
        changes |= {"attempt": 1, "started_at": now, "beat_at": now, "done": 3, "total": 9}
    if state == "interrupted":
        changes["n_interruptions"] = 2
    if state in ("failed", "cancelled"):
        changes["finished_at"] = now
    if state == "failed":
        changes["error"] = "An unexpected error occurred."
    type(job)._default_manager.filter(pk=job.pk).update(**changes)
