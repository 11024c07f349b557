"""The pages beside alpha: annotators, over time, charts as files, and figures that a job computes."""

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils.html import escape

from annotate.models import Judgment
from measures.annotator_pairs import Pairs, pair_agreements
from projects.jobs.queue import Job
from projects.jobs.running import run
from projects.models import Candidate, Membership, Project
from results.models import Report
from results.reports import reports
from tests.factories import (
    make_candidates,
    make_corpus,
    make_dataset,
    make_membership,
    make_passage,
    make_project,
    make_question,
)
from tests.measures.frames import CANONICAL, from_table
from tests.page_reader import Rows, read
from tests.people import SignIn
from tests.projects.api.client import Script
from tests.projects.tables.latex import check_latex, read_caption
from tests.results.judged_batches import answer, canonical, judge, judge_on_slider

pytestmark = pytest.mark.django_db


def table(client: Client, url: str, name: str) -> Rows:
    return read(client.get(url).content.decode()).rows(name)


ANNOTATORS, TIME = "/p/bridges/agreement/annotators/", "/p/bridges/agreement/time/"


def test_every_pair_of_krippendorffs_example_on_the_page_and_in_the_command(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    canonical(project)
    rows = table(client_of(researcher), ANNOTATORS, "Annotator pairs")
    expected = pair_agreements(from_table(CANONICAL))
    assert isinstance(expected, Pairs)
    shown = sorted(
        (row["Candidates"], row["Exact agreement, in %"], row["Cohen's kappa (quadratic)"], row["Pearson's r"])
        for row in rows
    )
    assert shown == sorted(
        (str(pair.n), f"{pair.same_share * 100:.1f}", f"{pair.kappa:.4f}", f"{pair.pearson:.4f}")
        for pair in expected.computed
    )
    output = answer("agreement", "--project", "bridges", "--pairs")
    assert output["n_pairs"] == 6
    assert sorted(round(pair["kappa"], 10) for pair in output["pairs"]) == sorted(
        round(float(str(pair.kappa)), 10) for pair in expected.computed
    )


def test_scores_without_names_have_no_pairs(project: Project, researcher: Membership, client_of: SignIn) -> None:
    candidates = make_corpus(project, n_candidates=4).candidates.all()
    people = [make_membership(project, kind=Membership.Kind.UNKNOWN, user=None) for _ in range(2)]
    judge(project, {candidate: dict.fromkeys(people, 3 + n % 2) for n, candidate in enumerate(candidates)})
    page = client_of(researcher).get(ANNOTATORS).content.decode()
    assert "Undefined: some annotators are unknown." in page
    assert answer("agreement", "--project", "bridges", "--pairs")["undefined_pairs"] == "some annotators are unknown"


def test_two_annotators_are_compared_by_question_type(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    corpus = make_corpus(project, n_passages=2, n_candidates=5)
    first, second = corpus.passages.order_by("id")
    first.questions.update(type="yes_no")
    second.questions.update(type="entity")
    people = [make_membership(project) for _ in range(2)]
    ratings = {
        candidate: dict(
            zip(people, (1 + n % 5, 1 + (n + (candidate.question.passage_id == second.pk)) % 5), strict=True)
        )
        for n, candidate in enumerate(corpus.candidates.select_related("question"))
    }
    judge(project, ratings)
    rows = table(client_of(researcher), ANNOTATORS, "Annotator pairs by question type")
    assert [(row["Candidates"], row["Exact agreement, in %"]) for row in rows] == [("5", "0.0"), ("5", "100.0")]


def test_agreement_over_time_is_by_the_day_of_the_last_rating(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    canonical(project)
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    for n, judgment in enumerate(Judgment.objects.order_by("candidate_id", "id")):
        judgment.judged_at = start + timedelta(days=n // 20)
        judgment.save()
    rows = table(client_of(researcher), TIME, "Alpha by period")
    assert [row["Period of last rating"] for row in rows] == ["2026-03-01", "2026-03-02", "2026-03-03"]
    assert rows[-1]["Alpha, cumulative"] == "0.8154"


def test_periods_of_nearly_equal_ratings_and_of_few_passages_are_named(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    people, ratings, dataset = [make_membership(project) for _ in range(2)], {}, make_dataset(project, "news")
    for n in range(40):
        for place, candidate in enumerate(make_candidates(make_question(make_passage(dataset)), 2)):
            # On the first day three candidates of 40 have another rating, on the second every other one.
            value = 4 if (n < 3 and not place if n < 20 else place) else 5
            ratings[candidate] = {people[0]: value, people[1]: 5 if n < 3 or not n % 5 else value}
    judge(project, ratings)
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    for place, candidate in enumerate(ratings):
        # The second day has seven passages, on the third there are the rest of them.
        days = 0 if place < 40 else 1 if place < 54 else 2
        Judgment.objects.filter(candidate=candidate).update(judged_at=start + timedelta(days=days))
    page = " ".join(client_of(researcher).get(TIME).content.decode().split())
    says = "the interval of alpha is too narrow. Periods with fewer: 2026-03-01 (3 of 40)."
    assert says in page
    few = "Few passages: with fewer than 20 the intervals are rough. Periods with fewer:"
    assert f"{few} 2026-03-02 (7); 2026-03-03 (13)." in page
    page = client_of(researcher).get(TIME, {"unit": "items"}).content.decode()
    assert "Few passages" not in page
    assert "Nearly all ratings are equal" in page


def test_annotators_and_time_refuse_a_criterion_on_several_scales(
    project: Project, rated: list[Candidate], researcher: Membership, client_of: SignIn
) -> None:
    people = Membership.objects.filter(judgments__isnull=False).distinct()
    client, script = client_of(researcher), Script(researcher)
    before = [client.get(f"{url}tables/{name}.csv") for url, name in ((ANNOTATORS, "pairs"), (TIME, "time"))]
    assert [each.status_code for each in before] == [200, 200]
    judge_on_slider(project, {rated[0]: {person: 20.0 * n for n, person in enumerate(people)}})
    for url, kind, name in ((ANNOTATORS, "annotators", "pairs"), (TIME, "time", "time")):
        page = client.get(url).content.decode()
        assert "was asked on several scales (slider 0 to 100; points 1 to 5). Choose one batch." in page
        assert "How these numbers are computed" not in page
        for file in (f"charts/{name}.svg", f"tables/{name}.csv"):
            assert client.get(url + file).status_code == 404
            assert client.get(url + file, {"batch": 1}).status_code == 200
        assert "several scales" in script.read("agreement/", kind=kind)["figures"]["refusal"]
        assert "refusal" not in script.read("agreement/", kind=kind, batch=1)["figures"]


def test_imported_judgments_are_not_shown_over_time(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    canonical(project)
    Judgment.objects.update(judged_at=datetime(2026, 3, 1, 12, tzinfo=UTC))
    project.batches.update(kind="imported")
    page = " ".join(client_of(researcher).get(TIME).content.decode().split())
    assert "Imported judgments are not shown over time, and all of these were imported." in page
    assert "no rating has a date" not in page


def test_the_reliability_says_by_which_mean_and_estimate(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    canonical(project)
    html = client_of(researcher).get("/p/bridges/agreement/").content.decode()
    rows = {row["Figure"]: row["Meaning"] for row in read(html).rows("Reliability and ceiling")}
    assert rows["Reliability of the mean rating"].endswith("2.9 judgments on average (harmonic mean)")
    assert "candidates have different numbers of judgments, the two estimates differ a little." in html


@pytest.mark.parametrize(
    ("path", "name", "columns"),
    [
        ("", "parts", ["part", "alpha", "low", "high", "n_units", "n_ratings"]),
        ("annotators/", "pairs", ["first", "second", "kappa"]),
        ("time/", "time", ["period", "alpha", "low", "high", "so_far", "n_units"]),
    ],
)
def test_a_chart_and_its_files_hold_the_figures_of_the_table(
    project: Project, researcher: Membership, client_of: SignIn, path: str, name: str, columns: list[str]
) -> None:
    canonical(project)
    client, folder = client_of(researcher), f"/p/bridges/agreement/{path}"
    assert "<svg" in client.get(folder).content.decode()
    for form, start in (("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        file = client.get(f"{folder}charts/{name}.{form}?level=interval")
        assert file.content.startswith(start)
        assert file["Content-Disposition"] == f'attachment; filename="bridges-{name}.{form}"'
    rows = list(csv.DictReader(io.StringIO(client.get(f"{folder}charts/{name}.csv?level=interval").content.decode())))
    assert list(rows[0]) == columns
    if name == "parts":
        assert round(float(rows[0]["alpha"]), 4) == 0.8491
    for missing in ("none.svg", f"{name}.exe", f"{name}.svg?level=euclid"):
        assert client.get(f"{folder}charts/{missing}").status_code == 404


def test_over_many_judgments_the_worker_computes_what_is_asked_for(
    project: Project, researcher: Membership, client_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    canonical(project)
    monkeypatch.setattr(reports, "AT_ONCE", 5)
    cache.clear()
    client, url = client_of(researcher), "/p/bridges/agreement/?level=nominal"
    page = client.get(url).content.decode()
    assert "Compute figures" in page
    assert "0.7434" not in page
    assert client.get("/p/bridges/agreement/charts/parts.svg?level=nominal").status_code == 404
    assert client.post(url)["Location"] == url
    assert client.post(url)["Location"] == url, "twice is once"
    report = Report.objects.get()
    page = client.get(url).content.decode()
    assert "Computing figures" in page
    assert "Compute figures" not in page
    job = f"/p/bridges/reports/{report.pk}/job/"
    assert "HX-Refresh" not in client.get(job).headers
    assert run(Report, report.pk, reports.make, only_reads=True) == Job.State.DONE
    assert client.get(job)["HX-Refresh"] == "true"
    page = client.get(url).content.decode()
    assert "0.7434" in page
    assert "Something has happened" not in page
    assert "Compute figures" in client.get("/p/bridges/agreement/").content.decode(), "another question"


def test_a_report_can_be_cancelled_and_leads_back_to_our_own_pages(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    report = reports.request_report(project=project, actor=researcher, kind="agreement", settings={})
    client, other_project = client_of(researcher), make_project()
    make_membership(other_project, researcher.user, role=researcher.role)
    assert client.post(f"/p/{other_project.slug}/reports/{report.pk}/cancel/").status_code == 404
    cancel = f"/p/bridges/reports/{report.pk}/cancel/"
    assert client.get(cancel).status_code == 405
    for page, back in (
        ("http://testserver/p/bridges/scores/?by=split", "http://testserver/p/bridges/scores/?by=split"),
        ("https://evil.example/", "/p/bridges/agreement/"),
        ("", "/p/bridges/agreement/"),
    ):
        assert client.post(cancel, headers={"referer": page})["Location"] == back
    report.refresh_from_db()
    assert report.state == Job.State.CANCELLED
    assert "already finished" in client.post(cancel, follow=True).content.decode()


def test_captions_say_what_intervals_are_over(project: Project, researcher: Membership, client_of: SignIn) -> None:
    canonical(project)
    client = client_of(researcher)
    parts = client.get("/p/bridges/agreement/tables/parts.tex", {"by": "split"}).content.decode()
    assert "jackknife with Student's t over the passages of each row" in read_caption(parts)
    levels = client.get("/p/bridges/agreement/tables/levels.tex", {"by": "split"}).content.decode()
    assert "jackknife with Student's t over 2 passages" in read_caption(levels)
    annotators = client.get("/p/bridges/agreement/annotators/tables/annotators.tex").content.decode()
    assert "bias in points of the scale, 95 % intervals by the jackknife" in read_caption(annotators).replace(
        "\\%", "%"
    )


def test_every_table_is_a_file_for_a_paper(project: Project, researcher: Membership, client_of: SignIn) -> None:
    canonical(project)
    client = client_of(researcher)
    on_first = ("levels", "parts", "reliability", "ceiling")
    for path, names in (("", on_first), ("annotators/", ("pairs", "annotators")), ("time/", ("time",))):
        page = client.get(f"/p/bridges/agreement/{path}?level=interval").content.decode()
        for name in names:
            address = f"/p/bridges/agreement/{path}tables/{name}"
            assert f'href="{address}.tex?level=interval"' in page
            tex = client.get(f"{address}.tex?level=interval")
            assert tex["Content-Disposition"] == f'attachment; filename="bridges-agreement-{name}.tex"'
            check_latex(tex.content.decode())
            caption = read_caption(tex.content.decode())
            assert "n = " in caption, "it says the number of units, and what they are"
            assert escape(caption.replace(r"\%", "%")) in page, "the page says the same"
            assert client.get(f"{address}.md?level=interval").content.decode().startswith(caption.split(" (")[0])
            assert "nan" not in client.get(f"{address}.csv?level=interval").content.decode().lower()
    rows = list(csv.DictReader(io.StringIO(client.get("/p/bridges/agreement/tables/levels.csv").content.decode())))
    assert [round(float(row["Alpha"]), 4) for row in rows if row["Level"] == "interval"] == [0.8491]
    for missing in ("none.tex", "levels.exe", "levels.tex?level=euclid"):
        assert client.get(f"/p/bridges/agreement/tables/{missing}").status_code == 404
