import pytest

from projects.models import Candidate, Membership, Project
from results.metrics import computing
from results.models import MetricRun, Study
from results.studies.presentation import find_table, list_warnings
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.page_reader import read
from tests.people import SignIn
from tests.results.judged_batches import judge
from tests.results.studies.factories import give_scores, study

WORDS = ["the", "harbour", "was", "frozen", "over", "in", "the", "winter", "of", "that", "year"]


@pytest.fixture
def adapted(project: Project, owner: Membership) -> list[MetricRun]:
    """Answers to yes-no questions that people rate by their opinion, and to one about an entity, and their metrics."""
    dataset = make_dataset(project, "frost")
    person, ratings = make_membership(project), {}
    for n in range(12):
        question = make_question(make_passage(dataset), type="yes-no")
        question.references.update(text=" ".join(WORDS[: 4 + n % 5]), opinion="Yes")
        for is_right in (True, False):
            text = " ".join(WORDS[: 3 + (n * 3 + is_right) % 6])
            (made,) = make_candidates(question, text=text, opinion="Yes" if is_right else "No")
            ratings[made] = {person: (4.0 + n % 2) if is_right else (1.0 + n % 2)}
    judge(project, ratings)
    runs = []
    for name in ("adapted_bleu", "adapted_rouge_l"):
        run = computing.request_run(project=project, actor=owner, name=name, settings={}, is_enqueued=False)
        computing.run(run.pk)
        runs.append(run)
    return runs


def test_the_bonus_for_the_right_opinion_raises_the_correlation(
    project: Project, owner: Membership, adapted: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    made = study(project, owner, adapted, "sweep", n_resamples=100, options={"largest": 2.0, "step": 0.5})
    assert made.state == Study.State.DONE, made.error
    figures = made.result["figures"]
    assert figures["weights"] == [0.0, 0.5, 1.0, 1.5, 2.0]
    for run in adapted:
        points = figures["sweeps"]["alpha"]["metrics"][run.subject]
        values = [point["pearson"]["value"] for point in points]
        assert values[-1] > values[1] > values[0]
        assert points[-1]["gain"]["value"] == pytest.approx(values[-1] - values[0])
        assert points[-1]["gain"]["low"] > 0
        scores = dict(run.scores.values_list("candidate_id", "value"))  # alpha 2 is the setting of the run itself
        alone = study(project, owner, [run], n_resamples=100).result["figures"]["whole"][run.subject]
        assert len(scores) == 24
        assert alone["pearson"]["value"] == pytest.approx(values[-1], abs=1e-9)
    answer = client_of(researcher).get(made.get_absolute_url()).content.decode()
    rows = read(answer).rows("Bonus for the right opinion: alpha on yes-no answers")
    assert [row["alpha"] for row in rows] == [
        "0.00",
        "0.50",
        "1.00",
        "1.50",
        "2.00",
        "Single annotator vs. rest",
        "Ceiling (for Pearson only)",
    ]
    assert "No candidate answers an entity question" in answer


def test_a_metric_without_a_bonus_is_not_offered_and_refused(
    project: Project, owner: Membership, adapted: list[MetricRun], client_of: SignIn
) -> None:
    plain = give_scores(project, owner, "Plain", dict(adapted[0].scores.values_list("candidate_id", "value")))
    form = client_of(owner).get("/p/bridges/studies/new/?kind=sweep").context["form"]
    assert {value for value, _label in form.fields["metrics"].choices} == {run.subject for run in adapted}
    made = study(project, owner, [adapted[0], plain], "sweep", n_resamples=100)
    assert made.error == "Plain has no bonus weight. Choose adapted metrics only."
    steps = study(project, owner, adapted, "sweep", n_resamples=100, options={"largest": 100.0, "step": 0.01})
    assert steps.error == "Choose weights up to 100, in at most 100 steps."
    emptied = study(project, owner, adapted, "sweep", n_resamples=100, options={"largest": None, "step": None})
    assert emptied.result["figures"]["weights"] == [n / 2 for n in range(11)]


def test_a_weight_without_effect_is_told_and_captions_count_the_answers_of_the_sweep(
    project: Project, owner: Membership, adapted: list[MetricRun]
) -> None:
    made = study(project, owner, adapted, "sweep", n_resamples=100, options={"largest": 1.0, "step": 0.5})
    assert made.result is not None, made.error
    assert len(list_warnings(made)) == 1, "of few passages"
    table = find_table(made, "alpha")
    assert table is not None
    words = "n = 24 answers, at least 1 judgment of each; 95 % intervals by the jackknife with Student's t over 12"
    assert words in table.caption
    assert "; those of gains by the percentile bootstrap over passages, 100 resamples, seed" in table.caption
    made.result["wording"] = 2
    table = find_table(made, "alpha")
    assert table is not None
    assert ", n = 24 (criterion" in table.caption
    assert "; 95 % intervals by the percentile" in table.caption, "files in sets of earlier versions keep their words"

    Candidate.objects.update(opinion="")
    made = study(project, owner, adapted, "sweep", n_resamples=100, options={"largest": 1.0, "step": 0.5})
    assert list_warnings(made)[0] == (
        "Alpha changes nothing: no answer to a yes-no question has the opinion of a reference, so none has a bonus. "
        "Import opinions of answers and references to study it."
    )
