"""Intervals of evaluations: over passages where candidates share them, candidates on request, earlier versions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.test import Client
from scipy import stats

from measures.jackknife import jackknife
from measures.outcome import Undefined
from measures.patterns import Ints
from projects.models import Membership, Project
from projects.tables.writing import write
from results.models import MetricRun, Study
from results.studies.frame import PASSAGE, read_frame
from results.studies.intervals import list_warnings
from results.studies.kinds.correlation_tables import _warn_of_few_by_part
from results.studies.presentation import find_table, list_settings
from results.studies.presentation import list_warnings as list_study_warnings
from results.studies.settings import Settings
from tests.people import SignIn
from tests.results.judged_batches import answer
from tests.results.studies.factories import study

COEFFICIENTS: dict[str, Callable[[Any, Any], Any]] = {
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
}


def read_page(client: Client, made: Study) -> str:
    return " ".join(client.get(made.get_absolute_url()).content.decode().split())


def get_figures(made: Study) -> dict[str, Any]:
    assert made.result is not None, made.error
    figures: dict[str, Any] = made.result["figures"]
    return figures


def test_passages_are_the_unit_and_candidates_on_request_with_a_warning(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    near, client = runs[0].subject, client_of(researcher)
    made, narrowed, by_fisher = (
        study(judged, researcher, runs[:1], n_resamples=100, options={"over": over} if over else {})
        for over in ("", "answers", "fisher_z")
    )
    frame = read_frame(judged, Settings.from_dict(made.settings))
    gold, scores, passages = frame.gold, frame.scores(frame.metrics[0]), frame.codes(PASSAGE)
    for name, compute in COEFFICIENTS.items():
        for one, parts in ((made, passages), (narrowed, np.arange(len(gold)))):

            def of_rows(rows: Ints, compute: Callable[[Any, Any], Any] = compute) -> float:
                return float(compute(gold[rows], scores[rows]))

            expected = jackknife(of_rows, parts, scale="fisher_z")
            assert not isinstance(expected, Undefined)
            found = get_figures(one)["whole"][near][name]
            assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high), abs=1e-9)
    ends = stats.pearsonr(gold, scores).confidence_interval(0.95)
    assert get_figures(by_fisher)["whole"][near]["pearson"]["low"] == pytest.approx(ends.low)
    assert get_figures(narrowed)["whole_by_passage"] == get_figures(made)["whole_by_passage"]
    assert get_figures(made)["intervals"]["n_effective"] == 10
    assert "n_effective" not in get_figures(narrowed)["intervals"]

    page, narrow = read_page(client, made), read_page(client, narrowed)
    assert "95 % CI in brackets: over 10 passages. Files repeat Pearson in the column “Pearson by passage”." in page
    assert "Pearson (CI over passages)" not in page
    assert "with fewer than 20 the intervals are rough. These are over 10." in page
    assert "Pearson (CI over passages)" in narrow
    assert "the intervals are too narrow" in narrow
    table, parts_table, by_z = (
        find_table(one, name) for one, name in ((made, "overall"), (made, "dataset-pearson"), (by_fisher, "overall"))
    )
    assert table is not None
    assert parts_table is not None
    assert by_z is not None
    assert "; 95 % intervals by the jackknife with Student's t over 10 passages; brackets of" in table.caption
    assert "by_passage" in [column.key for column in table.columns]
    assert "Pearson by passage" in write(table, "csv").splitlines()[0]
    assert "“Pearson by passage” is “Pearson” again, with the same interval." in write(table, "md")
    few = "Few passages: with fewer than 20 the intervals are rough. Parts with fewer: news and stories (each 5)."
    assert few in read_page(client, made)
    assert few in write(parts_table, "md")
    undefined = [{**part, "metrics": {}} for part in get_figures(made)["parts"]["dataset"]]
    assert _warn_of_few_by_part(undefined) == ""
    assert few not in narrow
    assert "Its brackets hold 95 % of 100 draws of one judgment of each candidate." in page
    other = find_table(narrowed, "overall")
    assert other is not None
    assert "“Pearson by passage” is “Pearson” with its interval over passages." in write(other, "md")
    assert (
        "; 95 % intervals by the jackknife with Student's t over passages; of means 95 % intervals by the percentile "
        "bootstrap over passages, 100 resamples, seed 1; brackets of"
    ) in parts_table.caption
    assert "over 20 answers, of Pearson by Fisher's z" in by_z.caption


@pytest.mark.parametrize(("n", "n_effective", "is_warned"), [(8, 8.0, True), (40, 9.1, True), (40, 38.0, False)])
def test_p_values_that_few_passages_make_too_small_are_named(n: int, n_effective: float, is_warned: bool) -> None:
    stored = {"method": "jackknife", "unit": "passages", "n": n, "n_effective": n_effective, "is_narrowed": False}
    tested = {"intervals": stored, "n_pairs": {"bootstrap": 1, "williams": 1}, "pairs": []}
    warned = [each for each in list_warnings(tested) if "too small" in each]
    assert len(warned) == is_warned
    assert all("permutation test over passages" in each for each in warned)
    # Other evaluations have no such p.
    assert not any("too small" in each for each in list_warnings({"intervals": stored}))


def test_only_a_comparison_of_metrics_is_warned_of_its_p_values(
    judged: Project, runs: list[MetricRun], owner: Membership
) -> None:
    made = {kind: study(judged, owner, runs, kind, n_resamples=100) for kind in ("significance", "pairwise")}
    warned = {kind: any("Williams" in each for each in list_study_warnings(one)) for kind, one in made.items()}
    assert warned == {"significance": True, "pairwise": False}


def test_where_no_passage_counts_none_are_called_few() -> None:
    stored = {"unit": "passages", "n": 0, "n_effective": 4.0, "method": "jackknife", "is_narrowed": False}
    assert list_warnings({"intervals": stored}) == []


def test_where_no_passage_is_shared_candidates_are_the_unit_without_a_warning(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    made = study(judged, researcher, runs[:1], sources=("weak",), datasets=("news",))
    assert get_figures(made)["intervals"] == {
        "method": "jackknife", "unit": "answers", "n": 5, "is_narrowed": False, "n_blocks": None,
    }  # fmt: skip
    page = read_page(client_of(researcher), made)
    assert "over 5 candidates" in page
    assert "message--warning" not in page
    # Nothing is resampled for one dataset.
    assert "Resamples" not in dict(list_settings(made))


def test_an_evaluation_of_an_earlier_version_says_how_it_was_made(
    judged: Project, runs: list[MetricRun], researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    for kind in ("correlation", "significance"):
        made = study(judged, researcher, runs[:2], kind=kind, n_resamples=100, seed=7, options={"over": "answers"})
        # As versions before the jackknife stored it.
        assert made.result is not None
        del made.result["figures"]["intervals"], made.result["wording"]
        made.settings["options"] = {} if kind == "correlation" else made.settings["options"]
        made.save()
        page = read_page(client, made)
        assert "its intervals are percentile bootstraps with 100 resamples, seed 7." in page
        assert "Pearson (CI over passages)" in page or kind == "significance"
        table = find_table(made, "overall" if kind == "correlation" else "metrics")
        assert table is not None
        assert table.caption.endswith("95 % intervals by the percentile bootstrap, 100 resamples, seed 7).")
        assert client.post(f"{made.get_absolute_url()}again/").status_code == 302


def test_comparison_of_metrics_is_over_passages_unless_asked(judged: Project, runs: list[MetricRun]) -> None:
    asked = ("study", "significance", "--project", judged.slug, "--bootstrap", "200")
    found, narrowed = (answer(*asked, *more)["result"]["figures"] for more in ((), ("--option", "over=answers")))
    assert (found["intervals"]["unit"], found["intervals"]["n"]) == ("passages", 10)
    assert (narrowed["intervals"]["unit"], narrowed["intervals"]["is_narrowed"]) == ("answers", True)
    assert found["pairs"] != narrowed["pairs"]
