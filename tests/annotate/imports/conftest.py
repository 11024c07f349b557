"""The pages of imports as a manager uses them, with files of the test's own and no worker."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from projects.jobs import queue
from projects.jobs.queue import Job
from projects.models import Membership, Project
from tests.annotate.imports.import_steps import Pages


@pytest.fixture
def own_folder(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []

    def announce(job: Job) -> bool:
        found.append(job.pk)
        return True

    monkeypatch.setattr(queue, "announce", announce)
    return found


@pytest.fixture
def pages(
    project: Project,
    manager: Membership,
    client_of: Callable[[Membership], Client],
    own_folder: None,
    announced: list[int],
) -> Pages:
    return Pages(client_of(manager), project)
