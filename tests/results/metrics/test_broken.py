"""A metric that breaks while it scores, as a program that ends by itself does: the run says why and stores nothing."""

import sys
from pathlib import Path

import pytest

from measures.metrics import meteor
from measures.metrics.meteor_jar import MeteorProcess
from projects.jobs.queue import Job
from projects.models import Membership, Project
from results.metrics import computing
from tests.factories import make_candidates, make_dataset, make_passage, make_question


@pytest.mark.django_db
def test_a_program_that_ends_by_itself_fails_the_run_with_its_own_words(
    project: Project, researcher: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_candidates(make_question(make_passage(make_dataset(project, "narrative"), "p1"), "q1"), text="An answer.")
    process = MeteorProcess([sys.executable, "-c", "import sys; sys.exit('Out of memory')"], folder=Path())
    monkeypatch.setattr(MeteorProcess, "start", lambda: process)
    monkeypatch.setattr(meteor.Meteor15, "lacks", lambda _metric: "")
    run = computing.request_run(project=project, actor=researcher, name="meteor_1_5", settings={})
    assert computing.run(run.pk) == Job.State.FAILED
    run.refresh_from_db()
    assert run.error == "METEOR ended unexpectedly with code 1: Out of memory."
    assert process.has_ended
    assert not run.scores.exists()
