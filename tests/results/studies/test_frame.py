"""What a study rests on: gold scores by the rule asked for, joined to metrics on the answers that all have."""

import numpy as np
import pytest
from scipy import stats

from annotate.models import Adjudication, Judgment
from measures.gold_rules import GoldRule
from projects.errors import Refused
from projects.models import Candidate, Membership, MinimalPair, Project
from results.models import MetricRun, MetricScore
from results.scores.gold import gold_figures
from results.studies.frame import GOLD, read_frame
from results.studies.metrics_chosen import choose_runs, make_labels
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.measures.frames import SAME_IN_ANY_ORDER
from tests.results.judged_batches import judge
from tests.results.studies.factories import REFUSED, give_scores, list_candidates, make_settings, study

pytestmark = pytest.mark.django_db


def list_values(candidate: Candidate) -> list[float]:
    return [float(value or 0) for value in Judgment.objects.filter(candidate=candidate).values_list("value", flat=True)]


def test_an_answer_that_one_metric_has_no_score_for_is_left_out_for_all(
    judged: Project, runs: list[MetricRun], owner: Membership
) -> None:
    candidates = list_candidates(judged)
    refused, unknown = candidates[0], candidates[1]
    lacking = {each.pk: None if each == refused else 0.1 * n for n, each in enumerate(candidates) if each != unknown}
    run = give_scores(judged, owner, "Lacking", lacking)
    frame = read_frame(judged, make_settings(judged, [runs[0], run]))
    assert sorted(frame.table["candidate"]) == sorted(each.pk for each in candidates[2:])
    assert frame.left_out.no_score == 2
    near, lacks = frame.metrics
    assert (near.n_missing, lacks.n_missing) == (0, 2)
    assert lacks.reasons == {REFUSED: 1, "not among the scores": 1}
    assert set(lacks.missing) == {refused.external_id, unknown.external_id}
    zeros = read_frame(judged, make_settings(judged, [runs[0], run], as_zero=True))
    assert zeros.table.set_index("candidate")[run.subject][[refused.pk, unknown.pk]].tolist() == [0, 0]
    assert (len(zeros.table), zeros.left_out.no_score) == (20, 0)


def test_gold_scores_are_those_of_the_rule_and_adjudicated_ones_win_only_where_the_project_says_so(
    judged: Project, runs: list[MetricRun], owner: Membership
) -> None:
    one = list_candidates(judged)[0]
    criterion = judged.rubrics.get().criteria.get()
    Adjudication.objects.create(candidate=one, criterion=criterion, value=1, adjudicator=owner)
    for over, gold in (
        ({}, np.mean(list_values(one))),
        ({"gold": GoldRule.MEDIAN}, np.median(list_values(one))),
        ({"adjudication_wins": True}, 1.0),
    ):
        frame = read_frame(judged, make_settings(judged, runs[:1], **over))
        assert frame.table.set_index("candidate")[GOLD][one.pk] == gold


def test_z_scores_of_answers_with_equal_ratings_are_the_same_number(project: Project, owner: Membership) -> None:
    people = {name: make_membership(project) for name in "abc"}
    candidates = make_candidates(make_question(make_passage(make_dataset(project))), len(SAME_IN_ANY_ORDER))
    ratings = [zip(*each.split(), strict=True) for each in SAME_IN_ANY_ORDER]
    judge(
        project,
        {
            candidate: {people[name]: float(value) for name, value in own}
            for candidate, own in zip(candidates, ratings, strict=True)
        },
    )
    run = give_scores(project, owner, "Metric", {each.pk: float(n) for n, each in enumerate(candidates)})
    golds = read_frame(project, make_settings(project, [run], gold=GoldRule.Z)).gold
    assert len(np.unique(golds)) == len(np.unique(golds.round(9))) == 4
    scope = {"criterion": "correctness", "stage": "full", "batch": None, "blind": False}
    *_others, found = gold_figures(project, {**scope, "controls": True, "settled": False})["correlations"]
    medians = [np.median(list_values(each)) for each in candidates]
    assert found.spearman == pytest.approx(stats.spearmanr(medians, golds.round(9)).statistic)


def test_minimal_pairs_and_answers_with_too_few_judgments_stay_out(
    judged: Project, runs: list[MetricRun], owner: Membership
) -> None:
    candidates = list_candidates(judged)
    MinimalPair.objects.create(
        question=candidates[0].question, candidate_1=candidates[0], candidate_2=candidates[1], score_1=5, score_2=1
    )
    Judgment.objects.filter(pk=Judgment.objects.filter(candidate=candidates[2]).earliest("pk").pk).update(
        is_counted=False, not_counted_reason="surplus"
    )
    frame = read_frame(judged, make_settings(judged, runs[:1], least_judgments=2, sources=("strong",)))
    assert (frame.left_out.minimal_pairs, frame.left_out.other_places, frame.left_out.few_judgments) == (2, 9, 0)
    frame = read_frame(judged, make_settings(judged, runs[:1], least_judgments=2))
    assert frame.left_out.few_judgments == 1
    assert set(frame.table["candidate"]) == {each.pk for each in candidates[3:]}


def test_refusals_say_what_is_in_the_way(judged: Project, runs: list[MetricRun], owner: Membership) -> None:
    nowhere = make_settings(judged, runs, datasets=("elsewhere",))
    with pytest.raises(Refused, match="20 are filtered out"):
        read_frame(judged, nowhere)
    nothing = give_scores(judged, owner, "Nothing", {each.pk: None for each in list_candidates(judged)})
    with pytest.raises(Refused, match="Nothing: 0"):
        read_frame(judged, make_settings(judged, [runs[0], nothing]))
    runs[0].delete()
    with pytest.raises(Refused, match="no longer have scores"):
        read_frame(judged, make_settings(judged, runs))


def test_correlations_are_scipys_and_their_mean_over_datasets_counts_each_the_same(
    judged: Project, runs: list[MetricRun], owner: Membership
) -> None:
    made = study(judged, owner, runs, n_resamples=100)
    assert made.result is not None
    figures, near = made.result["figures"], runs[0].subject
    scores = dict(MetricScore.objects.filter(run=runs[0]).values_list("candidate_id", "value"))
    pairs = {
        name: [
            (scores[each.pk], np.mean(list_values(each)))
            for each in list_candidates(judged)
            if name in ("", each.question.passage.dataset.name)
        ]
        for name in ("", "news", "stories")
    }
    r = {name: stats.pearsonr(*zip(*rows, strict=True)).statistic for name, rows in pairs.items()}
    assert figures["whole"][near]["pearson"]["value"] == pytest.approx(r[""])
    assert figures["whole"][near]["kendall"]["value"] == pytest.approx(
        stats.kendalltau(*zip(*pairs[""], strict=True)).statistic
    )
    assert figures["mean"]["metrics"][near]["pearson"]["value"] == pytest.approx((r["news"] + r["stories"]) / 2)
    assert figures["mean"]["metrics"][runs[2].subject]["pearson"]["value"] == {"reason": "all scores are equal"}
    again = study(judged, owner, runs, n_resamples=100)
    assert again.result is not None
    assert {**again.result, "read_at": ""} == {**made.result, "read_at": ""}
    other = study(judged, owner, runs, n_resamples=100, seed=2)
    assert other.result is not None
    # Only the mean of the datasets is resampled; the jackknife draws nothing.
    assert other.result["figures"]["whole"] == figures["whole"]
    assert other.result["figures"]["mean"] != figures["mean"]


def test_metrics_of_one_title_are_distinguished_by_what_differs(judged: Project, owner: Membership) -> None:
    runs = [
        give_scores(judged, owner, "ROUGE-L", {}, settings={"stem": stem, "tokeniser": "alnum"})
        for stem in (True, False)
    ]
    assert list(make_labels(runs).values()) == ["ROUGE-L (stem yes)", "ROUGE-L (stem no)"]
    assert choose_runs(runs, ["rouge-l (STEM no)"]) == runs[1:]
    assert choose_runs(runs, ["rouge-l"]) == runs
