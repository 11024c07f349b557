"""The pages of systems and of replication, and the charts of all pages of scores."""

import csv
import html
import io
import statistics

import numpy as np
import pandas as pd
import pytest
from django.core.cache import cache
from scipy import stats

from annotate.models import Batch, Judgment
from measures.jackknife import JackknifeInterval, bound_interval, jackknife_interval
from measures.rubric import FIVE_POINTS
from projects.jobs.queue import Job
from projects.jobs.running import run
from projects.models import Candidate, Criterion, Membership, Project
from results.models import Report
from results.reports import reports
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.page_reader import Screen, read
from tests.people import SignIn
from tests.projects.api.client import Script
from tests.projects.tables.latex import check_latex, read_caption
from tests.results.judged_batches import HUNDRED, ask, judge

pytestmark = pytest.mark.django_db

SCORES = "/p/bridges/scores/"
SYSTEMS, REPLICATION = f"{SCORES}systems/", f"{SCORES}replication/"


@pytest.fixture
def runs(project: Project) -> tuple[Batch, Batch]:
    """Two runs of one study: three systems, eight questions in four passages, two annotators a run."""
    rng = np.random.default_rng(6)
    dataset = make_dataset(project, "study")
    candidates = []
    for n in range(4):
        passage = make_passage(dataset, f"p{n}")
        for m in range(2):
            question = make_question(passage, f"q{n}{m}")
            for source in ("weak", "middling", "strong"):
                candidates += make_candidates(question, source=source)
    better = {"weak": 1, "middling": 2.5, "strong": 4}
    made = []
    for _ in range(2):
        people = [make_membership(project) for _ in range(2)]
        ratings = {
            candidate: {
                person: float(np.clip(round(better[candidate.source] + rng.normal(0, 0.7)), 1, 5)) for person in people
            }
            for candidate in candidates
        }
        made.append(judge(project, ratings))
    return made[0], made[1]


def test_the_page_says_what_its_means_are_over(
    runs: tuple[Batch, Batch], researcher: Membership, client_of: SignIn
) -> None:
    page = " ".join(client_of(researcher).get("/p/bridges/scores/systems/").content.decode().split())
    assert "Means are over ratings: a candidate with more ratings counts more." in page
    assert '<a href="#pairs">Pairs of systems</a> each shared question counts once' in page
    assert (
        "Each question counts once, with the mean rating of its candidates, unlike in the system scores above" in page
    )


def values(batch: Batch, source: str) -> list[float]:
    rows = Judgment.objects.filter(assignment__hit__batch=batch, candidate__source=source)
    return [value for value in rows.values_list("value", flat=True) if value is not None]


def z_scores(batch: Batch) -> dict[str, list[float]]:
    rows = list(Judgment.objects.filter(assignment__hit__batch=batch).select_related("candidate"))
    found: dict[str, list[float]] = {}
    for row in rows:
        own = [float(each.value or 0) for each in rows if each.annotator_id == row.annotator_id]
        assert row.candidate is not None
        z = (float(row.value or 0) - statistics.mean(own)) / statistics.stdev(own)
        found.setdefault(row.candidate.source, []).append(z)
    return found


def item_means(batch: Batch) -> pd.DataFrame:
    """The mean z of each system's answer to each question, by passage."""
    rows = list(
        Judgment.objects.filter(assignment__hit__batch=batch).values_list(
            "annotator", "candidate__source", "candidate__question", "candidate__question__passage", "value"
        )
    )
    frame = pd.DataFrame(rows, columns=["annotator", "source", "question", "passage", "value"])
    own = frame.groupby("annotator")["value"]
    frame["z"] = (frame["value"] - own.transform("mean")) / own.transform("std")
    return frame.pivot_table(index=["passage", "question"], columns="source", values="z")


def screen(client_of: SignIn, person: Membership, url: str, **query: str | int) -> Screen:
    response = client_of(person).get(url, query)
    assert response.status_code == 200
    return read(response.content.decode())


def test_the_caption_of_a_single_system_counts_one(
    project: Project, runs: tuple[Batch, Batch], researcher: Membership, client_of: SignIn
) -> None:
    Candidate.objects.update(source="only")
    written = client_of(researcher).get(f"{SYSTEMS}tables/scores.tex?batch=1").content.decode()
    assert "n = 24 candidates of 1 system;" in read_caption(written)


def test_systems_are_scored_ranked_and_compared(
    project: Project, runs: tuple[Batch, Batch], researcher: Membership, client_of: SignIn
) -> None:
    page = screen(client_of, researcher, SYSTEMS, batch=1)
    rows = page.rows("System scores")
    z = z_scores(runs[0])
    assert [row["System"] for row in rows] == ["strong", "middling", "weak"]
    for row in rows:
        assert (row["Candidates"], row["Ratings"]) == ("8", "16")
        assert row["Mean"] == f"{statistics.mean(values(runs[0], row['System'])):.3f}"
        assert row["Mean z"] == f"{statistics.mean(z[row['System']]):.3f}".replace("-", "−")
        low, high = (float(end.replace("−", "-")) for end in row["Mean, 95 % CI (passages)"].strip("[]").split(","))
        assert low < float(row["Mean"]) < high
    for name in ("scores", "criteria", "pairs"):
        answered = client_of(researcher).get(f"{SYSTEMS}tables/{name}.tex?batch=1")
        if name == "criteria":
            assert answered.status_code == 404, "there is one criterion"
        else:
            check_latex(answered.content.decode())
        if name == "scores":
            assert "n = 24 candidates of 3 systems" in read_caption(answered.content.decode())
    assert page.number("Judgments included") == 48
    pairs = page.rows("Pairs of systems")
    assert [(row["System"], row["vs."]) for row in pairs] == [
        ("strong", "middling"), ("strong", "weak"), ("middling", "weak")]  # fmt: skip
    items = item_means(runs[0])
    for row in pairs:
        d = (items[row["System"]] - items[row["vs."]]).dropna()
        sums = d.groupby(level="passage").sum().to_numpy()
        assert (row["Questions"], row["Passages"]) == ("8", "4")
        assert row["Difference of mean z"].split()[0] == f"{d.mean():+.3f}"
        assert float(row["Superiority"]) == pytest.approx((d > 0).mean() + (d == 0).mean() / 2, abs=0.006)
        theirs = stats.permutation_test((sums,), np.sum, permutation_type="samples", n_resamples=2**16)
        assert row["p"] == f"{theirs.pvalue:.4f}"
    # Three pairs of four passages: 3 x 2^-3, and 7 passages would do.
    text = " ".join(client_of(researcher).get(SYSTEMS, {"batch": 1}).content.decode().split())
    assert "the smallest possible p is 0.3750 after Holm&#x27;s correction over 3 pairs" in text
    assert "takes 7 shared passages" in text


def test_ratings_with_a_z_score_are_counted_where_they_are_fewer(
    project: Project, runs: tuple[Batch, Batch], researcher: Membership, client_of: SignIn
) -> None:
    assert "Ratings with z" not in screen(client_of, researcher, SYSTEMS).rows("System scores")[0]
    always_three = make_membership(project)
    judge(project, {each: {always_three: 3.0} for each in Candidate.objects.filter(items__hit__batch=runs[0])})
    rows = screen(client_of, researcher, SYSTEMS).rows("System scores")
    assert [(row["Ratings"], row["Ratings with z"]) for row in rows] == [("40", "32")] * 3
    table = client_of(researcher).get(f"{SYSTEMS}tables/scores.csv").content.decode()
    assert "Ratings with z" in table


def test_the_test_and_the_values_of_pairs_can_be_chosen(
    project: Project, runs: tuple[Batch, Batch], researcher: Membership, client_of: SignIn
) -> None:
    page = screen(client_of, researcher, SYSTEMS, batch=1, test="graham2016")
    z = z_scores(runs[0])
    first = page.rows("p-value of each pair of systems")[0]
    p = stats.mannwhitneyu(z["strong"], z["weak"], alternative="greater").pvalue
    assert first["weak"] == ("< 0.0001" if p < 0.0001 else f"{p:.4f}")
    assert first["strong"] == ""
    client = client_of(researcher)
    response = client.get(f"{SYSTEMS}?batch=1&test=graham2016")
    assert "Ratings are taken as independent" in response.content.decode()
    assert client.get(f"{SYSTEMS}tables/pairs.csv?batch=1&test=graham2016").status_code == 404
    tex = client.get(f"{SYSTEMS}tables/matrix.tex?batch=1&test=graham2016").content.decode()
    check_latex(tex)
    assert "n = 3 systems" in read_caption(tex)
    assert "<rect" not in response.content.decode().partition("Pairwise significance")[2], "p-values are in no map"
    raw = screen(client_of, researcher, SYSTEMS, batch=1, values="raw", test="signed_rank").rows("Pairs of systems")
    means = [np.mean(values(runs[0], source)) for source in ("strong", "middling")]
    assert raw[0]["Difference of mean score"].split()[0] == f"{means[0] - means[1]:+.3f}"
    assert client.get(SYSTEMS, {"test": "nonsense"}).status_code == 400
    written = client.get(f"{SYSTEMS}tables/pairs.csv", {"batch": 1}).content.decode()
    rows = list(csv.DictReader(io.StringIO(written)))
    assert len(rows) == 3
    assert "p (Holm)" in rows[0]
    figures = Script(researcher).read("scores/", kind="systems", batch=1)["figures"]
    assert (figures["test"], figures["values"], len(figures["pairs"][""])) == ("sign_flip", "z", 3)
    assert set(figures["pairs"][""][0]) >= {
        "first",
        "second",
        "n_first",
        "n_second",
        "p",
        "p_holm",
        "superiority",
        "d_z",
    }
    assert "Too few passages" in figures["notes"][""][0]
    old = Script(researcher).read("scores/", kind="systems", batch=1, test="graham2016")["figures"]
    assert len(old["pairs"][""]) == 6


def test_a_criterion_that_few_passages_are_rated_on_counts_these_alone(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    rubric = ask(project, correctness=FIVE_POINTS, fluency=FIVE_POINTS)
    correctness, fluency = rubric.criteria.order_by("position")
    person, ratings = make_membership(project), {}
    dataset = make_dataset(project, "study")
    for n in range(20):
        for candidate in make_candidates(make_question(make_passage(dataset)), 2, source="one"):
            ratings[candidate] = {person: float(n % 5 + 1)}
    judge(project, ratings, rubric=rubric, criterion=correctness)
    judge(project, dict(list(ratings.items())[:6]), rubric=rubric, criterion=fluency)
    answered = Script(researcher).read("scores/", kind="systems")["figures"]
    (score,) = answered["scores"]["fluency"]
    # Three passages with means of 1, 2 and 3.
    plain = jackknife_interval(2.0, [2.5, 2.0, 1.5], scale="plain")
    expected = bound_interval(2.0, plain, low=1, high=5)
    assert isinstance(expected, JackknifeInterval)
    found = score["raw"]["by_group"]
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high))
    assert 1 < found["low"] < found["high"] < 5, "on the scale, which the symmetric interval is not"
    assert score["raw"]["by_group"]["n_parts"] == 3
    assert answered["warnings"] == [
        "Few passages: with fewer than 20 the intervals are rough. Criteria with fewer: Fluency (3)."
    ]
    client = client_of(researcher)
    told = {key: "Few passages" in client.get(SYSTEMS, {"criterion": key}).content.decode()
            for key in ("correctness", "fluency")}  # fmt: skip
    assert told == {"correctness": False, "fluency": True}
    assert "These scores cover 3." in client.get(SYSTEMS, {"criterion": "fluency"}).content.decode()


def test_a_system_with_few_passages_is_named_where_all_have_enough(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    rubric = ask(project, correctness=FIVE_POINTS)
    person, ratings = make_membership(project), {}
    dataset = make_dataset(project, "study")
    for n in range(30):
        question = make_question(make_passage(dataset))
        for source in ("wide", "narrow", "uneven") if n < 4 else ("wide", "uneven"):
            for candidate in make_candidates(question, 12 if source == "uneven" and not n else 2, source=source):
                ratings[candidate] = {person: float(n % 5 + 1)}
    judge(project, ratings, rubric=rubric)
    page = client_of(researcher).get(SYSTEMS, {"criterion": "correctness"}).content.decode()
    few = "with fewer than 20 the intervals are rough. Systems with fewer: "
    assert f"{few}uneven (30, which count as 19 because some weigh more than others); narrow (4)." in page


def test_systems_without_shared_questions_are_unpaired(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    person, ratings = make_membership(project), {}
    rng = np.random.default_rng(2)
    for n in range(12):
        question = make_question(make_passage(make_dataset(project, f"d{n}"), f"p{n}"))
        (candidate,) = make_candidates(question, source="ab"[n % 2])
        ratings[candidate] = {person: float(rng.integers(1, 6))}
    judge(project, ratings)
    text = " ".join(client_of(researcher).get(SYSTEMS).content.decode().split())
    assert "1 of 1 pairs share no question" in text
    row = read(client_of(researcher).get(SYSTEMS).content.decode()).rows("Pairs of systems")[0]
    assert (row["Questions"], row["Passages"]) == ("0", "12")
    assert "no shared question" in row["d_z"]


def test_systems_with_equal_scores_share_a_rank_and_share_questions(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    person, ratings = make_membership(project), {}
    for n in range(4):
        question = make_question(make_passage(make_dataset(project, f"d{n}"), f"p{n}"))
        for source in ("even", "equal"):
            (candidate,) = make_candidates(question, text=source, source=source)
            ratings[candidate] = {person: 3.0}
    judge(project, ratings)
    page = client_of(researcher).get(SYSTEMS).content.decode()
    assert [row["Rank"] for row in read(page).rows("System scores")] == ["1", "1"]
    assert "share no question" not in page
    assert "no shared question" not in page
    assert "1 of 1 pairs can&#x27;t be compared by z scores: a system has none" in " ".join(page.split())


def test_work_that_does_not_count_is_in_no_score_and_is_mentioned(
    project: Project, runs: tuple[Batch, Batch], researcher: Membership, client_of: SignIn
) -> None:
    away = Judgment.objects.filter(assignment__hit__batch=runs[0]).earliest("pk").annotator
    Judgment.objects.filter(annotator=away).update(is_counted=False, not_counted_reason="removed")
    page = screen(client_of, researcher, SYSTEMS, batch=1)
    assert {row["Ratings"] for row in page.rows("System scores")} == {"8"}
    assert (page.number("Judgments included"), page.number("Excluded: removed")) == (24, 24)


def test_two_batches_are_correlated_system_by_system(
    project: Project, runs: tuple[Batch, Batch], researcher: Membership, client_of: SignIn
) -> None:
    page = screen(client_of, researcher, REPLICATION, first=1, second=2)
    by_z, raw = page.rows("Correlation of system scores")
    sources = ("weak", "middling", "strong")
    means = [[statistics.mean(values(batch, source)) for source in sources] for batch in runs]
    assert raw["Pearson's r"] == f"{stats.pearsonr(*means).statistic:.4f}"
    z = [[statistics.mean(z_scores(batch)[source]) for source in sources] for batch in runs]
    assert by_z["Pearson's r"] == f"{stats.pearsonr(*z).statistic:.4f}"
    assert (by_z["Systems"], by_z["Spearman's rho"], by_z["Kendall's tau-b"]) == ("3", "1.0000", "1.0000")
    client = client_of(researcher)
    for name in ("correlation", "systems-z", "systems-raw"):
        tex = client.get(f"{REPLICATION}tables/{name}.tex?first=1&second=2").content.decode()
        check_latex(tex)
        assert "n = 3 systems" in read_caption(tex)
    assert client.get(f"{REPLICATION}tables/correlation.tex?first=1").status_code == 404
    assert "Select two batches." in client.get(REPLICATION, {"first": 1}).content.decode()
    same = client.get(REPLICATION, {"first": 1, "second": 1})
    assert (same.status_code, "Select two different batches" in same.content.decode()) == (400, True)
    assert client.get(REPLICATION, {"first": 1, "second": 99}).status_code == 400


def test_criteria_that_nobody_rated_on_are_in_no_mean_and_several_scales_have_none(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    ask(project, correctness=FIVE_POINTS, ease=HUNDRED)
    question = make_question(make_passage(make_dataset(project, "d")))
    candidates = [each for source in "abc" for each in make_candidates(question, source=source)]
    for person in (make_membership(project), make_membership(project)):
        judge(project, {each: {person: float(n)} for n, each in enumerate(candidates, start=1)})
    client, ease = client_of(researcher), Criterion.objects.get(key="ease")

    def rate_ease(number: int) -> None:
        for each in Judgment.objects.filter(assignment__hit__batch__number=number):
            each.pk, each.criterion, each.value = None, ease, 100 - 10 * (each.value or 0)
            each.save(force_insert=True)
        cache.clear()

    def read_table() -> str:
        return client.get(f"{REPLICATION}tables/correlation.csv?first=1&second=2").text.partition("\r\n")[2]

    defined = "mean z,3,1.0,1.0,1.0\r\nmean,3,1.0,1.0,1.0\r\n"
    assert read_table() == defined
    systems = Script(researcher).read("scores/", kind="systems", batch=1)["figures"]["scores"]
    assert [each["z"]["mean"] for each in systems[""]] == [each["z"]["mean"] for each in systems["correctness"]]
    assert [each["raw"]["mean"] for each in systems[""]] == [3, 2, 1]
    # Rated on in one batch alone, it would be in the mean of this one only.
    rate_ease(1)
    assert read_table() == defined
    rate_ease(2)
    assert "the criteria have different scales" in read_table()


def test_many_judgments_are_scored_by_a_job(
    project: Project,
    runs: tuple[Batch, Batch],
    researcher: Membership,
    client_of: SignIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reports, "AT_ONCE", 5)
    client = client_of(researcher)
    for page in ("", "systems/", "planner/"):
        assert "Compute figures" in client.get(SCORES + page).content.decode()
        assert client.post(SCORES + page).status_code == 302
        assert run(Report, Report.objects.latest("pk").pk, reports.make, only_reads=True) == Job.State.DONE
        assert "Compute figures" not in client.get(SCORES + page).content.decode(), page
    rows = read(client.get(SCORES, {"sort": "-z"}).content.decode()).rows("Candidates with their scores")
    assert rows[0]["Mean z"] not in ("", "not computed")


def test_intervals_of_means_are_called_what_they_are_also_in_figures_of_earlier_versions(
    project: Project,
    runs: tuple[Batch, Batch],
    researcher: Membership,
    client_of: SignIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reports, "AT_ONCE", 5)
    client = client_of(researcher)
    client.post(SYSTEMS)
    assert run(Report, Report.objects.latest("pk").pk, reports.make, only_reads=True) == Job.State.DONE

    def read_page() -> str:
        return html.unescape(" ".join(client.get(SYSTEMS).content.decode().split()))

    caption = "95 % intervals by the jackknife with Student's t"
    assert f"{caption}, of means by Wilson's method with its standard error)." in read_page()
    assert "Those of means on a criterion's scale are Wilson's" in read_page()
    report = Report.objects.get()
    assert report.result is not None
    del report.result["bounds_means"]
    report.save()
    assert f"{caption})." in read_page()
    assert "Wilson" not in read_page(), "these are symmetric"


def test_charts_hold_the_figures_of_the_pages(
    project: Project, runs: tuple[Batch, Batch], researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)

    def rows(path: str) -> list[dict[str, str]]:
        response = client.get(SCORES + path)
        assert response.status_code == 200, path
        return list(csv.DictReader(io.StringIO(response.content.decode())))

    scores = read(client.get(SYSTEMS).content.decode()).rows("System scores")
    drawn = rows("systems/charts/systems-raw.csv")
    assert [(row["system"], f"{float(row['mean']):.3f}") for row in drawn] == [
        (row["System"], row["Mean"]) for row in scores
    ]
    assert [row["pair"] for row in rows("systems/charts/pairs.csv")] == [
        *("strong − middling", "strong − weak", "middling − weak")
    ]
    assert [row["source"] for row in rows("replication/charts/replication.csv?first=1&second=2")] == [
        *("strong", "middling", "weak")
    ]
    assert sum(int(row["n"]) for row in rows("charts/distribution.csv")) == 24
    assert {row["part"] for row in rows("charts/parts.csv?by=source")} == {"strong", "middling", "weak"}
    assert len(rows("planner/charts/widths.csv")) == 18
    for path in ("charts/parts.svg", "systems/charts/pairs.svg", "planner/charts/widths.svg"):
        assert client.get(SCORES + path).content.startswith(b"<svg")


def test_a_replication_is_offered_where_there_are_two_batches(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    candidates = make_candidates(make_question(make_passage(make_dataset(project, "d"))), 2)
    client = client_of(researcher)
    for is_offered in (False, True):
        judge(project, {each: {make_membership(project): 2.0} for each in candidates})
        assert ("First batch" in client.get(SYSTEMS).content.decode()) == is_offered
