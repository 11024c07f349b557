import numpy as np
import pytest

from projects.models import Membership, Project
from results.metrics import computing, registry
from results.models import MetricScore, Study
from results.studies.presentation import list_sections
from tests.results.studies.factories import list_candidates, study


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
