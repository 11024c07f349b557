"""A run and a file of scores, for the paths of their pages."""

from contextlib import suppress
from typing import Any

from django.core.files.uploadedfile import TemporaryUploadedFile

from projects.importing import Options
from projects.models import Candidate, Membership, Project
from results.metrics import computing
from results.models import MetricRun, ScoreFile
from results.score_import import importing
from tests.routes import all_routes


def compute(project: Project, actor: Membership, name: str = "exact_match", **settings: Any) -> MetricRun:
    """A run of the project, computed now."""
    run = computing.request_run(project=project, actor=actor, name=name, settings=settings)
    computing.run(run.pk)
    run.refresh_from_db()
    assert run.state == MetricRun.State.DONE, run.error
    return run


def receive(project: Project, actor: Membership, content: str, name: str = "scores.csv") -> ScoreFile:
    """A file that is read now, and waits to be taken."""
    upload = TemporaryUploadedFile(name, "text/csv", len(content), "utf-8")
    upload.write(content.encode())
    upload.seek(0)
    job = importing.receive(project=project, actor=actor, upload=upload, options=Options())
    with suppress(FileNotFoundError):  # the file has moved to where uploads are kept
        upload.close()
    importing.run(job.pk)
    job.refresh_from_db()
    return job


def metric_samples(project: Project, actor: Membership, *, n_before: int = 0) -> dict[str, Any]:
    """Values for the paths of metrics and of files of scores; files count from one in each project."""
    run = compute(project, actor)
    candidate = Candidate.objects.judgeable_in(project).earliest("pk")
    content = f"dataset,candidate_id,bleurt\n{candidate.dataset.name},{candidate.external_id},0.5\nx,nobody,1\n"
    numbers = [receive(project, actor, content).number for _ in range(n_before + 2)]
    samples: dict[str, Any] = {}
    for route in all_routes():
        if route.name.startswith(("results:metric-", "api:metric-")):
            samples |= {f"{route.name} pk": run.pk, f"{route.name} form": "exe" if n_before else "csv"}
        if route.name.startswith("results:score-file"):
            samples[f"{route.name} number"] = numbers[-2]
    # No walk gives this one up, which would remove its files whatever becomes of the transaction.
    return samples | {"results:score-file-problems number": numbers[-1]}
