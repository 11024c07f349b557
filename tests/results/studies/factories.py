"""Studies in tests: scores that a metric gave, and a study asked for and done at once, in this process."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils import timezone

from projects.jobs import running
from projects.models import Candidate, Membership, Project
from results.metrics.registry import make_metric_key
from results.models import MetricRun, MetricScore, Study
from results.studies import running as studying
from results.studies.settings import Settings, default_settings
from tests.routes import all_routes

REFUSED = "no reference"


def give_scores(
    project: Project, actor: Membership, title: str, scores: Mapping[int, float | None], **over: Any
) -> MetricRun:
    """A run that is done, with a score for each candidate by its id; None is one that was refused."""
    made = {"origin": MetricRun.Origin.UPLOADED, "metric": title.lower(), "settings": {}, **over}
    run = MetricRun.objects.create(
        project=project,
        requested_by=actor,
        title=title,
        subject=make_metric_key(made["origin"], title, made["settings"]),
        state=MetricRun.State.DONE,
        finished_at=timezone.now(),
        n_scored=sum(value is not None for value in scores.values()),
        n_refused=sum(value is None for value in scores.values()),
        **made,
    )
    MetricScore.objects.bulk_create(
        MetricScore(run=run, candidate_id=candidate, value=value, reason="" if value is not None else REFUSED)
        for candidate, value in scores.items()
    )
    return run


def list_candidates(project: Project) -> list[Candidate]:
    rows = Candidate.objects.in_project(project).select_related("question").prefetch_related("question__references")
    return list(rows.order_by("pk"))


def make_settings(project: Project, runs: Iterable[MetricRun], criterion: str = "correctness", **over: Any) -> Settings:
    subjects = tuple(run.subject for run in runs)
    return Settings(**{**default_settings(project), "criterion": criterion, "metrics": subjects, **over})


def study(
    project: Project,
    actor: Membership,
    runs: Iterable[MetricRun],
    kind: str = "correlation",
    seed: int = 1,
    **over: Any,
) -> Study:
    """A study of these metrics, done now; it may have failed."""
    settings = make_settings(project, runs, **over)
    return do(studying.request_study(project=project, actor=actor, kind=kind, settings=settings, seed=seed))


def do(made: Study) -> Study:
    """What the worker does."""
    running.run(Study, made.pk, studying.run, only_reads=True)
    made.refresh_from_db()
    return made


def study_samples(project: Project, actor: Membership, *, n_before: int = 0) -> dict[str, Any]:
    """A study that is done over whatever was judged in a project, for the paths of its pages; after so many others."""
    run = give_scores(project, actor, "Sample metric", {each.pk: each.pk % 7 / 7 for each in list_candidates(project)})
    criterion = project.rubrics.order_by("-version")[0].criteria.order_by("position")[0].key
    made = [study(project, actor, [run], criterion=criterion, n_resamples=100) for _ in range(1 + n_before)][-1]
    assert made.state == Study.State.DONE, made.error
    names = [route.name for route in all_routes() if route.name.startswith(("results:study-", "api:study-"))]
    return {f"{name} number": made.number for name in names}
