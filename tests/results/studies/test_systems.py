import numpy as np
import pytest

from annotate.models import Adjudication
from projects.models import Candidate, Criterion, Membership, Project
from results.metrics import computing, registry
from results.models import MetricScore, Study
from results.studies.presentation import list_caveats, list_sections
from results.studies.ranked_frame import read_ranked
from tests.factories import make_membership, make_project
from tests.results.judged_batches import fill_with_identical_answers, round_all
from tests.results.studies.factories import give_scores, list_candidates, make_settings, study


def test_bleu_is_of_the_corpus_of_a_draw_and_rouge_a_mean_in_which_a_missing_score_may_be_zero(
    judged: Project, owner: Membership
) -> None:
    runs = {}
    for name in ("bleu_1", "adapted_rouge_l"):
        run = computing.request_run(project=judged, actor=owner, name=name, settings={}, is_enqueued=False)
        computing.run(run.pk)
        runs[name] = run
    weak = [each for each in list_candidates(judged) if each.source == "weak"]
    rouge = runs["adapted_rouge_l"].scores
    rouge.update(value=0.5)
    rouge.filter(candidate=weak[0]).update(value=None, reason="gone", counts=None)
    options = {"n_questions": 10, "n_draws": 3}
    made = study(judged, owner, runs.values(), "systems", as_zero=True, n_resamples=100, options=options)
    assert made.state == Study.State.DONE, made.error
    figures = made.result["figures"]
    assert [figures["is_corpus"][run.subject] for run in runs.values()] == [True, False]
    of_rouge = figures["whole"][runs["adapted_rouge_l"].subject]
    assert dict(zip(of_rouge["systems"], of_rouge["metric"], strict=True)) == pytest.approx(
        {"strong": 0.5, "weak": 0.5 * 9 / 10}
    )
    rows = MetricScore.objects.filter(run=runs["bleu_1"], candidate__in=weak)
    sums = np.array([each.counts for each in rows], dtype=np.float64).sum(axis=0)
    metric = registry.make_metric("bleu_1", {})
    of_bleu = figures["draws"][runs["bleu_1"].subject]  # each draw has all ten questions
    assert of_bleu["metric_mean"][of_bleu["systems"].index("weak")] == pytest.approx(float(metric.combine(sums)))
    (over_all,) = [each for each in list_sections(made) if each.name == "systems"]
    assert over_all.note.endswith("These metrics have corpus scores here and means on the leaderboard: BLEU-1.")


KINDS = {
    "correlation": {},
    "systems": {"n_questions": 12, "n_draws": 3},  # each draw has all questions, in whatever order
    "soft": {},
    "groups": {},
    "pairwise": {},
    "significance": {},
}


@pytest.mark.parametrize("kind", KINDS)
def test_identical_answers_are_evaluated_as_if_each_had_been_rated_alike(
    kind: str, project: Project, owner: Membership
) -> None:
    other = make_project()
    actor = make_membership(other, role=Membership.Role.OWNER)
    found = {}
    for each, person, is_once in ((project, owner, True), (other, actor, False)):
        fill_with_identical_answers(each, is_once=is_once)
        rng = np.random.default_rng(2)
        by_text = {text: rng.normal(size=12) for text in ("Same", "Other", "One", "Two", "Three")}
        runs = []
        for name, share in (("Near", 1), ("Far", 9)):
            scores = {
                answer.pk: len(answer.text) + share * by_text[answer.text][int(answer.question.external_id[1:])]
                for answer in list_candidates(each)
            }
            runs.append(give_scores(each, person, name, scores))
        made = study(each, person, runs, kind, n_resamples=100, options=KINDS[kind])
        assert made.state == Study.State.DONE, made.error
        found[is_once] = made.result
        assert ("7 candidates have the ratings of an identical answer" in " ".join(list_caveats(made))) is is_once
        assert (made.result["n_judgments"], made.result["n"]) == (58 if is_once else 72, 36)
    assert (found[True].pop("n_shared"), found[False].pop("n_shared")) == (7, 0)
    once, apart = (round_all(found[each]["figures"]) for each in (True, False))
    assert once == apart


def test_ranked_answers_have_the_gold_score_of_an_identical_one(project: Project, owner: Membership) -> None:
    fill_with_identical_answers(project, is_once=True)
    Candidate.objects.update(rank=1)
    marked = Candidate.objects.exclude(identical_to=None)[0]
    assert marked.identical_to is not None
    Adjudication.objects.create(
        candidate=marked.identical_to, criterion=Criterion.objects.get(), value=5, adjudicator=owner
    )
    run = give_scores(project, owner, "Length", {c.pk: len(c.text) for c in list_candidates(project)})
    frame = read_ranked(project, make_settings(project, [run], adjudication_wins=True))
    golds = frame.table.set_index("candidate")["gold"]
    assert golds.notna().all()
    for pk, rated in Candidate.objects.exclude(identical_to=None).values_list("pk", "identical_to__pk"):
        assert golds[pk] == golds[rated]
    assert golds[marked.pk] == 5, "the adjudicated score comes with the judgments"
    assert len(frame.judgments) == 72
