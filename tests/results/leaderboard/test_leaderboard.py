"""The leaderboard: ranks that metrics share, what is missing said, parts that hold kept, its page, files and API."""

import re
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.utils import timezone
from scipy.stats import t

from measures.studies.permutation import Permuted, permute
from measures.studies.system_means import correlate_means
from projects.jobs import running
from projects.models import Membership, Passage, Project
from results.leaderboard.tables import list_notes, tabulate_leaderboard
from results.models import MetricRun, Report
from results.reports import reports
from results.studies.frame import read_frame
from results.studies.kinds.soft import make_grid
from results.studies.tables import Estimate, Missing
from tests.factories import make_candidates, make_membership, make_pair
from tests.page_reader import read
from tests.people import SignIn
from tests.projects.api.client import Script
from tests.projects.tables.latex import check_latex
from tests.results.judged_batches import judge
from tests.results.studies.factories import give_scores, list_candidates, make_settings

pytestmark = pytest.mark.django_db

HERE = "/p/bridges/leaderboard/"
SETTINGS: dict[str, Any] = {
    "criterion": "correctness", "stage": "full", "batch": None, "blind": False, "gold": "mean", "controls": True,
    "adjudication_wins": False, "datasets": [], "splits": [],
}  # fmt: skip


def compute(project: Project, **over: Any) -> dict[str, Any]:
    return reports._compute(project, "leaderboard", {**SETTINGS, **over})


def read_pairs(figures: dict[str, Any]) -> list[list[Any]]:
    return [list(row) for row in tabulate_leaderboard(figures)[1].rows]


def rows(figures: dict[str, Any]) -> dict[str, dict[str, Any]]:
    table = tabulate_leaderboard(figures)[0]
    keys = [column.key for column in table.columns]
    return {str(row[0]): dict(zip(keys, row, strict=True)) for row in table.rows}


def test_metrics_are_ranked_on_the_same_candidates(judged: Project, runs: list[MetricRun]) -> None:
    start = timezone.now()
    MetricRun.objects.filter(pk=runs[0].pk).update(
        origin=MetricRun.Origin.COMPUTED, started_at=start, finished_at=start + timedelta(seconds=0.5)
    )
    resumed = {**MetricRun.objects.get(pk=runs[0].pk).report, "n_resumed": 10}
    MetricRun.objects.filter(pk=runs[0].pk).update(report=resumed)
    assert rows(compute(judged))["Near"]["cost"] == pytest.approx(50), "the last attempt scored half of them"
    MetricRun.objects.filter(pk=runs[0].pk).update(report={**resumed, "n_resumed": 0})
    figures = compute(judged)
    near, far, flat = (rows(figures)[run.title] for run in runs)
    assert (near["rank"], near["rank_last"], far["rank"], far["rank_last"]) == (1, 1, 2, 2)
    assert flat["rank"] == Missing("all scores are equal"), "nothing can be said of its place"
    frame = read_frame(judged, make_settings(judged, runs[:2]))
    pair = permute(make_grid(frame), rng=np.random.default_rng(1)).pairs[runs[0].subject, runs[1].subject]
    assert isinstance(pair, Permuted)
    ((first, second, difference, p, holm),) = read_pairs(figures)
    assert (first, second) == ("Near", "Far & <b>away</b>")
    assert p == pytest.approx(pair.p_first), "ten passages, so every pattern is tried"
    assert (difference, holm) == pytest.approx((pair.difference, 2 * pair.p_first))
    assert near["system"] == Missing("fewer than three systems")
    assert near["soft"] == Missing("fewer than four systems")
    assert "pairs" not in near
    assert "There are no minimal pairs with human scores." in list_notes(figures)
    assert (near["cost"], far["cost"]) == (pytest.approx(25), Missing("from a file"))
    assert isinstance(near["segment"], Estimate)
    assert near["segment"].low is not None
    held_out = "No metric was trained with a dataset held out."
    assert held_out not in list_notes(figures), "none was trained at all"
    figures["metrics"][0]["signature"] = "lerc:reading|version:1"
    assert held_out in list_notes(figures)
    assert "share a rank" in list_notes(figures)[0]


def test_pairs_differ_by_the_correlations_shown_where_systems_give_several_answers(
    judged: Project, owner: Membership
) -> None:
    rng, people = np.random.default_rng(6), [make_membership(judged) for _ in range(2)]
    more = [make_candidates(each.question, source=each.source)[0] for each in list_candidates(judged)]
    judge(judged, {each: {person: float(rng.integers(1, 6)) for person in people} for each in more})
    for title in ("One", "Two"):
        give_scores(judged, owner, title, {each.pk: float(rng.normal()) for each in list_candidates(judged)})
    figures = compute(judged)
    shown = {title: row["segment"].value for title, row in rows(figures).items()}
    ((first, second, difference, *_ps),) = read_pairs(figures)
    assert difference == pytest.approx(shown[first] - shown[second])
    assert difference > 0, "the caption says that the higher correlation comes first"


def test_a_project_none_of_whose_metrics_has_enough_scores_says_why_none_is_ranked(
    judged: Project, owner: Membership, researcher: Membership, client_of: SignIn
) -> None:
    """As where a question has no reference: most metrics then score none of its candidates."""
    give_scores(judged, owner, "Most", {each.pk: each.pk % 5 / 5 for each in list_candidates(judged)[:17]})
    says = "No metric is ranked: none has scores for at least 90 % of the 20 judged candidates."
    (why,) = compute(judged)["warnings"]
    assert why.startswith(says)
    assert "“Most” comes closest, with scores for 17. The others have none: not among the scores, 3." in why
    assert why.endswith("3. Upload scores of all candidates under Results › Automatic metrics.")
    MetricRun.objects.filter(title="Most").update(origin=MetricRun.Origin.COMPUTED)
    (why,) = compute(judged)["warnings"]
    assert why.endswith("3. Compute the metrics again under Results › Automatic metrics.")
    run = MetricRun.objects.get(title="Most")
    for candidate in list_candidates(judged)[17:]:
        run.scores.create(candidate=candidate, value=None, reason="seen in training")
    (why,) = compute(judged)["warnings"]
    assert why.endswith("The others have none: seen in training, 3."), "no run will give them scores"
    give_scores(judged, owner, "More", {each.pk: each.pk % 5 / 5 if n < 17 else None
                                        for n, each in enumerate(list_candidates(judged))})  # fmt: skip
    MetricRun.objects.filter(title="Most").delete()
    (why,) = compute(judged)["warnings"]
    assert "“More” comes closest, with scores for 17. The others have none: no reference, 3." in why
    assert why.endswith("Import references for their questions under Data › Imports, then compute the metrics again.")
    notes = list_notes(compute(judged))
    assert not any("permutation" in each or "the same 0 of" in each for each in notes), "nothing was tested"
    client = client_of(researcher)
    client.post(HERE)
    running.run(Report, Report.objects.latest("pk").pk, reports.make, only_reads=True)
    page = client.get(HERE).content.decode()
    assert says in page
    assert "no metric is ranked" in page
    assert "fewer than three candidates" not in page


def test_a_metric_with_few_scores_is_named_and_not_ranked(
    judged: Project, runs: list[MetricRun], owner: Membership
) -> None:
    candidates = list_candidates(judged)
    news = {each.pk: each.pk % 5 / 5 for each in candidates if each.dataset.name == "news"}
    about = {"report": {"about": {"held_out": "news"}}}
    give_scores(judged, owner, "Trained", dict(news), **about)
    pair = make_pair(candidates[0].question, "pair", score_1=5, score_2=1)
    give_scores(judged, owner, "Whole", {**{each.pk: each.pk % 3 / 3 for each in candidates},
                                         pair.candidate_1_id: 0.9, pair.candidate_2_id: 0.1})  # fmt: skip
    figures = compute(judged)
    trained = rows(figures)["Trained"]
    assert trained["rank"] == Missing("scored 10 of 20 judged candidates")
    assert (trained["n"], rows(figures)["Near"]["n"]) == (10, 20), "it takes no candidate from the others"
    assert trained["held_out_dataset"] == "news"
    assert trained["held_out"].value == trained["segment"].value
    assert rows(figures)["Near"]["held_out"] == Missing("not trained with a dataset held out")
    assert rows(figures)["Whole"]["pairs"].value == 100
    assert rows(figures)["Near"]["pairs"] == Missing("scored 0 of 1 pairs")
    there = rows(compute(judged, datasets=["news"]))
    assert isinstance(there["Trained"]["rank"], int), "on its own dataset it has all scores"


def test_an_error_rate_is_named_as_falling_with_human_scores(
    judged: Project, runs: list[MetricRun], owner: Membership, client_of: SignIn
) -> None:
    assert not any("scores fall" in note for note in list_notes(compute(judged)))
    near = {each.candidate_id: each.value or 0 for each in runs[0].scores.all()}
    give_scores(judged, owner, "TER", {candidate: 1 - value for candidate, value in near.items()})
    give_scores(judged, owner, "WER", {candidate: -value for candidate, value in list(near.items())[:16]})
    wanted = ["TER, WER: scores fall as human scores rise. Negate the scores of each for which lower is better."]
    notes = list_notes(compute(judged))
    assert [note for note in notes if "scores fall" in note] == wanted, "the second one is not ranked"
    client = client_of(owner)
    client.post(HERE)
    do_job(Report.objects.get())
    assert all(sentence in client.get(HERE).content.decode() for sentence in wanted)
    assert wanted[0].split(".")[0] in client.get(f"{HERE}tables/metrics.md").content.decode()


def do_job(report: Report) -> dict[str, Any]:
    """What the worker does."""
    running.run(Report, report.pk, reports.make, only_reads=True)
    report.refresh_from_db()
    assert report.result, report.error
    return dict(report.result)


def test_a_job_keeps_what_has_not_changed(
    judged: Project, runs: list[MetricRun], owner: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> dict[str, Any]:
        return do_job(reports.request_report(project=judged, actor=owner, kind="leaderboard", settings=SETTINGS))

    first = run()
    assert first["n_computed"] == 3
    assert reports.find_report(judged, "leaderboard", SETTINGS).is_current
    give_scores(judged, owner, "Another", {each.pk: each.pk % 4 / 4 for each in list_candidates(judged)})
    state = reports.find_report(judged, "leaderboard", SETTINGS)
    assert not state.is_current, "a new metric makes it stale"
    assert state.figures == first
    second = run()
    assert second["n_computed"] == 1
    Report.objects.all().delete()
    anew = run()
    assert anew["n_computed"] == 4
    assert {**anew, "n_computed": 1} == second
    give_scores(judged, owner, "Near", {each.pk: each.pk % 6 / 6 for each in list_candidates(judged)})
    assert run()["n_computed"] == 1, "of a metric that was scored again"
    stored = Report.objects.latest("pk")
    for each in stored.result["metrics"]:
        each["soft"] = {"value": 0.5, "low": None, "high": None}
    stored.save()
    give_scores(judged, owner, "Near", {each.pk: each.pk % 5 / 5 for each in list_candidates(judged)})
    assert run()["n_computed"] == 4, "an earlier version did not store what soft accuracy rests on"
    monkeypatch.setitem(reports.METHODS_OF, "leaderboard", reports.METHODS_OF["leaderboard"] + 1)
    assert run()["n_computed"] == 4, "other methods leave nothing of the figures before"


def test_the_page_its_files_and_the_api_show_the_same(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    client: Client = client_of(researcher)
    assert "computed in the background on request" in client.get(HERE).content.decode()
    assert client.get(f"{HERE}tables/metrics.csv").status_code == 404
    client.post(HERE)
    do_job(Report.objects.get())
    page = client.get(HERE).content.decode()
    assert "Few passages: with fewer than 20 the intervals are rough. The ranked metrics rest on 10." in page
    listed = read(page).rows("Leaderboard")
    assert [row["Metric"] for row in listed] == ["Near", "Far & <b>away</b>", "Constant"]
    assert "<b>away</b>" not in page
    assert re.search(r"Results.*Leaderboard", re.sub(r"\s+", " ", page))
    for name in ("metrics", "pairs"):
        for form in ("csv", "tex", "md"):
            found = client.get(f"{HERE}tables/{name}.{form}")
            assert found.status_code == 200
            assert "Far" in found.content.decode()
            if (name, form) == ("metrics", "md"):
                methods = "Student's t, of soft pairwise accuracy by Wilson's method)."
                assert methods in found.content.decode()
            if form == "tex":
                check_latex(found.content.decode())
    assert client.get(f"{HERE}charts/segment.svg").status_code == 200
    assert client.get(f"{HERE}tables/other.csv").status_code == 404
    assert client.get(HERE, {"dataset": "nowhere"}).status_code == 400
    assert "Compute figures" in client.get(HERE, {"dataset": "news"}).content.decode()
    script = Script(researcher)
    given = script.read("leaderboard/")
    assert [(each["label"], each.get("rank")) for each in given["figures"]["metrics"]] == [
        ("Near", 1),
        ("Far & <b>away</b>", 2),
        ("Constant", None),
    ]
    assert given["settings"] == SETTINGS
    MetricRun.objects.all().delete()
    assert "Recompute figures" in client.get(HERE).content.decode()
    client.post(HERE)
    do_job(Report.objects.first() or Report())
    assert "No metric has scores yet." in client.get(HERE).content.decode()


def test_soft_accuracies_name_the_passages_that_every_system_has(judged: Project, owner: Membership) -> None:
    people, ratings = [make_membership(judged) for _ in range(2)], {}
    for place, passage in enumerate(Passage.objects.filter(dataset__project=judged).order_by("pk")):
        question = passage.questions.get()
        for source in ("third", "fourth") if place < 3 else ("third",):
            (candidate,) = make_candidates(question, source=source)
            ratings[candidate] = {each: float(place % 4 + 1) for each in people}
    judge(judged, ratings)
    give_scores(judged, owner, "All", {each.pk: each.pk % 7 / 7 for each in list_candidates(judged)})
    figures = compute(judged)
    uses = "Soft pairwise accuracy uses only the questions that every system has answered"
    rests_on = f"{uses}: 3 questions about 3 passages."
    assert rests_on in list_notes(figures), "the warning above is of all figures"
    few = "Few passages: with fewer than 20 the intervals are rough. These questions cover 3."
    assert f"{rests_on} {few}" in list_notes({**figures, "n_passages": 20, "n_effective": 20.0})


def test_a_single_passage_and_random_patterns_are_named_in_plain_words(judged: Project, runs: list[MetricRun]) -> None:
    figures = compute(judged)
    tested = {**figures["pairs"][0], "is_exact": False, "n_patterns": 10_000, "least_p": 0.5}
    tested.pop("reason", None)
    notes = " ".join(list_notes({**figures, "n_passages": 1, "pairs": [tested]}))
    assert "(10,000 random patterns)" in notes
    assert "With 1 passage and 1 pairs" not in notes
    assert "With 1 passage and 1 pair the smallest corrected p is" in notes


def test_a_project_without_judgments_says_what_comes_first(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    assert "No judgments yet" in client_of(researcher).get(HERE).content.decode()


def test_means_of_systems_equal_a_loop_over_passages_left_out() -> None:
    rng = np.random.default_rng(1)
    systems, units = rng.integers(5, size=120), rng.integers(12, size=120)
    human = systems / 4 + rng.normal(size=120)
    metric = human + rng.normal(size=120)
    found = correlate_means(human, {"m": metric}, systems=systems.astype(str), units=units)["m"]

    def correlate(rows: Any) -> float:
        means = [[each[rows & (systems == system)].mean() for system in range(5)] for each in (human, metric)]
        return float(np.corrcoef(means)[0, 1])

    assert found.value == pytest.approx(correlate(np.ones(120, bool)))
    z = np.arctanh([correlate(units != unit) for unit in range(12)])
    sizes = np.bincount(units)
    reach = t.ppf(0.975, 120**2 / (sizes @ sizes) - 1) * np.sqrt(11 / 12 * ((z - z.mean()) ** 2).sum())
    assert found.low == pytest.approx(np.tanh(np.arctanh(correlate(np.ones(120, bool))) - reach))
    assert (found.n, found.n_parts) == (5, 12)
