import pytest

from projects.jobs import queue
from projects.jobs.queue import Job


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The jobs that were announced to the broker, which is replaced."""
    found: list[tuple[str, int]] = []

    def announce(job: Job) -> bool:
        found.append((job.task, job.pk))
        return True

    monkeypatch.setattr(queue, "announce", announce)
    return found
