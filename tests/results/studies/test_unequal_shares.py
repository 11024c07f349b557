"""The warning where systems have answered different questions: on pages, in the API, in sets and on the leaderboard."""

import json
from typing import Any

import numpy as np
import pytest

from projects.models import Membership, Project
from results.models import MetricRun, Study
from results.reports import reports
from results.studies.presentation import list_warnings
from results.studies.warnings import count_lacking, warn_of_unequal_shares
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.people import SignIn
from tests.projects.api.client import Script
from tests.results.judged_batches import judge
from tests.results.sets.frozen_sets import freeze, read
from tests.results.studies.factories import give_scores, list_candidates, study

pytestmark = pytest.mark.django_db

UNEQUAL = "Systems have answered different questions: of 4, c lacks 1."


@pytest.fixture
def uneven(project: Project) -> Project:
    """Three systems on four questions, of which one has answered three."""
    dataset, person = make_dataset(project, "news"), make_membership(project)
    rng, ratings = np.random.default_rng(3), {}
    for at in range(4):
        question = make_question(make_passage(dataset, f"p{at}"), f"q{at}")
        for place, source in enumerate("abc" if at else "ab"):
            (candidate,) = make_candidates(question, source=source)
            ratings[candidate] = {person: float(place + rng.integers(1, 4))}
    judge(project, ratings)
    return project


def score(project: Project, actor: Membership, *, is_complete: bool = True) -> list[MetricRun]:
    """Two metrics; the second has scored only the questions that all systems have answered, unless it is complete."""
    found = []
    for place, title in enumerate(("Near", "Far")):
        scores: dict[int, float | None] = {
            each.pk: None
            if place and not is_complete and each.question.external_id == "q0"
            else float(each.pk * (3 + place) % 7)
            for each in list_candidates(project)
        }
        found.append(give_scores(project, actor, title, scores))
    return found


def test_the_largest_gaps_are_named_first() -> None:
    assert warn_of_unequal_shares(count_lacking([1, 2, 1, 2], ["a", "a", "b", "b"])) == ""
    assert warn_of_unequal_shares(None) == ""
    given = warn_of_unequal_shares(count_lacking([1, 2, 3, 1, 2, 1], ["a", "a", "a", "", "", "c"]))
    assert given == (
        "Systems have answered different questions: of 3, c lacks 2; unspecified lacks 1. Their means over all answers "
        "rest on different questions, so that they may differ because the questions do."
    )
    many = count_lacking([1, 1, *range(2, 9)], ["a", "b", *"cdefghi"])
    assert "; 4 others lack some. Their" in warn_of_unequal_shares(many)


def test_a_correlation_over_systems_warns_on_its_page_in_the_api_and_in_a_set(
    uneven: Project, researcher: Membership, manager: Membership, client_of: SignIn
) -> None:
    runs = score(uneven, researcher)
    made = study(uneven, researcher, runs, "systems", options={"n_questions": 2, "n_draws": 3})
    (warning,) = list_warnings(made)
    assert warning.startswith(UNEQUAL)
    page = " ".join(client_of(researcher).get(made.get_absolute_url()).content.decode().split())
    assert UNEQUAL in page
    assert Script(researcher).read(f"studies/{made.number}/")["warnings"] == [warning]
    frozen = freeze(uneven, manager, studies=(made.number,))
    stored = json.loads(read(frozen, f"study-{made.number}.json"))
    assert stored["result"]["warnings"] == [warning]
    assert list_warnings(Study(**stored)) == [warning], "and once, where it is read from the set"
    segment = study(uneven, researcher, runs, n_resamples=100)
    assert not any(each.startswith("Systems have") for each in list_warnings(segment)), "no means of systems"


def test_the_same_questions_leave_nothing_to_warn_of(uneven: Project, researcher: Membership) -> None:
    runs = score(uneven, researcher, is_complete=False)
    made = study(uneven, researcher, runs, "systems", options={"n_questions": 2, "n_draws": 3})
    assert made.result is not None, made.error
    assert list_warnings(made) == []


@pytest.mark.parametrize(("level", "is_warned"), [("system", True), ("none", False)])
def test_a_permutation_test_of_means_of_systems_warns(
    uneven: Project, researcher: Membership, level: str, is_warned: bool
) -> None:
    options: dict[str, Any] = {"permutation": "inputs", "level": level}
    made = study(uneven, researcher, score(uneven, researcher), "significance", n_resamples=100, options=options)
    assert made.result is not None, made.error
    assert any(each.startswith(UNEQUAL) for each in list_warnings(made)) is is_warned


def test_the_leaderboard_warns(uneven: Project, owner: Membership) -> None:
    score(uneven, owner)
    settings: dict[str, Any] = {
        "criterion": "correctness", "stage": "full", "batch": None, "blind": False, "gold": "mean", "controls": True,
        "adjudication_wins": False, "datasets": [], "splits": [],
    }  # fmt: skip
    figures = reports._compute(uneven, "leaderboard", settings)
    assert any(each.startswith(UNEQUAL) for each in figures["warnings"])
