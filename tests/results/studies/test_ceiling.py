"""The ceiling and one person against the others in evaluations, and comparisons of metrics over unordered pairs."""

from typing import Any

import numpy as np
import pytest

from measures.ceiling import CHANCE, Ceiling, compute_ceiling
from measures.one_against_others import OneAgainstOthers, one_against_others
from projects.models import Membership, Project
from projects.tables.writing import write
from results.models import MetricRun, Study
from results.studies import comparison, presentation
from results.studies.frame import read_frame
from results.studies.kinds.significance import choose_resamples
from results.studies.settings import Settings
from results.studies.stored import store
from results.studies.tables import CEILING, ONE_PERSON, Missing, Table
from tests.factories import make_membership
from tests.page_reader import condense, read
from tests.people import SignIn
from tests.results.judged_batches import judge
from tests.results.studies.factories import give_scores, list_candidates, make_settings, study

pytestmark = pytest.mark.django_db

OLD = "Human ceiling"


def find(made: Study, name: str) -> Table:
    table = presentation.find_table(made, name)
    assert table is not None
    return table


def rows_of(made: Study, name: str = "overall") -> dict[Any, dict[str, Any]]:
    table = find(made, name)
    names = [column.key for column in table.columns]
    return {row[0]: dict(zip(names, row, strict=True)) for row in [*table.rows, *table.foot]}


def as_before(made: Study) -> Study:
    """The study as a version without the ceiling stored it."""
    result: dict[str, Any] = made.result or {}
    del result["reliability"]
    for parts in result["figures"].get("parts", {}).values():
        for part in parts:
            del part["reliability"]
    for pair in ("n_pairs", "p_rule"):
        result["figures"].pop(pair, None)
    made.save()
    return made


def test_the_ceiling_is_beside_one_person_against_the_others(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    made = study(judged, researcher, runs, n_resamples=100)
    frame = read_frame(judged, Settings.from_dict(made.settings))
    expected = compute_ceiling(frame.judgments)
    assert isinstance(expected, Ceiling)
    assert made.result is not None
    assert made.result["reliability"] == {**store(expected), "design": "one_way", "interval": {
        **store(expected.interval), "scale": "log_one_minus"}, "predictions": [
        store(each) for each in expected.predictions]}  # fmt: skip
    rows = rows_of(made)
    ceiling, near = rows[CEILING]["pearson"], rows["Near"]
    assert ceiling.value == pytest.approx(expected.ceiling)
    assert ceiling.low < ceiling.value < ceiling.high
    assert near["share"] == pytest.approx(near["pearson"].value / ceiling.value)
    assert rows["Constant"]["share"] == rows["Constant"]["pearson"] == Missing("all scores are equal")
    assert (rows[ONE_PERSON]["share"], rows[CEILING]["spearman"]) == (None, None)
    page = client_of(researcher).get(made.get_absolute_url()).content.decode()
    text = " ".join(page.split())
    assert OLD not in text
    assert f"{ceiling.value:.3f}" in text
    assert "is no upper bound for a metric" in text
    assert "Ceiling by number of judgments: 2:" in text
    shown = read(page).rows("Correlation with human scores")
    assert [row["Metric"] for row in shown[-2:]] == [ONE_PERSON, CEILING]
    drawn = next(chart for chart in presentation.list_charts(made) if chart.name == "overall")
    assert [row["metric"] for row in drawn.rows][-1] == ONE_PERSON
    assert f"The ceiling is at {ceiling.value:.3f}" in drawn.description
    # Each part has its own, also in the table of sources.
    by_source = find(made, "dataset-source-pearson")
    assert [column.title for column in by_source.columns][3:5] == [ONE_PERSON, CEILING]


def test_one_person_is_compared_in_z_scores_where_gold_scores_are(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    # One person rates everything alike: they have no z score, and their ratings say nothing of an answer.
    same, strict = make_membership(judged), make_membership(judged)
    candidates = list_candidates(judged)
    judge(judged, {each: {same: 5.0, strict: 1.0 + (n % 2)} for n, each in enumerate(candidates)})
    raw, z = (read_frame(judged, make_settings(judged, runs, gold=rule)) for rule in ("median", "z"))
    assert len(z.judgments) == len(raw.judgments) == len(raw.values) == 80
    assert len(z.values) == 60
    people = raw.judgments.assign(annotator=raw.judgments["annotator"].astype("str"))
    scores = people.groupby("annotator")["value"].transform(lambda each: (each - each.mean()) / (each.std() or np.nan))
    assert np.allclose(z.values["value"], scores.dropna())
    expected = one_against_others(people.assign(value=scores), rng=np.random.default_rng(1000))
    assert isinstance(expected, OneAgainstOthers)
    assert z.one_against_others(seed=1000) == expected != raw.one_against_others(seed=1000)
    draws = {"n_questions": 3, "n_draws": 10}
    made = study(judged, researcher, runs, "systems", n_resamples=100, gold="z", options=draws)
    assert made.result is not None
    assert made.result["ceiling"] == store(z.one_against_others(seed=made.seed))
    assert not any("ratings as they were given" in each for each in presentation.list_warnings(made))
    axes = [chart.spec["encoding"]["y"]["title"] for chart in presentation.list_charts(made) if "draw-" in chart.name]
    assert axes
    assert set(axes) == {"Correctness, mean z score"}
    page = condense(client_of(researcher).get(made.get_absolute_url()).content.decode())
    assert "Pearson&#x27;s r of one z score with the others" in page.replace("'", "&#x27;")
    made.result["wording"] = 3
    assert any("ratings as they were given" in each for each in presentation.list_warnings(made))
    assert not presentation.compares_z_scores(made)
    whole = study(judged, researcher, runs, "systems", n_resamples=100, gold="median", options=draws).result
    assert made.result["figures"]["ceiling"] != (whole or {})["figures"]["ceiling"]


def test_a_study_stored_before_the_ceiling_still_opens_with_the_bytes_of_its_files(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    for kind, options in (("correlation", {}), ("significance", {"over": "answers"})):
        made = as_before(study(judged, researcher, runs, kind, n_resamples=100, options=options))
        response = client_of(researcher).get(made.get_absolute_url())
        page = " ".join(response.content.decode().split())
        assert response.status_code == 200
        assert ONE_PERSON in page
        assert OLD not in page
        assert "Ceiling" not in page
        # Files keep the name under which sets were frozen.
        table = find(made, "overall" if kind == "correlation" else "metrics")
        assert f"\n{OLD}," in write(table, "csv").replace("\r", "")
        newer = study(judged, researcher, runs, kind, n_resamples=100, options=options)
        [compared, *_rest] = comparison.compare(made, newer).sections
        assert [row[0] for row in compared.table.foot].count(ONE_PERSON) == 1
    assert "every ordered pair" in page


def test_the_ceiling_is_given_for_means_of_judgments_only(
    judged: Project, runs: list[MetricRun], researcher: Membership
) -> None:
    settings = {rule: make_settings(judged, runs, gold=rule) for rule in ("mean", "median", "z")}
    found = {rule: read_frame(judged, each).ceiling(each) for rule, each in settings.items()}
    assert isinstance(found["mean"], Ceiling)
    reason = {"reason": "given only where the gold score is the mean of the judgments"}
    assert store(found["median"]) == store(found["z"]) == reason
    frame = read_frame(judged, settings["mean"])
    frame.table["gold"] += frame.table.index == 0
    assert store(frame.ceiling(settings["mean"])) == {"reason": "given only where no adjudicated score replaces a mean"}
    # Both annotators of the fixture rated every candidate.
    crossed = make_settings(judged, runs, design="auto")
    assert store(read_frame(judged, crossed).ceiling(crossed))["design"] == "crossed"
    made = study(judged, researcher, runs, gold="median", n_resamples=100)
    assert rows_of(made)[CEILING]["pearson"].reason == reason["reason"]


def test_people_who_agree_below_chance_leave_no_ceiling(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    made = study(judged, researcher, runs, n_resamples=100)
    assert made.result is not None
    made.result["reliability"] |= {"reliability": -0.2, "ceiling": {"reason": CHANCE}, "interval": {"reason": CHANCE}}
    made.save()
    page = " ".join(client_of(researcher).get(made.get_absolute_url()).content.decode().split())
    assert f"reliability −0.200: {CHANCE}" in page
    assert rows_of(made)["Near"]["share"] == Missing("no ceiling")


def test_metrics_are_compared_over_unordered_pairs_and_too_few_resamples_are_said(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    assert [choose_resamples(n) for n in (2, 7, 8, 10, 40)] == [1000, 1000, 1120, 1800, 20_000]
    rng = np.random.default_rng(8)
    third = give_scores(judged, researcher, "Third", {each.pk: float(rng.normal()) for each in list_candidates(judged)})
    chosen = [*runs, third]
    made = study(judged, researcher, chosen, "significance", n_resamples=100, options={"over": "passages"})
    assert made.result is not None
    assert made.result["figures"]["n_pairs"] == {"bootstrap": 3, "williams": 3}
    page = " ".join(client_of(researcher).get(made.get_absolute_url()).content.decode().split())
    # Three pairs both ways: 6 / 101 is not below .05, and 120 resamples are the fewest that are.
    assert "with 100, the smallest p that Holm&#x27;s correction gives is 0.0594" in page
    assert "Use at least 120 resamples" in page
    assert "corrected over 3 unordered pairs" in page
    [note, *_rest] = find(made, "pairs").notes
    assert "two-sided and corrected over 3 unordered pairs" in note
    assert min(pair["bootstrap"].get("p", 1) for pair in made.result["figures"]["pairs"]) >= 1 / 101
    published = study(
        judged, researcher, chosen, "significance", n_resamples=100, options={"over": "passages", "p_rule": "yang2018"}
    )
    page = " ".join(client_of(researcher).get(published.get_absolute_url()).content.decode().split())
    assert "Use at least" not in page
    assert "A p of 0 means that none of 100 resamples" in page
