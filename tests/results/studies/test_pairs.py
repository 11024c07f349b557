"""Studies of minimal pairs: MOCHA's table 8 of metrics and people, and what is left out."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from projects.models import Candidate, Membership, MinimalPair, Project
from projects.tables.writing import write
from results.models import MetricRun, Study
from results.studies.pair_frame import GOLDS
from results.studies.presentation import find_table, list_settings
from results.studies.tables import Estimate
from tests.factories import make_dataset, make_membership, make_pair, make_passage, make_question, make_rubric
from tests.results.judged_batches import judge
from tests.results.studies.factories import give_scores, study

pytestmark = pytest.mark.django_db


def make_pairs(project: Project, dataset: str, n: int, **over: Any) -> list[MinimalPair]:
    question = make_question(make_passage(make_dataset(project, dataset)))
    return [make_pair(question, f"{dataset}-{each}", **{"score_1": 5, "score_2": 1, **over}) for each in range(n)]


def score(pairs: list[MinimalPair], n_higher: int, n_ties: int = 0) -> dict[int, float | None]:
    """Scores of a metric that is right on so many pairs, ties on so many, and is wrong on the others."""
    scores: dict[int, float | None] = {}
    for place, pair in enumerate(pairs):
        scores[pair.candidate_1_id] = 0.5
        scores[pair.candidate_2_id] = 0.2 if place < n_higher else 0.5 if place < n_higher + n_ties else 0.9
    return scores


def rows(made: Study, name: str) -> dict[Any, list[Any]]:
    table = find_table(made, name)
    assert table is not None, name
    return {row[0]: [each.value if isinstance(each, Estimate) else each for each in row[1:]] for row in table.all_rows}


@pytest.fixture
def table_8(project: Project, manager: Membership) -> Study:
    """Two metrics on ten pairs of each of two datasets, by given scores alone: nothing was ever judged here."""
    make_rubric(project)
    one, two = make_pairs(project, "one", 10, phenomenon="negation"), make_pairs(project, "two", 10)
    good = give_scores(project, manager, "Good", score(one, 8, 1) | score(two, 6))
    poor = give_scores(project, manager, "Poor", score(one, 2) | score(two, 3, 1))
    return study(project, manager, [poor, good], kind="pairs")


def test_given_scores_alone_make_table_8(table_8: Study) -> None:
    assert table_8.state == Study.State.DONE, table_8.error
    found = rows(table_8, "datasets")
    assert list(found) == ["Good", "Poor", "People, given scores", "Pairs"]
    assert found["Good"] == pytest.approx([85, 60, 72.5])
    assert found["Poor"] == pytest.approx([20, 35, 27.5])
    assert found["Pairs"] == ["10", "10", None]
    assert rows(table_8, "phenomena")["Good"] == pytest.approx([85, 60]), "negation, then those unspecified"
    assert rows(table_8, "pairs")["Good"] == pytest.approx([72.5, 20, 14, 1, 5])
    assert table_8.result is not None
    assert (table_8.result["n"], table_8.result["figures"]["reasons"]) == (20, {})


def test_its_page_and_files_show_the_same(
    table_8: Study, project: Project, manager: Membership, client_of: Callable[[Membership], Client]
) -> None:
    client = client_of(manager)
    page = client.get(table_8.get_absolute_url()).content.decode()
    assert "72.5" in page
    assert "None: every pair is included." in page
    assert "all on the same pairs" in page
    assert "<svg" in page
    table = find_table(table_8, "datasets")
    assert table is not None
    assert "Good & 85.0 & {[" in write(table, "tex")
    assert "n = 20 minimal pairs" in write(table, "tex")
    assert r"| Good | 85.0 \[" in write(table, "md")
    assert write(table, "csv").splitlines()[1].startswith("Good,85.0,")
    here = f"/p/{project.slug}/studies/{table_8.number}"
    assert client.get(f"{here}/charts/datasets.svg").status_code == 200
    new = client.get(reverse("results:study-new", args=[project.slug]), {"kind": "pairs"}).content.decode()
    assert "Better candidate decided by" in new


def test_the_command_studies_given_scores_too(table_8: Study, project: Project) -> None:
    make_membership(project, role=Membership.Role.OWNER)
    output = io.StringIO()
    asked = ("--project", project.slug, "--seed", "1", "--markdown", "--table", "datasets")
    call_command("study", "pairs", *asked, "--option", f"human={GOLDS}", stdout=output)
    assert "| Good | 85.0" in output.getvalue()
    assert "determined by gold scores first" in output.getvalue()


def test_what_is_left_out_is_listed_with_its_reason(project: Project, manager: Membership) -> None:
    make_rubric(project)
    kept = make_pairs(project, "kept", 4)
    (unscored,) = make_pairs(project, "a", 1, score_1=None, score_2=None)
    (turned,) = make_pairs(project, "b", 1, score_1=1, score_2=5)
    (tied,) = make_pairs(project, "c", 1, score_1=3, score_2=3)
    (gone,) = make_pairs(project, "d", 1)
    (same,) = make_pairs(project, "e", 1)
    (refused,) = make_pairs(project, "f", 1)
    Candidate.objects.filter(pk=gone.candidate_2_id).update(withdrawn_at=timezone.now())
    Candidate.objects.filter(pk=same.candidate_2_id).update(text=same.candidate_1.text)
    scores = score([*kept, unscored, turned, tied, gone, same, refused], 3)
    scores[refused.candidate_2_id] = None
    run = give_scores(project, manager, "Metric", scores)
    made = study(project, manager, [run], kind="pairs")
    assert made.result is not None, made.error
    assert made.result["figures"]["reasons"] == {
        "unscored": 1,
        "not_higher": 2,
        "withdrawn": 1,
        "same_text": 1,
        "no_score": 1,
    }
    assert rows(made, "datasets")["Metric"] == [75.0]
    people = rows(made, "datasets")["People, given scores"]
    assert people == [100.0], "Of the datasets of the table."
    assert rows(made, "pairs")["People, given scores"][0] == pytest.approx(100 * 5.5 / 7)
    listed = find_table(made, "left-out")
    assert listed is not None
    assert [row[1] for row in listed.rows] == ["a-0", "b-0", "c-0", "d-0", "e-0", "f-0"]
    assert [row[4:] for row in listed.rows][:2] == [[None, None], [1.0, 5.0]]
    as_zero = study(project, manager, [run], kind="pairs", as_zero=True)
    assert rows(as_zero, "datasets")["Metric"] == [100.0, 75.0, 87.5]


def test_pairs_without_given_scores_go_by_gold_scores(project: Project, manager: Membership) -> None:
    pairs = make_pairs(project, "judged", 3, score_1=None, score_2=None)
    pairs += make_pairs(project, "both", 1)
    people = [make_membership(project) for _ in range(2)]
    ratings = {}
    for place, pair in enumerate(pairs):
        ratings[pair.candidate_1] = dict.fromkeys(people, 4.0)
        ratings[pair.candidate_2] = dict.fromkeys(people, 2.0 if place < 2 else 5.0)
    judge(project, ratings)
    run = give_scores(project, manager, "Metric", score(pairs, 4))
    made = study(project, manager, [run], kind="pairs")
    assert made.result is not None, made.error
    assert made.result["n"] == 3
    assert made.result["n_judgments"] == 12
    assert rows(made, "pairs")["People, gold scores"] == pytest.approx([50.0, 4, 2, 0, 2])
    by_gold = study(project, manager, [run], kind="pairs", options={"human": GOLDS})
    assert by_gold.result is not None
    assert by_gold.result["n"] == 2, "The pair that came with scores is judged the other way round."
    few = study(project, manager, [run], kind="pairs", least_judgments=3)
    assert few.result is not None
    assert few.result["n"] == 1


def test_a_study_of_nothing_is_refused(project: Project, manager: Membership) -> None:
    make_rubric(project)
    run: MetricRun = give_scores(project, manager, "Metric", {})
    assert "The project has no minimal pairs." in study(project, manager, [run], kind="pairs").error
    make_pairs(project, "a", 2, score_1=1, score_2=2)
    failed = study(project, manager, [run], kind="pairs")
    assert failed.state == Study.State.FAILED
    assert failed.error == (
        "No minimal pairs are left to evaluate: 2 because the first candidate has no higher human score."
    )
    make_pairs(project, "b", 3)
    failed = study(project, manager, [run], kind="pairs")
    assert failed.error.endswith(
        "2 because the first candidate has no higher human score; 3 because a metric has no score for a candidate. "
        "Leave out metrics without these scores: Metric."
    )
    failed = study(project, manager, [run], kind="pairs", datasets=("nowhere",))
    assert failed.error == "No minimal pairs are left to evaluate: none matches the filters."


def test_a_part_in_which_all_came_out_alike_has_an_interval(project: Project, manager: Membership) -> None:
    make_rubric(project)
    run = give_scores(project, manager, "Metric", score(make_pairs(project, "a", 5), 5))
    made = study(project, manager, [run], kind="pairs")
    table = find_table(made, "datasets")
    assert table is not None
    (value,) = [row[1] for row in table.all_rows if row[0] == "Metric"]
    assert isinstance(value, Estimate)
    assert (value.value, value.low, value.high) == pytest.approx((100, 56.55, 100), abs=0.005)
    assert table.caption.endswith("95 % intervals by Wilson's method, of means of datasets by the MOVER).")
    assert {"Seed", "Resamples"}.isdisjoint(dict(list_settings(made)))
    assert json.dumps(made.result)
