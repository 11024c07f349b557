"""Sets under real simultaneous work: one moment for all files, numbers of their own, a stop in the middle."""

import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from annotate.models import Judgment
from projects.jobs import queue
from projects.jobs.running import Cancelled
from projects.models import LogEntry, Membership, Project
from results.exports import streaming
from results.models import JudgmentSet
from results.sets import building, canonical, freezing
from results.sets.settings import Settings
from tests.concurrency import all_at_once
from tests.processes import wait_until
from tests.results.judged_batches import canonical as judge_canonical
from tests.results.sets.frozen_sets import freeze, lines, table

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]


def in_a_thread(act: Any) -> None:
    def run() -> None:
        act()
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def test_what_is_judged_meanwhile_is_wholly_out(
    project: Project, manager: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between any two of the statements that read a set somebody changes every judgment."""
    judge_canonical(project)
    before = sorted(map(float, Judgment.objects.values_list("value", flat=True)))  # type: ignore[arg-type]
    write, n = streaming.write, [0]

    def write_between(*arguments: Any) -> int:
        n[0] += 1
        in_a_thread(lambda: Judgment.objects.update(value=n[0]))
        return write(*arguments)

    monkeypatch.setattr(canonical, "write", write_between)
    made = freeze(project, manager)
    assert n[0] == 5
    assert set(Judgment.objects.values_list("value", flat=True)) == {5.0}
    frozen = sorted(row["value"] for row in lines(made, "long.jsonl"))
    assert frozen == sorted(float(row["value"]) for row in table(made, "long.csv")) == before
    means = {row["annotator"]: float(row["mean"]) for row in table(made, "annotators.csv")}
    rows = lines(made, "long.jsonl")
    for name, mean in means.items():
        own = [row["score"] for row in rows if row["annotator"] == name]
        assert mean == pytest.approx(sum(own) / len(own), abs=1e-12)
    assert made.facts["n_included"] == 41


def ask(task: tuple[Project, Membership]) -> int:
    project, manager = task
    return freezing.request_set(project=project, actor=manager, name="Mine", settings=Settings()).number


def test_sets_that_are_asked_for_at_once_have_numbers_of_their_own(project: Project, manager: Membership) -> None:
    judge_canonical(project)
    assert sorted(all_at_once(ask, [(project, manager)] * 6)) == [1, 2, 3, 4, 5, 6]


def test_a_cancelled_freeze_stops_in_the_middle_and_leaves_nothing(
    project: Project, manager: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_canonical(project)
    made = freezing.request_set(project=project, actor=manager, name="Never", settings=Settings())
    monkeypatch.setattr("projects.jobs.running.BEAT_SECONDS", 0.05)

    def wait_to_be_stopped(folder: Path, progress: building.Progress, *_: object) -> None:
        assert (folder / "long.csv").stat().st_size
        in_a_thread(lambda: queue.cancel(JudgmentSet.objects.get(pk=made.pk)))
        wait_until(lambda: progress.track("mocha")(1))

    monkeypatch.setattr(building, "derive", wait_to_be_stopped)
    assert freezing.run(made.pk) == JudgmentSet.State.CANCELLED
    assert list(freezing.folder().iterdir()) == []
    made.refresh_from_db()
    assert (made.files, made.facts, made.stored_name, made.frozen_at) == ([], {}, "", None)


def test_an_attempt_that_was_given_up_leaves_the_set_to_its_successor(
    project: Project, manager: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_canonical(project)
    made = freezing.request_set(project=project, actor=manager, name="Late", settings=Settings())
    pack = building.pack

    def pack_late(*arguments: Any) -> Any:
        """While the first attempt sleeps it is given up, and a second one freezes the set."""
        monkeypatch.setattr(building, "pack", pack)
        in_a_thread(lambda: JudgmentSet.objects.filter(pk=made.pk).update(state="queued"))
        in_a_thread(lambda: freezing.run(made.pk))
        return pack(*arguments)

    monkeypatch.setattr(building, "pack", pack_late)
    assert freezing.run(made.pk) is None
    made.refresh_from_db()
    assert (made.state, made.attempt) == ("done", 2)
    assert made.stored_name.startswith(f"{made.pk}-2-")
    assert freezing.verify(made) == []
    assert LogEntry.objects.filter(act="freeze judgment set").count() == 1


@pytest.mark.parametrize(
    ("step", "name"), [("write_first", "long.jsonl"), ("write_rest", "long.csv"), ("write_rest", "annotators.csv")]
)
def test_a_stop_in_the_middle_of_a_statement_leaves_a_sound_connection(
    project: Project, manager: Membership, monkeypatch: pytest.MonkeyPatch, step: str, name: str
) -> None:
    judge_canonical(project)
    made = freezing.request_set(project=project, actor=manager, name="Never", settings=Settings())
    write = getattr(canonical, step)

    def stop(at: str, n_rows: int) -> None:
        if at == name and n_rows:
            raise Cancelled

    monkeypatch.setattr(canonical, step, lambda selection, folder, on_rows: write(selection, folder, stop))
    assert freezing.run(made.pk) == JudgmentSet.State.CANCELLED
    assert list(freezing.folder().iterdir()) == []
    monkeypatch.undo()
    made.refresh_from_db()
    freezing.start_again(judgment_set=made)
    assert freezing.run(made.pk) == JudgmentSet.State.DONE
