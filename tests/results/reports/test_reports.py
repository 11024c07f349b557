from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import pytest
from django.core.cache import cache
from django.db import IntegrityError
from django.db.models import QuerySet

from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.frames.judgments_frame import fetch_judgments
from projects import log
from projects.jobs.queue import Job
from projects.jobs.running import OnProgress, run
from projects.models import Act, Membership, Project
from results.models import Report
from results.reports import reports
from tests.results.judged_batches import canonical

pytestmark = pytest.mark.django_db

HALF = {"of": "half"}
CALLS: list[Mapping[str, Any]] = []


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Mapping[str, Any]]]:
    """A kind of figures that says how often it was computed."""
    calls: list[Mapping[str, Any]] = []
    monkeypatch.setitem(reports.KINDS, "counted", f"{__name__}.count_calls")
    monkeypatch.setattr(f"{__name__}.CALLS", calls)
    yield calls
    cache.clear()


def count_calls(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    CALLS.append(settings)
    return {"n": len(CALLS)}


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch, project: Project) -> Project:
    canonical(project)
    monkeypatch.setattr(reports, "AT_ONCE", 5)
    return project


def ask(project: Project, actor: Membership) -> Report:
    return reports.request_report(project=project, actor=actor, kind="counted", settings=HALF)


def test_few_judgments_are_computed_at_once_and_kept_until_something_happens(
    project: Project, manager: Membership, counted: list[Any]
) -> None:
    canonical(project)
    first = reports.find_report(project, "counted", HALF)
    assert (first.figures, first.is_current, first.can_be_asked) == ({"n": 1}, True, False)
    assert reports.find_report(project, "counted", HALF).figures == {"n": 1}
    assert reports.find_report(project, "counted", {"of": "all"}).figures == {"n": 2}, "another question"
    log.record(project, manager, Act.SPLIT_PASSAGES, after={})
    assert reports.find_report(project, "counted", HALF).figures == {"n": 3}
    assert not Report.objects.exists(), "looking stores nothing"


def test_many_judgments_wait_for_a_job_that_is_made_once(
    large: Project, manager: Membership, researcher: Membership, counted: list[Any]
) -> None:
    before = reports.find_report(large, "counted", HALF)
    assert (before.figures, before.can_be_asked) == (None, True)
    report = ask(large, researcher)
    assert ask(large, manager) == report, "who asks meanwhile gets the same job"
    waiting = reports.find_report(large, "counted", HALF)
    assert (waiting.figures, waiting.under_way, waiting.can_be_asked) == (None, report, False)
    assert run(Report, report.pk, reports.make, only_reads=True) == Job.State.DONE
    made = reports.find_report(large, "counted", HALF)
    assert (made.figures, made.is_current, len(counted)) == ({"n": 1}, True, 1)


def test_whoever_lost_a_race_gets_the_job_even_if_it_has_ended_since(
    large: Project, researcher: Membership, counted: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = ask(large, researcher)
    run(Report, report.pk, reports.make, only_reads=True)

    def lose(*_: object, **__: object) -> NoReturn:
        raise IntegrityError

    monkeypatch.setattr(QuerySet, "get_or_create", lose)
    assert ask(large, researcher) == report


def test_figures_of_an_older_state_are_called_so(large: Project, researcher: Membership, counted: list[Any]) -> None:
    report = ask(large, researcher)
    run(Report, report.pk, reports.make, only_reads=True)
    log.record(large, researcher, Act.SPLIT_PASSAGES, after={})
    old = reports.find_report(large, "counted", HALF)
    assert (old.figures, old.report, old.is_current, old.can_be_asked) == ({"n": 1}, report, False, True)
    newer = ask(large, researcher)
    assert reports.find_report(large, "counted", HALF).under_way == newer


def test_a_report_that_failed_is_shown_beside_the_older_figures(
    large: Project, researcher: Membership, counted: list[Any]
) -> None:
    run(Report, ask(large, researcher).pk, reports.make, only_reads=True)
    log.record(large, researcher, Act.SPLIT_PASSAGES, after={})

    def fail(report: Report, on_progress: OnProgress) -> dict[str, Any]:
        raise RuntimeError

    run(Report, ask(large, researcher).pk, fail, only_reads=True)
    standing = reports.find_report(large, "counted", HALF)
    assert standing.figures == {"n": 1}
    assert standing.under_way is not None
    assert standing.under_way.state == Job.State.FAILED
    assert standing.can_be_asked


def test_only_the_newest_reports_are_kept(
    large: Project, researcher: Membership, counted: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        run(Report, ask(large, researcher).pk, reports.make, only_reads=True)
    live = ask(large, researcher)
    monkeypatch.setattr(reports, "MOST_KEPT", 2)
    reports.forget_old()
    assert list(Report.objects.order_by("id").values_list("result__n", flat=True)) == [3, None]
    assert Report.objects.get(pk=live.pk).is_live


def test_the_long_frame_holds_what_counts(project: Project) -> None:
    canonical(project)
    scope = Scope(project=project, criterion=criteria_in_use(project)[0])
    frame = fetch_judgments(scope)
    assert len(frame) == 41, "Krippendorff's example has 41 ratings, the unit with one included"
    assert list(frame) == [
        *("unit", "group", "annotator", "value", "dataset", "split", "source", "question_type", "batch", "stage", "day")
    ]
    assert frame["annotator"].nunique() == 4
    assert frame["split"].notna().all()
    assert len(fetch_judgments(Scope(project=project, criterion=scope.criterion, dataset="none such"))) == 0
