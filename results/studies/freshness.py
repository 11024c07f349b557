"""Whether an evaluation was computed from the current judgments: its result names their version."""

import json
from collections.abc import Iterable
from datetime import UTC
from typing import Any

from django.db.models.fields.json import KT

from annotate.frames.kept import read_version
from projects.models import Project
from results.models import Study

VERSION = "judgments_version"


def describe_version(project: Project) -> list[Any]:
    """Return the version of the judgments as the JSON of a result holds it."""
    n_acts, n_submitted, last = read_version(project)
    return [n_acts, n_submitted, last and last.astimezone(UTC).isoformat()]


def is_outdated(study: Study) -> bool | None:
    """Return whether judgments have changed since; None without a result, or for one that names no version."""
    known = (study.result or {}).get(VERSION)
    return None if known is None else known != describe_version(study.project)


def find_outdated(project: Project, studies: Iterable[Study]) -> set[int]:
    """Return the numbers of those since which judgments have changed; their results need not be read."""
    rows = project.studies.filter(pk__in=[study.pk for study in studies]).exclude(result=None)
    known = rows.values_list("number", KT(f"result__{VERSION}"))
    now = describe_version(project)
    return {number for number, version in known if version is not None and json.loads(version) != now}
