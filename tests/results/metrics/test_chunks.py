"""Scoring in chunks by several workers: the same scores as in one piece, lost workers, cancelling, and resuming."""

import threading
from collections.abc import Callable
from datetime import timedelta
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now

from projects.errors import Refused
from projects.jobs import queue, running, slots
from projects.jobs.queue import Job
from projects.models import Candidate, Membership, Project
from results.metrics import chunk_scores, chunks, computing, registry
from results.models import MetricChunk, MetricRun, MetricScore
from tests.factories import make_candidates, make_dataset, make_passage, make_question
from tests.processes import wait_until
from tests.results.metrics.samples import compute

State = Job.State
WORDS = ["on", "the", "mat", "the", "cat", "sat", "and", "a", "dog", "barked", "at", "the", "moon"]


@pytest.fixture
def corpus(project: Project) -> Project:
    """Thirteen candidates of seven questions in two datasets, one withdrawn; a question has no reference."""
    for number in range(7):
        if number % 4 == 0:
            passage = make_passage(make_dataset(project, f"set {number}"), "p")
        text = " ".join(WORDS[number : number + 5])
        question = make_question(passage, f"q{number}", references=() if number == 5 else (text, "the mat"))
        make_candidates(question, external_id=f"a{number}", text=" ".join(WORDS[number : number + 4]), source="human")
        make_candidates(question, external_id=f"b{number}", text=f"{text} {number}", source=f"system {number % 2}")
    Candidate.objects.filter(external_id="b6").update(withdrawn_at="2026-01-01T00:00Z")
    return project


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The chunks that were announced to other workers, of which there are none."""
    found: list[Job] = []

    def announce(job: Job) -> bool:
        found.extend([job] if isinstance(job, MetricChunk) else [])
        return True

    monkeypatch.setattr(queue, "announce", announce)
    return found


@pytest.fixture
def in_chunks(monkeypatch: pytest.MonkeyPatch, announced: list[Job]) -> None:
    monkeypatch.setattr(chunks, "SHARED_FROM", 5)
    monkeypatch.setattr(chunks, "CHUNK", 4)
    monkeypatch.setattr(chunks, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(chunks, "REVIVE_SECONDS", 0)


def read_scores(run: MetricRun) -> list[tuple[Any, ...]]:
    return list(run.scores.order_by("candidate_id").values_list("candidate_id", "value", "reason", "counts"))


def request(project: Project, actor: Membership, name: str = "bleu_2") -> MetricRun:
    return computing.request_run(project=project, actor=actor, name=name, settings={}, is_enqueued=False)


def elsewhere(act: Callable[[], object]) -> None:
    """Do it in a thread with its own connection, and wait for it."""

    def work() -> None:
        try:
            act()
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.mark.django_db(transaction=True)
def test_scores_in_chunks_are_those_in_one_piece(
    corpus: Project, researcher: Membership, announced: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("bleu_4", "adapted_bleu", "chrf", "exact_match")
    whole = {}
    for name in names:
        run = compute(corpus, researcher, name)
        whole[name] = (read_scores(run), run.n_scored, run.n_refused, run.report)
    assert announced == []
    monkeypatch.setattr(chunks, "SHARED_FROM", 13)
    monkeypatch.setattr(chunks, "CHUNK", 4)
    for name in names:
        run = compute(corpus, researcher, name)
        scores, n_scored, n_refused, report = whole[name]
        assert read_scores(run) == scores, "bit for bit"
        assert (run.n_scored, run.n_refused, run.done, run.total) == (n_scored, n_refused, 13, 13)
        assert run.report["summary"] == report["summary"]
        assert run.report == report
    assert len(announced) == 4 * len(names), "of 4, 4, 4 and 1 candidates"
    assert not MetricChunk.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_chunks")
def test_another_worker_takes_chunks_and_reads_as_of_the_same_moment(
    corpus: Project, researcher: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = {pk: value for pk, value, *_ in read_scores(compute(corpus, researcher, "bleu_2"))}
    scored_by: list[str] = []
    score_chunk = chunk_scores.score_chunk

    def note_who(*args: Any) -> Any:
        scored_by.append(threading.current_thread().name)
        return score_chunk(*args)

    def announce(chunk: Job) -> bool:
        # After the run has begun, an answer changes; then another worker does all there is to do.
        if isinstance(chunk, MetricChunk):
            Candidate.objects.filter(external_id="a6").update(text="changed")
            elsewhere(lambda: chunks.take_chunks(chunk.pk))
        return True

    monkeypatch.setattr(chunks, "score_chunk", note_who)
    monkeypatch.setattr(queue, "announce", announce)
    run = compute(corpus, researcher, "bleu_2")
    assert {pk: value for pk, value, *_ in read_scores(run)} == whole
    assert len(scored_by) == 4
    assert not any(name.startswith("chunks of run") for name in scored_by), "the run's own worker found nothing to do"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_chunks")
def test_the_chunk_of_a_lost_worker_is_taken_again_and_stored_once(
    corpus: Project, researcher: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    late: list[object] = []

    def announce(chunk: Job) -> bool:
        if isinstance(chunk, MetricChunk) and chunk.number == 2 and not late:
            # Another worker claims it, scores it, and is silent until it was given to somebody else.
            attempt = running._claim(MetricChunk, chunk.pk)
            MetricChunk.objects.filter(pk=chunk.pk).update(beat_at=Now() - queue.DEAD_AFTER - timedelta(seconds=1))
            late.append(lambda: running._end(MetricChunk, chunk.pk, attempt or 0, State.DONE))
        return True

    ended: list[bool] = []
    merge = chunks._merge

    def merge_late(*args: Any) -> Any:
        ended.extend(act() for act in late)  # type: ignore[operator]
        return merge(*args)

    monkeypatch.setattr(queue, "announce", announce)
    monkeypatch.setattr(chunks, "_merge", merge_late)
    run = compute(corpus, researcher, "bleu_2")
    assert run.scores.count() == 13
    assert ended == [False], "the lost worker comes too late"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_chunks")
def test_a_run_that_was_interrupted_goes_on_and_scores_what_has_changed_anew(
    corpus: Project, researcher: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose_connection(*_: Any) -> Any:
        raise OperationalError("server closed the connection unexpectedly")

    run = request(corpus, researcher)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "_merge", lose_connection)
        assert computing.run(run.pk) == State.INTERRUPTED
    assert run.scores.count() == 13, "kept for the next attempt"
    chunks.delete_orphans()
    assert run.scores.count() == 13, "it will run again"

    Candidate.objects.filter(external_id="a0").update(text="on the mat the cat")
    queue.revive(MetricRun)
    assert computing.run(run.pk) == State.DONE
    run.refresh_from_db()
    assert run.report["n_resumed"] == 9, "all but the four of the first chunk"
    chunked = read_scores(run)
    monkeypatch.setattr(chunks, "SHARED_FROM", 1_000)
    assert chunked == read_scores(compute(corpus, researcher, "bleu_2"))

    # Its answers have become too few to share: what the attempt before has stored is not there twice.
    third = request(corpus, researcher, "bleu_3")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "SHARED_FROM", 5)
        patch.setattr(chunks, "_merge", lose_connection)
        assert computing.run(third.pk) == State.INTERRUPTED
    queue.revive(MetricRun)
    assert computing.run(third.pk) == State.DONE
    assert third.scores.count() == 13

    # A chunk fails: the run says why, and keeps nothing.
    monkeypatch.setattr(chunks, "SHARED_FROM", 5)
    other = request(corpus, researcher, "rouge_l")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "score_chunk", lambda *_: 1 / 0)
        assert computing.run(other.pk) == State.FAILED
    other.refresh_from_db()
    assert "reference" in other.error
    assert not other.chunks.exists()
    assert not other.scores.exists()

    # The snapshot ends with its connection, and so do the chunks: that is an interruption.
    other = request(corpus, researcher, "rouge_l")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "score_chunk", Mock(side_effect=Refused("The snapshot is gone.")))
        patch.setattr(chunks, "_keep_snapshot", lose_connection)
        assert computing.run(other.pk) == State.INTERRUPTED


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_chunks")
def test_while_chunks_are_scored_the_snapshot_is_kept_and_the_own_chunk_counts(
    corpus: Project, researcher: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[str] = []
    seen: list[int] = []
    keep, score_chunk = chunks._keep_snapshot, chunk_scores.score_chunk

    def keep_snapshot() -> None:
        keep()
        kept.append(threading.current_thread().name)

    def score_slowly(chunk: MetricChunk, metric: Any, on_progress: Any) -> Any:
        on_progress(3, 4)
        wait_until(lambda: bool(kept))
        (work,) = (each for each in threading.enumerate() if isinstance(each, chunks._Work))
        seen.append(work.n_done)
        return score_chunk(chunk, metric, on_progress)

    monkeypatch.setattr(chunks, "KEEP_SECONDS", 0)
    monkeypatch.setattr(chunks, "_keep_snapshot", keep_snapshot)
    monkeypatch.setattr(chunks, "score_chunk", score_slowly)
    assert compute(corpus, researcher, "bleu_2").scores.count() == 13
    assert not any(name.startswith("chunks of") for name in kept)
    assert seen == [3, 7, 11, 15], "of 4 each; the last one has but 1"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_chunks")
def test_a_worker_that_helps_leaves_a_run_for_one_that_waits_and_when_it_ends(
    corpus: Project, researcher: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, run, slots_taken = Mock(), request(corpus, researcher), Mock(side_effect=slots.take)
    monkeypatch.setattr(queue, "announce", sent)
    monkeypatch.setattr(slots, "take", slots_taken)
    MetricRun.objects.filter(pk=run.pk).update(state=State.RUNNING)
    edition = chunks._identify_edition(run, registry.make_metric("bleu_2", {}))
    rows = {"run": run, "requested_by": researcher, "first_question": 1, "last_question": 2, "n_candidates": 4}
    first, other = (
        MetricChunk.objects.create(number=number, edition=each, **rows) for number, each in ((1, edition), (2, "other"))
    )
    waiting = request(corpus, researcher, "rouge_l")
    chunks.take_chunks(first.pk)
    sent.assert_called_once_with(waiting)
    MetricRun.objects.filter(pk=waiting.pk).update(state=State.DONE)
    slots.is_ending.set()
    try:
        chunks.take_chunks(first.pk)
    finally:
        slots.is_ending.clear()
    first.refresh_from_db()
    assert first.state == State.QUEUED
    assert slots_taken.call_count == 2
    chunks.take_chunks(other.pk)
    assert slots_taken.call_count == 2, "a worker of another version takes no thread, which it would announce again"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_chunks")
def test_a_cancelled_run_stops_its_chunks_and_stores_nothing(
    corpus: Project, researcher: Membership, outside: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = request(corpus, researcher, "likeness")
    monkeypatch.setattr(running, "BEAT_SECONDS", 0.01)
    others: list[int] = []

    def cancel() -> None:
        # One more chunk is with another worker, which is told to stop as well.
        others.append(MetricChunk.objects.get(number=3).pk)
        running._claim(MetricChunk, others[0])
        queue.cancel(MetricRun.objects.get(pk=run.pk))

    def cancel_and_go_on(metric: Any, answers: Any) -> Any:
        if not others:
            elsewhere(cancel)
        return [1.0] * len(answers)

    told: list[object] = []
    discard = chunks.discard

    def note_and_discard(pk: int) -> None:
        told.extend(MetricChunk.objects.filter(pk__in=others).values_list("cancel_requested_at", flat=True))
        discard(pk)

    monkeypatch.setattr(outside.Likeness, "score_each", cancel_and_go_on)
    monkeypatch.setattr(chunks, "discard", note_and_discard)
    assert computing.run(run.pk) == State.CANCELLED
    assert [each is not None for each in told[-1:]] == [True]
    assert not MetricChunk.objects.exists()
    assert not MetricScore.objects.exists()


@pytest.mark.django_db
def test_within_a_transaction_of_the_caller_a_run_is_not_shared_and_what_was_left_over_is_deleted(
    corpus: Project, researcher: Membership, announced: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "SHARED_FROM", 5)
    with transaction.atomic():
        run = compute(corpus, researcher, "bleu_2")
    assert (run.scores.count(), announced) == (13, [])

    chunk = {"requested_by": researcher, "number": 1, "first_question": 1, "last_question": 2, "n_candidates": 4}
    left = MetricChunk.objects.create(run=run, edition="of another version", **chunk)
    chunks.take_chunks(left.pk)
    left.refresh_from_db()
    assert (left.state, left.attempt) == (State.QUEUED, 0), "it is for workers of the same version"
    MetricRun.objects.filter(pk=run.pk).update(state=State.CANCELLED)
    chunks.delete_orphans()
    assert not MetricScore.objects.exists()
    assert not MetricChunk.objects.exists()
