"""Jobs for tests: an import in any state."""

from typing import Any

from annotate.models import Import
from projects.models import Membership


def make_job(manager: Membership, **over: Any) -> Import:
    made = {"step": Import.Step.CHECK, "kind": Import.Kind.CANDIDATES, "file_name": "a.csv", "sha256": "0" * 64, **over}
    number = Import.objects.count() + 1
    job = Import.objects.create(project=manager.project, number=number, requested_by=manager, **made)
    job.refresh_from_db()
    return job
