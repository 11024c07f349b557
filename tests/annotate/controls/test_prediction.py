"""ACCEPTANCE E7: where an item stands tells nothing of whether it is a control."""

import numpy as np
import pytest
from numpy.typing import NDArray

from annotate.controls.plans import ControlPlan
from annotate.models import Assignment, Batch, Hit, Item
from projects.models import Project
from tests.annotate.controls.crowd import items_of, make_controlled, make_places, take, work
from tests.annotate.controls.test_one import hand_in_by_steps
from tests.factories import make_membership

pytestmark = pytest.mark.django_db
Floats = NDArray[np.float64]
N_SESSIONS = 5
MOST_AUC = 0.55


def features_of(assignment: Assignment) -> list[tuple[list[float], bool]]:
    """What the page tells of each item without being read, and whether it is a control."""
    items = items_of(assignment)
    questions = [item.question_id for item in items]
    rows = []
    for place, item in enumerate(items):
        run = [at for at, question in enumerate(questions) if question == item.question_id]
        rows.append(
            (
                [
                    place,
                    place / len(items),
                    abs(place / len(items) - 0.5),
                    len(items),
                    run.index(place),
                    float(place == run[0]),
                    float(place == run[-1]),
                    assignment.uuid.int % 97,
                ],
                item.control != Item.Control.NONE,
            )
        )
    return rows


def fit(features: Floats, labels: Floats) -> Floats:
    """Logistic regression by Newton's steps, with a little ridge."""
    weights = np.zeros(features.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-features @ weights))
        hessian = (features * (p * (1 - p))[:, None]).T @ features + np.eye(len(weights))
        weights = weights + np.linalg.solve(hessian, features.T @ (labels - p) - weights)
    return weights


def auc(scores: Floats, labels: Floats) -> float:
    """The chance that a control scores above an ordinary item, ties half."""
    above = scores[labels == 1][:, None] - scores[labels == 0][None, :]
    return float(((above > 0) + 0.5 * (above == 0)).mean())


def held_out_auc(sessions: list[list[tuple[list[float], bool]]]) -> tuple[float, float]:
    """The AUC on sessions that the fit has not seen, each left out in turn, and its sampling error at chance level."""
    scores, labels = [], []
    for n in range(len(sessions)):
        train = [row for m, session in enumerate(sessions) if m != n for row in session]
        known, truth = (
            np.array([row[0] for row in train], dtype=float),
            np.array([row[1] for row in train], dtype=float),
        )
        mean, spread = known.mean(0), known.std(0) + 1e-9
        weights = fit(np.c_[np.ones(len(known)), (known - mean) / spread], truth)
        held = np.array([row[0] for row in sessions[n]], dtype=float)
        scores.append(np.c_[np.ones(len(held)), (held - mean) / spread] @ weights)
        labels.append(np.array([row[1] for row in sessions[n]], dtype=float))
    all_scores, all_labels = np.concatenate(scores), np.concatenate(labels)
    n_controls, n_ordinary = all_labels.sum(), (1 - all_labels).sum()
    error = float(np.sqrt((n_controls + n_ordinary + 1) / (12 * n_controls * n_ordinary)))
    return auc(all_scores, all_labels), error


def sessions_of(batch: Batch, n: int) -> list[list[tuple[list[float], bool]]]:
    sessions = []
    for _ in range(n):
        person = make_membership(batch.project)
        done: list[Assignment] = []
        if batch.presentation == Batch.Presentation.PAGE:
            done = work(person)
        else:
            while (assignment := take(person)) is not None:
                hand_in_by_steps(person, assignment)
                done.append(assignment)
        sessions.append([row for a in done if a.hit.purpose == Hit.Purpose.WORK for row in features_of(a)])
    return sessions


@pytest.mark.parametrize("presentation", list(Batch.Presentation))
def test_where_an_item_stands_does_not_tell_a_control(
    project: Project, scale: int, presentation: Batch.Presentation
) -> None:
    n_sessions = N_SESSIONS * scale
    make_places(project, n_passages=8, n_questions=3, n_candidates=5)
    plan = ControlPlan(known_per_hit=1, degraded_per_hit=1, distance=1, item_distance=3)
    batch = make_controlled(project, plan, hit_size=8, presentation=presentation, judgments=n_sessions)
    sessions = sessions_of(batch, n_sessions)
    n_controls = sum(label for session in sessions for _, label in session)
    assert n_controls > 20 * n_sessions
    found, error = held_out_auc(sessions)
    print(
        f"{presentation}: AUC {found:.3f}, sampling error {error:.3f}, {n_controls} controls in {n_sessions} sessions"
    )
    assert found <= MOST_AUC + 3 * error


def test_the_classifier_finds_controls_that_always_stand_last() -> None:
    rng = np.random.default_rng(0)
    sessions = [[([float(place), rng.random()], place == 7) for _ in range(10) for place in range(8)] for _ in range(4)]
    assert held_out_auc(sessions)[0] > 0.95
