"""Scores by system where identical answers are rated once: the same as if each had been rated alike."""

from typing import Any

import pytest

from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.frames.judgments_frame import fetch_judgments
from annotate.frames.shared_ratings import RATED, fetch_shared_judgments
from annotate.frames.stages import Stage
from annotate.reviews.adjudication import read_gold_rule
from projects.identical_answers import mark_identical
from projects.models import Candidate, Membership, Project
from results.leaderboard.figures import leaderboard_figures
from results.leaderboard.forms import LeaderboardForm
from results.systems.scores import replication_figures, system_figures
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_project, make_question
from tests.page_reader import condense
from tests.people import SignIn
from tests.results.judged_batches import (
    SOURCES,
    Ratings,
    fill_with_identical_answers,
    judge,
    round_all,
)
from tests.results.studies.factories import give_scores, list_candidates

pytestmark = pytest.mark.django_db

SETTINGS = {"stage": Stage.FULL, "batch": None, "blind": False, "controls": False, "test": "sign_flip", "values": "raw"}


def compute(project: Project) -> dict[str, Any]:
    return system_figures(project, SETTINGS)


def test_means_intervals_and_pairs_are_as_if_each_had_been_rated_alike(project: Project) -> None:
    fill_with_identical_answers(project, is_once=True)
    other = make_project()
    fill_with_identical_answers(other, is_once=False)
    once, each = compute(project), compute(other)
    assert once["shared"] == {"gpt": 1, "t5": 6}
    assert each["shared"] == {}
    assert len(fetch_judgments(scope_of(project))) == len(fetch_judgments(scope_of(other))) - 14
    for key in once["scores"]:
        found, wanted = ({score["source"]: score for score in figures["scores"][key]} for figures in (once, each))
        assert found.keys() == wanted.keys() == set(SOURCES)
        for source in SOURCES:
            assert (found[source]["n_units"], found[source]["n_ratings"]) == (12, 24)
            assert round_all(found[source]["raw"]) == round_all(wanted[source]["raw"])
        assert round_all(once["pairs"][key]) == round_all(each["pairs"][key])
    assert once["entering"]["n_included"] == 58, "each judgment is counted once where judgments are counted"


def scope_of(project: Project) -> Scope:
    (criterion,) = criteria_in_use(project)
    return Scope(project=project, criterion=criterion)


def test_a_candidate_with_judgments_of_its_own_keeps_to_them(project: Project) -> None:
    fill_with_identical_answers(project, is_once=True)
    own = Candidate.objects.exclude(identical_to=None)[0]
    person = make_membership(project)
    judge(project, {own: {person: 1.0}})
    frame = fetch_shared_judgments(scope_of(project))
    mine = frame[frame["unit"] == own.pk]
    assert mine[["annotator", "value", RATED]].values.tolist() == [[person.pseudonym, 1.0, own.pk]]
    assert frame["unit"].is_monotonic_increasing
    assert not frame.duplicated(["unit", "annotator"]).any()


def test_the_first_rated_of_identical_answers_gives_its_judgments(project: Project) -> None:
    """Where the setting is turned on late, another than the first of a text may be the one that was rated."""
    question = make_question(make_passage(make_dataset(project)))
    first, second, third = (make_candidates(question, text="Same", source=source)[0] for source in SOURCES)
    person = make_membership(project)
    judge(project, {second: {person: 4.0}})
    Project.objects.update(rates_identical_once=True)
    mark_identical(project)
    frame = fetch_shared_judgments(scope_of(project))
    assert frame[["unit", "source", "value", RATED]].values.tolist() == [
        [first.pk, "span", 4.0, second.pk],
        [second.pk, "gpt", 4.0, second.pk],
        [third.pk, "t5", 4.0, second.pk],
    ]
    only = fetch_shared_judgments(scope_of(project), only=[third.pk])
    assert only.loc[only["unit"] == third.pk, RATED].tolist() == [second.pk]


def test_a_system_of_which_only_shared_answers_are_rated_is_warned_of(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    """As where a batch selects other sources alone."""
    Project.objects.update(rates_identical_once=True)
    dataset, person = make_dataset(project), make_membership(project)
    ratings: Ratings = {}
    for n in range(4):
        question = make_question(make_passage(dataset, f"p{n}"))
        (rated,) = make_candidates(question, source="span", text="Same" if n < 2 else "Mine")
        make_candidates(question, source="gpt", text="Same" if n < 2 else "Another")
        ratings = {**ratings, rated: {person: float(n + 1)}}
    mark_identical(project)
    judge(project, ratings)
    figures = compute(project)
    assert (figures["shared"], figures["only_shared"]) == ({"gpt": 2}, ["gpt"])
    page = condense(client_of(researcher).get(f"/p/{project.slug}/scores/systems/").content.decode())
    assert "Only answers that another source gave too are rated of: gpt." in page
    assert "Candidates with the ratings of an identical answer: gpt: 2." in page
    others = Candidate.objects.filter(source="gpt", text="Another")
    judge(project, {each: {person: 2.0} for each in others})
    assert compute(project)["only_shared"] == []


def test_two_batches_are_compared_with_shared_ratings(project: Project) -> None:
    fill_with_identical_answers(project, is_once=True)
    people = [make_membership(project) for _ in range(2)]
    rated = Candidate.objects.filter(identical_to=None)
    judge(project, {each: dict.fromkeys(people, 3.0) for each in rated})
    found = replication_figures(project, {**SETTINGS, "first": 1, "second": 2})
    assert {row["source"] for row in found["by"][""]["raw"]["systems"]} == set(SOURCES)


def test_z_scores_are_those_that_the_annotators_gave(project: Project) -> None:
    """Standardised over what each annotator rated, and then counted for each system that gave the answer."""
    fill_with_identical_answers(project, is_once=True)
    rated = fetch_judgments(scope_of(project))
    by_annotator = rated.groupby("annotator", observed=True)["value"]
    z = (rated["value"] - by_annotator.transform("mean")) / by_annotator.transform("std")
    by_unit = z.groupby(rated["unit"]).apply(list).to_dict()
    by_source: dict[str, list[float]] = {source: [] for source in SOURCES}
    for candidate in Candidate.objects.all():
        by_source[candidate.source] += by_unit[candidate.identical_to_id or candidate.pk]
    scores = compute(project)["scores"][""]
    assert {score["source"]: score["z"]["mean"] for score in scores} == pytest.approx(
        {source: sum(values) / len(values) for source, values in by_source.items()}
    )


def test_the_leaderboard_is_as_if_each_had_been_rated_alike(project: Project, owner: Membership) -> None:
    other = make_project()
    actor = make_membership(other, role=Membership.Role.OWNER)
    found = []
    for each, person, is_once in ((project, owner, True), (other, actor, False)):
        fill_with_identical_answers(each, is_once=is_once)
        give_scores(each, person, "Length", {answer.pk: len(answer.text) for answer in list_candidates(each)})
        settings = LeaderboardForm(each).settings(scope_of(each), read_gold_rule(each))
        (metric,) = leaderboard_figures(each, settings)["metrics"]
        found.append(round_all({name: metric[name] for name in ("n", "segment", "system", "soft")}))
    assert found[0] == found[1]
    assert found[0]["n"] == 36
