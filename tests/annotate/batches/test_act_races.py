"""Acts on a batch beside claims and beside each other: each is decided under the lock of the batch's row."""

import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.utils import timezone

from annotate import places, tasks
from annotate.batches import creating, lifecycle
from annotate.batches.control_plan import ControlPlan, clear_pool
from annotate.batches.creating import create_batch
from annotate.batches.terms import Terms
from annotate.controls.making import make_pool
from annotate.controls.pool import set_plan
from annotate.data.withdrawing import withdraw_candidate, withdraw_passage
from annotate.integrity import verifying
from annotate.models import Assignment, Batch, Hit, Item
from annotate.work import serving, submitting
from projects import log
from projects.errors import Refused
from projects.models import Candidate, LogEntry, Membership, Project
from projects.rubric import rubrics
from tests.annotate.controls.controlled_batches import make_places
from tests.annotate.open_batches import answered
from tests.concurrency import all_at_once, start_beside
from tests.factories import make_batch, make_corpus, make_membership, make_rubric

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]


def fetch() -> Batch:
    return Batch.objects.select_related("project", "rubric").get()


def make_open(project: Project) -> Batch:
    make_corpus(project, n_passages=4, n_candidates=2)
    batch = create_batch(project=project, actor=None, terms=Terms(judgments=2))
    lifecycle.open_batch(batch=batch, actor=None)
    return batch


def close_and_archive() -> None:
    lifecycle.close(batch=fetch(), actor=None)
    lifecycle.archive(batch=fetch(), actor=None)


@pytest.mark.parametrize("act", ["claim", "resume", "submit late"])
def test_archiving_waits_for_whoever_takes_a_place(
    project: Project, annotator: Membership, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    batch = make_open(project)
    name = {"claim": "take", "resume": "reopen", "submit late": "finish"}[act]
    found: Any = None
    if act != "claim":
        found = serving.claim(annotator)
        Assignment.objects.update(due_at=timezone.now() - timedelta(hours=1))
        tasks.sweep()
    archived: list[Any] = []
    write = getattr(places, name)

    def write_during_archiving(*arguments: Any, **over: Any) -> Any:
        archived.append(start_beside(close_and_archive))
        assert fetch().state == Batch.State.CLOSED, "archiving waits"
        return write(*arguments, **over)

    monkeypatch.setattr(places, name, write_during_archiving)
    if act == "claim":
        assert isinstance(serving.claim(annotator), uuid.UUID)
    elif act == "resume":
        submitting.reopen(annotator=annotator, assignment_uuid=found)
    else:
        submitting.submit(annotator=annotator, assignment_uuid=found, sent=answered(2))
    (outcome,) = [finish() for finish in archived]
    batch.refresh_from_db()
    if act == "submit late":
        assert (outcome, batch.state) == (None, Batch.State.ARCHIVED)
    else:
        assert isinstance(outcome, Refused)
        assert (outcome.message[:7], batch.state) == ("One HIT", Batch.State.CLOSED)
    assert verifying.verify() == []


def test_a_claim_that_waited_for_archiving_finds_nothing(
    project: Project, annotator: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = make_open(project)
    lifecycle.close(batch=batch, actor=None)
    record = log.record
    claims: list[Any] = []

    def record_during_claim(*arguments: Any, **over: Any) -> None:
        claims.append(start_beside(lambda: serving.claim(annotator)))
        record(*arguments, **over)

    monkeypatch.setattr(log, "record", record_during_claim)
    lifecycle.archive(batch=batch, actor=None)
    assert [type(finish()) for finish in claims] == [serving.NoWork]


def test_a_batch_opened_while_versions_are_pinned_keeps_the_rubric_it_freezes(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_corpus(project)
    batch = create_batch(project=project, actor=None, terms=Terms(judgments=1))
    newer = make_rubric(project)
    pinned: list[Any] = []
    freeze = rubrics.freeze

    def freeze_during_pinning(rubric: Any) -> None:
        pinned.append(start_beside(lambda: lifecycle.adopt_newest_texts(batch=fetch(), actor=None)))
        freeze(rubric)

    monkeypatch.setattr(rubrics, "freeze", freeze_during_pinning)
    lifecycle.open_batch(batch=batch, actor=None)
    (outcome,) = [finish() for finish in pinned]
    assert isinstance(outcome, Refused)
    assert fetch().rubric_id != newer.pk
    assert verifying.verify() == []


def test_a_candidate_withdrawn_while_a_batch_is_created_is_in_none_of_its_layouts(
    project: Project, manager: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidate = make_corpus(project, n_candidates=1).candidates.get()
    create = places.create_hits

    def withdraw() -> None:
        withdraw_candidate(project=project, actor=manager, candidate=candidate, why="Cut off.")

    def withdraw_before_creating(*arguments: Any) -> None:
        assert start_beside(withdraw)() is None
        create(*arguments)

    monkeypatch.setattr(places, "create_hits", withdraw_before_creating)
    batch = create_batch(project=project, actor=None, terms=Terms(judgments=2))
    assert Item.objects.get(hit__batch=batch).retired_at is not None
    assert Hit.objects.get(batch=batch).places_open == 0
    assert verifying.verify() == []


def test_a_withdrawal_waits_for_a_draft_that_is_cut_again(
    project: Project, manager: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the lock of withdrawals while it waits for items of the pool, which are deleted first."""
    dataset = make_places(project, n_passages=2, n_questions=2, n_candidates=4)
    batch = make_batch(project, is_open=False, hit_size=8, controls=ControlPlan(known_per_hit=1, degraded_per_hit=1))
    make_pool(batch=batch, actor=None)
    candidate = Candidate.objects.select_related("question__passage").filter(dataset=dataset).earliest("pk")
    withdrawn: list[Any] = []

    def clear_and_withdraw(of: Batch) -> None:
        clear_pool(of)
        withdrawn.append(
            start_beside(
                lambda: withdraw_passage(
                    project=project, actor=manager, passage=candidate.question.passage, why="Cut off."
                )
            )
        )

    monkeypatch.setattr(creating, "clear_pool", clear_and_withdraw)
    assert set_plan(batch=batch, actor=None, plan=ControlPlan(known_per_hit=4))
    (outcome,) = [finish() for finish in withdrawn]
    assert not isinstance(outcome, Exception), outcome
    assert Item.objects.get(candidate=candidate).retired_at is not None
    assert verifying.verify() == []


def press(task: tuple[str, Membership | None]) -> int:
    act, member = task
    acts: dict[str, Callable[..., object]] = {
        "open": lifecycle.open_batch,
        "pin": lifecycle.adopt_newest_texts,
        "pause": lifecycle.pause,
        "close": lifecycle.close,
        "archive": lifecycle.archive,
    }
    n = 0
    for _ in range(12):
        with suppress(Refused):
            if act in acts:
                acts[act](batch=fetch(), actor=member)
                n += 1
            elif act == "reopen":
                lifecycle.reopen(batch=fetch(), actor=member, why="More.")
            elif member is not None and isinstance(found := serving.claim(member), uuid.UUID):
                submitting.submit(annotator=member, assignment_uuid=found, sent=answered(2))
    return n


def test_acts_pressed_at_once_keep_every_rule(project: Project, owner: Membership) -> None:
    make_corpus(project, n_passages=6, n_candidates=2)
    create_batch(project=project, actor=None, terms=Terms(judgments=2))
    make_rubric(project)
    acts: list[tuple[str, Membership | None]] = [
        (act, owner) for act in ("open", "open", "pin", "pause", "close", "reopen", "archive")
    ]
    all_at_once(press, [*acts, *(("rate", make_membership(project)) for _ in range(5))])
    assert verifying.verify() == []
    moves = list(LogEntry.objects.filter(act__endswith=" batch").exclude(act="make batch").order_by("pk"))
    states = [((entry.before or {})["state"], (entry.after or {})["state"]) for entry in moves]
    assert all(before == after for (_, after), (before, _) in pairwise(states)), states
