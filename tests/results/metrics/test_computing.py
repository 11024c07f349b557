"""Metrics over the candidates of a project, as a job: what is scored, stored, replaced, cancelled and refused."""

from types import ModuleType
from typing import Any

import pytest
from django.core.checks import run_checks
from pytest_django import Settings

from projects.errors import Refused
from projects.jobs import queue
from projects.jobs.queue import Job
from projects.models import Candidate, Membership, Project, Reference
from results.metrics import candidate_slices as metrics_answers
from results.metrics import computing
from results.models import MetricRun, MetricScore
from tests.concurrency import all_at_once
from tests.factories import make_candidates, make_dataset, make_passage, make_question
from tests.results.metrics.samples import compute

pytestmark = pytest.mark.django_db


@pytest.fixture
def corpus(project: Project) -> Project:
    """Five candidates of two questions; one is withdrawn, one has no reference."""
    passage = make_passage(make_dataset(project, "narrative"), "p1", text="x" * 12)
    mat = make_question(passage, "mat", references=("on the mat", "the mat"))
    make_candidates(mat, external_id="right", text="The mat.")
    make_candidates(mat, external_id="wrong", text="a dog")
    make_candidates(mat, external_id="withdrawn", text="gone")
    Candidate.objects.filter(external_id="withdrawn").update(withdrawn_at="2026-01-01T00:00Z")
    make_candidates(make_question(passage, "open", references=()), external_id="alone", text="4444")
    make_candidates(make_question(passage, "sat"), external_id="long", text="sat on the mat")
    return project


def stored(run: MetricRun) -> dict[str, float | str]:
    rows = run.scores.values_list("candidate__external_id", "value", "reason")
    return {name: reason if value is None else value for name, value, reason in rows}


def test_every_candidate_that_may_be_judged_has_a_score_or_a_reason(corpus: Project, researcher: Membership) -> None:
    run = compute(corpus, researcher, tokeniser="squad")
    assert (run.state, run.n_scored, run.n_refused) == (Job.State.DONE, 3, 1)
    assert stored(run) == {"right": 1.0, "wrong": 0.0, "alone": "no reference", "long": 0.0}
    assert run.report["reasons"] == {"no reference": 1}
    assert run.settings == {"against": "all", "tokeniser": "squad"}
    assert run.report["about"]["tokenisation"] == "squad"
    assert run.report["about"]["versions"]["Concord"]
    assert not MetricScore.objects.exclude(counts=None).exists(), "a mean needs nothing but its scores"


def test_a_new_run_of_a_metric_takes_the_place_of_the_older_one_but_not_of_other_settings(
    corpus: Project, researcher: Membership
) -> None:
    first, other = compute(corpus, researcher), compute(corpus, researcher, tokeniser="characters")
    Reference.objects.create(question=corpus.datasets.get().questions.get(external_id="open"), position=0, text="4444")
    again = compute(corpus, researcher)
    assert stored(again)["alone"] == 1.0
    assert set(MetricRun.objects.newest()) == {again, other}
    assert not MetricRun.objects.filter(pk=first.pk).exists()
    assert not MetricScore.objects.filter(run_id=first.pk).exists()


def test_who_asks_for_what_is_under_way_gets_that_run(corpus: Project, researcher: Membership) -> None:
    asked = [computing.request_run(project=corpus, actor=researcher, name="exact_match", settings={}) for _ in range(2)]
    assert asked[0] == asked[1]
    assert corpus.log.filter(act="run metric").count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
def test_of_many_who_ask_at_the_same_moment_one_makes_the_run(corpus: Project, researcher: Membership) -> None:
    def ask(_n: int) -> int:
        return computing.request_run(project=corpus, actor=researcher, name="exact_match", settings={}).pk

    assert len(set(all_at_once(ask, range(6)))) == 1
    assert MetricRun.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "chosen", "messages"),
    [
        ("exakt", {}, "no metric “exakt”"),
        ("exact_match", {"tokeniser": "klingon"}, "tokeniser must be one of"),
        ("exact_match", {"speed": 3}, "no setting “speed”"),
        ("absent", {}, "unobtainium.bin"),
    ],
)
def test_what_cannot_be_computed_is_refused_by_name(
    corpus: Project, researcher: Membership, outside: ModuleType, name: str, chosen: dict[str, Any], messages: str
) -> None:
    with pytest.raises(Refused, match=messages):
        computing.request_run(project=corpus, actor=researcher, name=name, settings=chosen)
    assert not MetricRun.objects.exists()


def test_a_project_without_candidates_has_nothing_to_score(project: Project, researcher: Membership) -> None:
    with pytest.raises(Refused, match="No candidates to score"):
        computing.request_run(project=project, actor=researcher, name="exact_match", settings={})


def test_a_metric_from_outside_is_got_ready_once_and_scores_in_batches_with_progress(
    corpus: Project, researcher: Membership, outside: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics_answers, "SLICE", 3)
    Candidate.objects.filter(external_id="wrong").update(text="not a number")
    reported: list[tuple[int, int]] = []
    run = computing.request_run(project=corpus, actor=researcher, name="likeness", settings={"power": 2})
    changes = computing.compute(run, lambda done, total: reported.append((done, total)))
    assert outside.HAPPENED == ["opened", "batch of 2", "batch of 1", "closed"]
    assert reported[0] == (0, 4)
    assert reported[-1] == (4, 4)
    assert reported == sorted(reported)
    assert changes["report"]["notes"] == {"finite scores": 2}
    assert changes["report"]["about"]["versions"]["numpy"]
    computing.run(run.pk)
    assert stored(run) == {"right": 64, "wrong": "the metric gave no number", "alone": "no reference", "long": 196}


def test_a_cancel_is_heard_between_two_batches_and_stores_nothing(
    corpus: Project, researcher: Membership, outside: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = computing.request_run(project=corpus, actor=researcher, name="likeness", settings={})

    def cancel_and_go_on(metric: Any, answers: Any) -> Any:
        queue.cancel(MetricRun.objects.get(pk=run.pk))
        return [1.0] * len(answers)

    monkeypatch.setattr(outside.Likeness, "score_each", cancel_and_go_on)
    monkeypatch.setattr("projects.jobs.running.Heartbeat.on_progress", _ask_the_row)
    assert computing.run(run.pk) == Job.State.CANCELLED
    assert outside.HAPPENED == ["opened", "closed"]
    assert not MetricScore.objects.exists()


def test_statistics_are_kept_where_the_score_of_many_is_not_a_mean(
    corpus: Project, researcher: Membership, outside: ModuleType
) -> None:
    run = compute(corpus, researcher, "ratio")
    counts = {score.candidate.external_id: score.counts for score in run.scores.select_related("candidate")}
    assert counts == {"right": [12, 8], "wrong": [12, 5], "alone": None, "long": [12, 14]}
    assert run.report["about"]["high"] is None


def test_a_module_that_is_not_there_is_named_by_check(settings: Settings) -> None:
    settings.METRIC_MODULES = ["no.such.module"]
    messages = [error.msg for error in run_checks(tags=["metrics"])]
    assert len(messages) == 1
    assert "no.such.module" in messages[0]


def _ask_the_row(heart: Any, done: int, total: int) -> None:
    """What a beat would have heard by now, without the wait for it."""
    from projects.jobs.running import Cancelled

    if MetricRun.objects.filter(cancel_requested_at__isnull=False).exists():
        raise Cancelled
