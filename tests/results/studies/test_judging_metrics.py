"""How metrics are judged: within groups, by pairs of answers and systems, permutation, ranks and repetition."""

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from measures.studies.grids import Grid
from measures.studies.pairwise import AnswerPairs, PairwiseAccuracy
from measures.studies.permutation import Permuted, permute
from measures.studies.soft_pairwise import SoftAccuracies, SoftAccuracy, compare_system_pairs
from measures.studies.within_groups import correlate_within
from projects.models import Membership, Project, Question, Reference
from projects.tables.writing import write
from results.models import MetricRun, Study
from results.studies.kinds import KINDS
from results.studies.presentation import find_table, list_caveats, list_sections
from results.studies.settings import Settings
from results.studies.tables import Estimate, Missing
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question, make_rubric
from tests.page_reader import read
from tests.people import SignIn
from tests.results.judged_batches import judge
from tests.results.studies.factories import give_scores, list_candidates, study

pytestmark = pytest.mark.django_db

SYSTEMS, N_QUESTIONS = ("a", "b", "c", "d"), 6


@pytest.fixture
def league(project: Project) -> Project:
    """Four systems on six questions of three passages, judged by one person on two criteria."""
    rubric = make_rubric(project, "qascore")
    rng, dataset, person = np.random.default_rng(5), make_dataset(project, "news"), make_membership(project)
    questions = [
        make_question(passage, f"q{2 * n + at}", references=("one", "two"))
        for n in range(N_QUESTIONS // 2) for passage in [make_passage(dataset, f"p{n}")] for at in range(2)
    ]  # fmt: skip
    answers = {
        (name, question.pk): make_candidates(question, source=name, rank=1)[0]
        for question, name in product(questions, SYSTEMS)
    }
    ratings = [
        {each: {person: float(np.clip(1 + SYSTEMS.index(each.source) + rng.integers(0, 2), 1, 5))}
         for each in answers.values()}
        for _criterion in range(2)
    ]  # fmt: skip
    for criterion, given in zip(rubric.criteria.order_by("position")[:2], ratings, strict=True):
        judge(project, given, rubric=rubric, criterion=criterion)
    return project


@pytest.fixture
def criteria(league: Project) -> list[str]:
    return list(league.rubrics.order_by("-version")[0].criteria.order_by("position").values_list("key", flat=True))


def rows(made: Study, name: str) -> dict[Any, list[Any]]:
    table = find_table(made, name)
    assert table is not None, (name, made.error)
    return {row[0]: [each.value if isinstance(each, Estimate) else each for each in row[1:]] for row in table.all_rows}


def score(project: Project, actor: Membership, title: str, seed: int, noise: float, **over: Any) -> MetricRun:
    rng = np.random.default_rng(seed)
    scores = {each.pk: SYSTEMS.index(each.source) / 4 + float(rng.normal(0, noise))
              for each in list_candidates(project)}  # fmt: skip
    return give_scores(project, actor, title, dict(scores), **over)


@pytest.mark.parametrize("kind", ["soft", "groups"])
def test_captions_name_the_method_of_intervals_that_stay_on_the_scale(
    league: Project, criteria: list[str], owner: Membership, kind: str
) -> None:
    made = study(league, owner, [score(league, owner, "Near", 1, 0.3)], kind, criterion=criteria[0], n_resamples=200)
    table = find_table(made, kind)
    assert table is not None
    assert table.caption.endswith(
        "; 95 % intervals by Wilson's method, the jackknife and Student's t over 3 passages)."
    )
    assert made.result is not None
    made.result["wording"] = 6
    table = find_table(made, kind)
    assert table is not None
    earlier = "; 95 % intervals by the jackknife with Student's t over 3 passages)."
    assert table.caption.endswith(earlier), "evaluations of earlier versions have other intervals"


def test_the_figures_are_those_of_the_measures_and_the_page_has_them(
    league: Project, criteria: list[str], researcher: Membership, client_of: SignIn
) -> None:
    near, far = (score(league, researcher, title, n, n / 3) for n, title in enumerate(("Near", "Far"), start=1))
    flat = give_scores(league, researcher, "Flat", {each.pk: 0.5 for each in list_candidates(league)})
    runs = [near, far, flat]
    options: dict[str, Any] = {"criterion": criteria[0], "n_resamples": 200}
    made = {
        "groups": study(league, researcher, runs, "groups", **options),
        "pairwise": study(league, researcher, runs, "pairwise", options={"epsilon": 0.1}, **options),
        "soft": study(league, researcher, runs, "soft", **options),
        "significance": study(league, researcher, runs, "significance", options={"permutation": "inputs"}, **options),
    }
    for kind, each in made.items():
        assert each.state == Study.State.DONE, (kind, each.error)
    frame = KINDS["groups"].read(league, Settings.from_dict(made["groups"].settings))
    questions, passages = frame.codes("question"), frame.codes("passage")
    scores = {metric.label: frame.scores(metric) for metric in frame.metrics if metric.label != "Flat"}
    by_question = correlate_within(
        frame.gold, scores, questions, units=passages, rng=np.random.default_rng(1)
    ).metrics  # fmt: skip
    assert rows(made["groups"], "groups")["Near"][:3] == [each.value for each in by_question["Near"].values()]
    pairs = AnswerPairs(frame.gold, questions, units=passages)
    best = pairs.measure(scores["Near"])
    given = pairs.measure(scores["Near"], threshold="number", epsilon=0.1)
    assert isinstance(best, PairwiseAccuracy)
    assert isinstance(given, PairwiseAccuracy)
    found = rows(made["pairwise"], "pairwise")
    assert found["Near"][2:] == pytest.approx([best.accuracy, best.epsilons[0], best.tie_share, given.accuracy])
    assert found["Floor: everything tied"][0] == found["Flat"][5]
    note = list_sections(made["groups"])[0].note
    assert note.endswith("Without a correlation: up to 6, depending on the metric, have equal metric scores.")
    grid = Grid.of(frame.gold, scores, systems=frame.table["source"].to_numpy(str), questions=questions, units=passages)
    soft = compare_system_pairs(grid, rng=np.random.default_rng(1))
    assert isinstance(soft, SoftAccuracies)
    near_soft = soft.metrics["Near"]
    assert isinstance(near_soft, SoftAccuracy)
    assert rows(made["soft"], "soft")["Near"] == [near_soft.soft, near_soft.plain]
    table = find_table(made["soft"], "soft")
    assert table is not None
    assert "n = 6 pairs of 4 systems on 6 questions, at least 1 judgment of each answer;" in table.caption
    assert rows(made["soft"], "soft")["Flat"] == [Missing("all scores are equal")] * 2
    pair = permute(grid, rng=np.random.default_rng(1)).pairs["Near", "Far"]
    assert isinstance(pair, Permuted)
    assert [row for row in rows(made["significance"], "permutation")["Near"] if isinstance(row, float)] == [
        pair.p_first
    ]
    assert isinstance(rows(made["significance"], "permutation")["Flat"][0], Missing)
    assert "It takes 5 passages." not in " ".join(list_caveats(made["significance"]))
    assert "smallest corrected p" in " ".join(list_caveats(made["significance"])), "three passages decide nothing"
    again = study(league, researcher, runs, "significance", **options)
    assert find_table(again, "permutation") is None, "as requested by an earlier version"
    client = client_of(researcher)
    for each in made.values():
        page = client.get(each.get_absolute_url()).content.decode()
        assert "None," not in re.sub(r"<[^>]+>", " ", page)
        for section in list_sections(each):
            assert section.table.title.replace("'", "&#x27;") in page or section.choice
            assert len(write(section.table, "tex")) > 100
    assert read(page).rows("Pearson's r for conclusions about new systems and new passages")[0]["Metric"]


def test_passages_count_as_in_the_intervals(league: Project, criteria: list[str], researcher: Membership) -> None:
    """A question with one answer is in no pair and no group, and weighs on no passage there."""
    passage = Question.objects.order_by("pk")[0].passage
    person = league.memberships.get(role=Membership.Role.ANNOTATOR)
    (alone,) = make_candidates(make_question(passage, "alone"), source="a")
    rubric = league.rubrics.order_by("-version")[0]
    judge(league, {alone: {person: 3.0}}, rubric=rubric, criterion=rubric.criteria.get(key=criteria[0]))
    run = score(league, researcher, "Near", 1, 0.3)
    for kind, n_effective in (
        ("correlation", 25**2 / (9**2 + 8**2 + 8**2)),
        ("groups", 3),
        ("pairwise", 3),
        ("soft", 3),
    ):
        made = study(league, researcher, [run], kind, criterion=criteria[0], n_resamples=100)
        assert made.result is not None, (kind, made.error)
        assert made.result["figures"]["intervals"]["n"] == 3
        assert made.result["figures"]["intervals"]["n_effective"] == pytest.approx(n_effective), kind


def test_ranked_answers_are_judged_by_metrics_and_people(
    league: Project, criteria: list[str], researcher: Membership
) -> None:
    # Each system gets a second answer to the first question, of lower confidence than the first has rank.
    question = Question.objects.order_by("pk")[0]
    second = {name: make_candidates(question, source=name, rank=2)[0] for name in SYSTEMS}
    make_candidates(question, source="unranked")
    scores = {each.pk: 0.9 if each.source in "cd" else 0.1 for each in list_candidates(league)}
    scores[second["a"].pk] = 0.8
    run = give_scores(league, researcher, "Metric", dict(scores))
    options: dict[str, Any] = {
        "criterion": criteria[0],
        "options": {"threshold": 0.5, "human_threshold": 4, "depth": 3},
    }
    made = study(league, researcher, [run], "top_n", **options)
    assert made.state == Study.State.DONE, made.error
    found = rows(made, "top-n")
    # 24 lists: those of c and d reach it at once, and one of a by its second answer.
    assert found["Metric"] == pytest.approx([12 / 24, 13 / 24, 12.5 / 24, 24, 0])
    people = found["People, gold score of at least 4"]
    assert people[3:] == [20, 4], "The second answers of the first question are not judged."
    systems = find_table(made, "top-n-systems")
    assert systems is not None
    assert [row[:2] for row in systems.rows][:3] == [
        ["a", "Metric"],
        ["a", "People, gold score of at least 4"],
        ["b", "Metric"],
    ]
    section = list_sections(made)[0]
    assert section.charts[0].spec["layer"][0]["encoding"]["x"]["axis"]["format"] == "d", "N has no decimals."
    note = section.note
    assert "Left out are lists without ranks or confidences (unranked: 1)." in note
    assert "The longest list has 2 answers." in note
    assert [column.title for column in systems.columns[2:5]] == ["Top-1", "Top-2", "Mean reciprocal rank"]
    assert max(row["n"] for row in section.charts[0].rows) == 2, "beyond the longest list nothing changes"
    assert made.result is not None
    made.result["figures"].pop("longest")
    assert [column.title for column in list_sections(made)[1].table.columns[2:4]] == ["Top-1", "Top-3"], (
        "an evaluation of an earlier version keeps its columns"
    )
    partly = give_scores(league, researcher, "Partly", {**scores, second["b"].pk: None})
    both = rows(study(league, researcher, [run, partly], "top_n", **options), "top-n")
    assert both["Metric"] == both["Partly"], "Both on the lists that both have scored."
    assert both["Metric"][3:] == [23, 1]


def test_policies_of_rouge_are_compared_by_a_criterion_of_redundancy(
    league: Project, criteria: list[str], researcher: Membership
) -> None:
    settings = [{"n": 1, "measure": "recall", "policy": policy} for policy in ("max", "pooled")]
    best, pooled = (
        score(league, researcher, "ROUGE-1", n, 0.3, metric="rouge_1", settings=each)
        for n, each in enumerate(settings, start=3)
    )
    options: dict[str, Any] = {"criterion": criteria[0], "options": {"redundancy": criteria[1]}}
    made = study(league, researcher, [best, pooled], "redundancy", **options)
    assert made.state == Study.State.DONE, made.error
    assert set(rows(made, "redundancy")) == {"ROUGE-1 (policy max)", "ROUGE-1 (policy pooled)", "Log length"}
    (tested,) = rows(made, "policies").values()
    assert 0 < tested[2] <= 1
    gains = find_table(made, "gains-1")
    assert gains is not None
    listed: list[Any] = [row[2] for row in gains.rows]
    assert listed == sorted(listed, reverse=True)
    assert len(listed) == 20
    Reference.objects.filter(position=1, question__external_id="q0").delete()
    fewer = study(league, researcher, [best, pooled], "redundancy", **options)
    assert "4 have fewer than two references" in list_sections(fewer)[0].note
    assert fewer.result is not None
    assert (fewer.result["n"], fewer.result["n_judgments"]) == (20, 20)
    Reference.objects.filter(position=1).delete()
    failed = study(league, researcher, [best, pooled], "redundancy", **options)
    assert "24 have fewer than two references" in failed.error
    same = study(league, researcher, [best, pooled], "redundancy", criterion=criteria[0],
                 options={"redundancy": criteria[0]})  # fmt: skip
    assert "Choose two criteria" in same.error
    none = study(league, researcher, [best, pooled], "redundancy", criterion=criteria[0])
    assert "Choose two criteria" in none.error


def test_what_a_kind_lacks_is_said_before_it_runs(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    sent = {"metrics": [run.subject for run in runs], "criterion": "correctness", "gold": "mean", "resamples": 100}
    for kind, over, sentence in (
        ("groups", {"group_by": "question", "undefined_as": "left_out"}, "No question has 3 answers with scores"),
        ("soft", {"signs": "question"}, "needs 4 systems. The candidates with scores are of 2."),
        ("top_n", {}, "No answer has a rank or a confidence."),
    ):
        response = client.post(f"/p/bridges/studies/new/?kind={kind}", {**sent, **over})
        page = re.sub(r"\s+", " ", response.content.decode())
        assert response.status_code == 422, kind
        assert sentence in page
    assert "Compute ROUGE-1, ROUGE-2 or ROUGE-SU4" in client.get(
        "/p/bridges/studies/new/?kind=redundancy"
    ).content.decode()  # fmt: skip
    assert not Study.objects.exists()


@pytest.mark.parametrize("level", ["none", "question"])
def test_permutation_averages_answers_only_where_questions_are_correlated(
    league: Project, criteria: list[str], researcher: Membership, level: str
) -> None:
    rng, person = np.random.default_rng(7), make_membership(league)
    more = [make_candidates(each.question, source=each.source, rank=2)[0] for each in list_candidates(league)]
    judge(
        league,
        {each: {person: float(rng.integers(1, 6))} for each in more},
        rubric=league.rubrics.order_by("-version")[0],
        criterion=league.rubrics.order_by("-version")[0].criteria.order_by("position")[0],
    )
    runs = [score(league, researcher, title, n, n / 3) for n, title in enumerate(("Near", "Far"), start=1)]
    options = {"permutation": "both", "level": level}
    made = study(league, researcher, runs, "significance", criterion=criteria[0], n_resamples=100, options=options)
    overall, drawn = (rows(made, name)["Near"][0] for name in ("metrics", "boot-both"))
    is_same = drawn == pytest.approx(overall)
    assert is_same == (level == "none"), "“all answers” are those of every other table"
    averaged = "Several answers of a system to one question were averaged (24 times) for the permutation test and"
    assert (averaged in " ".join(list_caveats(made))) == (level == "question")
