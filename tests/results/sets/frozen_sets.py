"""Freezing in tests: a set asked for, and its job done at once, in this process."""

import csv
import io
import json
import zipfile
from typing import Any

from projects.models import Membership, Project
from results.models import JudgmentSet
from results.sets import freezing
from results.sets.settings import Settings
from tests.routes import all_routes


def freeze(project: Project, actor: Membership, name: str = "First", **over: Any) -> JudgmentSet:
    """A set of the project, frozen now."""
    made = freezing.request_set(project=project, actor=actor, name=name, settings=Settings(**over))
    freezing.run(made.pk)
    made.refresh_from_db()
    assert made.state == JudgmentSet.State.DONE, made.error
    return made


def set_samples(project: Project, actor: Membership, *, n_before: int = 0) -> dict[str, Any]:
    """A frozen set of a project that has judgments, for the paths of its pages; after so many that wait."""
    for number in range(n_before):
        JudgmentSet.objects.create(
            project=project, number=number + 1, name="Waiting", settings=Settings().as_dict(), requested_by=actor
        )
    made = project.judgment_sets.frozen().first() or freeze(project, actor)
    names = [route.name for route in all_routes() if route.name.startswith(("results:set-", "api:set-"))]
    numbers = {f"{name} number": made.number for name in names}
    return {**numbers, "results:set-file name": "long.csv", "api:set-file name": "long.csv"}


def read(made: JudgmentSet, name: str) -> bytes:
    """One file of a set, out of its archive."""
    with zipfile.ZipFile(freezing.find_path(made)) as archive:
        return archive.read(f"{made.facts['folder']}/{name}")


def list_names(made: JudgmentSet) -> list[str]:
    return [file["name"] for file in made.files]


def table(made: JudgmentSet, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(read(made, name).decode(), newline="")))


def lines(made: JudgmentSet, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in read(made, name).splitlines()]
