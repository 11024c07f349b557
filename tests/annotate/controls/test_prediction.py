"""ACCEPTANCE E7: position, id, address, size, time and markup tell nothing of whether an item is a control."""

import os
import re
import zlib
from collections import Counter
from math import sqrt
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotate.batches.control_plan import QASCORE, QASCORE_HIT_SIZE, ControlPlan
from annotate.models import Assignment, Batch, Hit, Item
from projects.models import Membership, Project
from tests.annotate.controls.classifiers import Fit, Rows, boosted, held_out_auc, logistic
from tests.annotate.controls.controlled_batches import (
    fetch_items,
    make_controlled,
    make_places,
    submit_assignment,
    take,
    work,
)
from tests.annotate.controls.test_one_at_a_time import submit_by_steps
from tests.factories import make_batch, make_membership
from tests.people import SignIn

pytestmark = pytest.mark.django_db
IN_SOAK = int(os.environ.get("SCALE", "1")) > 1
N_SESSIONS = 50 if IN_SOAK else 24
"""Sessions in which each item is submitted by itself. `make soak` has fifty of each kind."""
N_PAGE_SESSIONS = 50 if IN_SOAK else 20
"""Sessions in which each page is fetched and each answer saved, which takes most of the time."""
N_LENGTH_SESSIONS = 50 if IN_SOAK else 12
MOST_AUC = 0.55
MOST_ERRORS = 2.5
"""How many standard errors may be chance: fifty sessions know the AUC to about 0.02, twenty to about 0.03."""
FITS = (logistic, boosted)
TEXTS = re.compile(r'(id="t\d+"[^>]*>)[^<]*')
NUMBERS = re.compile(r"\d+")
ITEM = re.compile(r'<fieldset[^>]*class="item.*?</fieldset>', re.DOTALL)


def list_seen(place: int, items: list[Item], assignment: Assignment) -> list[float]:
    """Return features of an item's position and of its HIT's address."""
    questions = [item.question_id for item in items]
    run = [at for at, question in enumerate(questions) if question == questions[place]]
    return [
        place,
        place / len(items),
        abs(place / len(items) - 0.5),
        len(items),
        run.index(place),
        float(place == run[0]),
        float(place == run[-1]),
        assignment.uuid.int % 97,
        assignment.uuid.int % 2,
    ]


def read_features(client: Client, url: str, n_items: int) -> list[list[float]]:
    """Of each item the size and a hash of its markup without its text, and the time that keeping its answer takes."""
    page = client.get(url).content.decode()
    markup = ITEM.findall(page)
    assert len(markup) == n_items
    features = []
    for place, text in enumerate(markup):
        bare = TEXTS.sub(r"\1", text)
        begun = perf_counter()
        draft = {"answers": {str(place): {"correctness": [4, 1_700_000_000_000]}}}
        assert client.post(f"{url}draft/", draft, content_type="application/json").status_code == 200
        seconds = perf_counter() - begun
        features.append([len(bare), zlib.crc32(NUMBERS.sub("", bare).encode()) % 997, seconds, len(page)])
    return features


def start_session(person: Membership, client: Client | None) -> Rows:
    """A whole session; its pages too, with a client. HITs made for one person are all controls, and left out."""
    rows: Rows = []
    while (assignment := take(person)) is not None:
        items = fetch_items(assignment)
        features: list[list[float]] = [[] for _ in items]
        if client is not None:
            slug = person.project.slug
            features = read_features(client, reverse("annotate:work-show", args=[slug, assignment.uuid]), len(items))
        if assignment.hit.purpose == Hit.Purpose.WORK:
            rows += [
                ([*list_seen(place, items, assignment), *features[place]], item.control != Item.Control.NONE)
                for place, item in enumerate(items)
            ]
        if assignment.hit.batch.presentation == Batch.Presentation.PAGE:
            submit_assignment(person, assignment)
        else:
            submit_by_steps(person, assignment)
    return rows


def assert_controls_are_not_recognised(sessions: list[Rows]) -> None:
    n_controls = sum(label for session in sessions for _, label in session)
    assert n_controls >= 5 * len(sessions)
    n_ordinary = sum(len(session) for session in sessions) - n_controls
    error = sqrt((n_controls + n_ordinary + 1) / (12 * n_controls * n_ordinary))
    found = {fit.__name__: held_out_auc(sessions, fit) for fit in FITS}
    print(", ".join(f"{name} {value:.3f}" for name, value in found.items()), f"over {n_controls} controls")
    assert max(found.values()) - MOST_ERRORS * error <= MOST_AUC


def test_a_page_does_not_tell_its_controls(project: Project, client_of: SignIn) -> None:
    make_places(project, n_passages=3, n_questions=2, n_candidates=6)
    plan = ControlPlan(known_per_hit=1, degraded_per_hit=1, distance=1)
    make_controlled(project, plan, hit_size=8, judgments=N_PAGE_SESSIONS)
    people = [make_membership(project) for _ in range(N_PAGE_SESSIONS)]
    assert_controls_are_not_recognised([start_session(person, client_of(person)) for person in people])


@pytest.mark.parametrize("plan", [ControlPlan(known_per_hit=1, degraded_per_hit=2, repeats_per_hit=1), QASCORE])
def test_items_one_at_a_time_do_not_tell_controls_by_their_place(project: Project, plan: ControlPlan) -> None:
    n_passages, hit_size = (2, QASCORE_HIT_SIZE) if plan == QASCORE else (3, 12)
    make_places(project, n_passages=n_passages, n_questions=1, n_candidates=hit_size - plan.room)
    over: dict[str, Any] = {"presentation": Batch.Presentation.ONE, "judgments": N_SESSIONS, "hit_size": hit_size}
    make_controlled(project, plan, **over)
    assert_controls_are_not_recognised([start_session(make_membership(project), None) for _ in range(N_SESSIONS)])


def test_the_length_of_a_hit_does_not_tell_what_it_is_made_of(project: Project) -> None:
    """HITs of different lengths, because passages have different numbers of candidates."""
    make_places(project, n_passages=6, n_questions=1, n_candidates=8, name="known")
    make_batch(project, datasets=("known",), judgments=2)
    work(make_membership(project), answer=lambda item: 2)
    work(make_membership(project), answer=lambda item: 4)
    names = tuple(f"new {n}" for n in range(2, 7))
    for n, name in enumerate(names, start=2):
        make_places(project, n_passages=4, n_questions=1, n_candidates=n, name=name)
    plan = ControlPlan(known_per_hit=1, degraded_per_hit=0.5, repeats=2, repeats_every=6, known_hit_every=6, distance=1)
    make_controlled(project, plan, datasets=names, judgments=N_LENGTH_SESSIONS, hit_size=8)
    sessions: list[Rows] = []
    purposes = Counter[str]()
    for n in range(N_LENGTH_SESSIONS):
        # One order for all would let the place of a HIT in it tell its length.
        with connection.cursor() as cursor:
            cursor.execute("UPDATE annotate_hit SET queue_key = hashtext(id || '-' || %s) WHERE purpose = 'work'", [n])
        done = work(make_membership(project))
        sessions.append([([float(len(each.layout))], each.hit.purpose != Hit.Purpose.WORK) for each in done])
        purposes.update(each.hit.purpose for each in done)
    assert min(purposes["gold"], purposes["personal"]) >= 2 * N_LENGTH_SESSIONS
    lengths = {
        is_reserved: [row[0] for session in sessions for row, label in session if label == is_reserved]
        for is_reserved in (False, True)
    }
    assert set(lengths[True]) <= set(lengths[False])
    assert_controls_are_not_recognised(sessions)


@pytest.mark.parametrize("fit", FITS)
def test_controls_that_always_come_last_would_be_recognised(fit: Fit) -> None:
    rng = np.random.default_rng(0)
    sessions = [[([float(n), rng.random()], n == 7) for _ in range(10) for n in range(8)] for _ in range(10)]
    assert held_out_auc(sessions, fit) > 0.95


def test_boosting_tells_what_takes_two_signs_together() -> None:
    rng = np.random.default_rng(0)
    points = rng.random((10, 80, 2))
    sessions = [[([x, y], bool((x > 0.5) != (y > 0.5))) for x, y in session] for session in points.tolist()]
    assert held_out_auc(sessions, boosted) > 0.9
    assert held_out_auc(sessions, logistic) < 0.6
