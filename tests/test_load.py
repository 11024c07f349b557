"""A small part of `make load`: what annotators were told is stored once and not over-counted. No time counts."""

import json
import subprocess
import sys
import uuid

import pytest

from annotate.models import Hit
from annotate.work import serving, submitting
from benchmarks import acknowledged, load
from config import env
from projects.models import Membership, Project
from tests import database, processes
from tests.annotate.open_batches import answered, open_batch

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]
N_THREADS = 2 * 8
"""Of two web processes; each thread has a connection to the database."""
N_OTHERS = 2
"""Connections of the test itself."""


def test_a_small_load_loses_and_doubles_nothing(scale: int) -> None:
    sizes = ["--annotators", "10", "--arrivals", "20", "--overload", "3", "--hits", "200", "--rows", str(2_000 * scale)]
    options = load.read_options([*sizes, "--beside", "--minutes", str(0.03 * scale), "--think", "0.05"])
    with database.copy("load"):
        environment = processes.environment()
        command = [sys.executable, "-m", "benchmarks.seeds", *load.list_seeds(options)]
        seeded = subprocess.run(command, cwd=env.BASE_DIR, env=environment, check=True, stdout=subprocess.PIPE)
        outcome = load.run(options, environment, json.loads(seeded.stdout))
    assert outcome.faults == []
    assert (outcome.counts.lost, outcome.counts.doubled, outcome.counts.over_counted) == (0, 0, 0)
    arrivals, *phases = outcome.records
    assert len(arrivals.seconds["first"]) == 19  # one has opened a HIT before
    assert len(phases) == 4
    assert all(phase.acknowledged for phase in phases)
    assert outcome.most_connections <= N_THREADS + N_OTHERS


def test_what_is_lost_doubled_and_over_counted_is_seen(project: Project, annotator: Membership) -> None:
    open_batch(project)
    found = serving.claim(annotator)
    assert isinstance(found, uuid.UUID)
    submitting.submit(annotator=annotator, assignment_uuid=found, sent=answered())
    url, told = processes.environment()["DATABASE_URL"], str(found)
    assert not acknowledged.count(url, [told])
    assert acknowledged.count(url, [told, str(uuid.uuid4())]) == acknowledged.Counts(lost=1, doubled=0, over_counted=0)
    assert acknowledged.count(url, [told, told]) == acknowledged.Counts(lost=0, doubled=1, over_counted=0)
    Hit.objects.update(places_wanted=0, places_open=0, places_done=0)
    assert acknowledged.count(url, [told]) == acknowledged.Counts(lost=0, doubled=0, over_counted=1)
