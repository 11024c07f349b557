"""Real judgments from file to alpha: the numbers printed beside the SQuALITY ratings."""

import gzip
import json
from pathlib import Path

import pytest

from projects.importing import Kind
from projects.models import Membership, Project
from results.reports import reports
from tests.page_reader import read
from tests.people import SignIn
from tests.projects.api.client import Script
from tests.results.judged_batches import answer, take_file

CRITERIA = (
    "correctness_1to5=correctness:1-5",
    "coverage_1to5=coverage:1-5",
    "overall_1to5=overall:1-5",
    "correctness=correctness-100:0-100",
    "coverage=coverage-100:0-100",
    "overall=overall-100:0-100",
)
PRINTED = [
    ("correctness", "ordinal", 0.4355),
    ("coverage", "ordinal", 0.7362),
    ("overall", "ordinal", 0.7336),
    ("correctness", "interval", 0.3913),
    ("correctness", "nominal", 0.2379),
    ("correctness-100", "interval", 0.4587),
    ("coverage-100", "interval", 0.7813),
    ("overall-100", "interval", 0.7983),
    ("correctness-100", "ordinal", 0.5344),
    ("coverage-100", "ordinal", 0.7155),
    ("overall-100", "ordinal", 0.7218),
]


@pytest.fixture
def squality(project: Project, owner: Membership, tmp_path: Path, squality_dir: Path) -> Project:
    take_file(project, gzip.decompress((squality_dir / "mocha_format.json.gz").read_bytes()), "squality.json", tmp_path)
    ratings = (squality_dir / "ratings.csv").read_bytes()
    take_file(project, ratings, "ratings.csv", tmp_path, kind=Kind.JUDGMENTS, criteria=CRITERIA)
    return project


def test_alpha_of_every_criterion(squality: Project) -> None:
    for criterion, level, alpha in PRINTED:
        output = answer("agreement", "--project", "bridges", "--criterion", criterion, "--level", level)
        assert round(output["alpha"], 4) == alpha, (criterion, level)
        assert (output["n_units"], output["n_ratings"], output["n_annotators"], output["n_single"]) == (300, 900, 4, 0)


def test_alpha_by_the_api(squality: Project, owner: Membership) -> None:
    script = Script(owner)
    for criterion, level, alpha in PRINTED:
        line = script.read("agreement/", criterion=criterion, level=level)["figures"]["report"]["levels"][0]
        assert (round(line["alpha"], 4), line["n_units"], line["n_ratings"]) == (alpha, 300, 900)


def test_alpha_per_source_has_all_ratings(squality: Project) -> None:
    output = answer("agreement", "--project", "bridges", "--criterion", "correctness", "--by", "source")
    assert [(group["source"], group["n_units"], group["n_ratings"]) for group in output["groups"]] == [
        ("bart", 100, 300),
        ("bart-dpr", 100, 300),
        ("human", 100, 300),
    ]


def test_the_means_by_system_on_the_page_and_by_the_api(
    squality: Project, researcher: Membership, client_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "AT_ONCE", 10_000)
    client, script = client_of(researcher), Script(researcher)
    printed = {
        "correctness": (("bart", "2.393"), ("bart-dpr", "2.873"), ("human", "4.913")),
        "correctness-100": (("bart", "34.8"), ("bart-dpr", "45.4"), ("human", "94.1")),
        "coverage-100": (("bart", "15.6"), ("bart-dpr", "24.3"), ("human", "88.8")),
        "overall-100": (("bart", "18.1"), ("bart-dpr", "27.9"), ("human", "91.3")),
    }
    for criterion, means in printed.items():
        page = read(client.get("/p/bridges/scores/systems/", {"criterion": criterion}).content.decode())
        rows = {row["System"]: row for row in page.rows("System scores")}
        given = script.read("scores/", kind="systems", criterion=criterion)["figures"]["scores"][criterion]
        by_api = {score["source"]: score["raw"]["mean"] for score in given}
        for system, mean in means:
            digits = len(mean.partition(".")[2])
            assert f"{float(rows[system]['Mean']):.{digits}f}" == mean, (criterion, system)
            assert f"{by_api[system]:.{digits}f}" == mean, (criterion, system)
            assert (rows[system]["Candidates"], rows[system]["Ratings"]) == ("100", "300")
        assert [row["System"] for row in page.rows("System scores")] == ["human", "bart-dpr", "bart"]


def test_the_gold_scores_on_the_page_are_the_means_of_the_file(
    squality: Project, researcher: Membership, client_of: SignIn, squality_dir: Path
) -> None:
    entries = json.loads(gzip.decompress((squality_dir / "mocha_format.json.gz").read_bytes()))
    scores = {key: entry["score"] for group in entries.values() for key, entry in group.items()}
    page = read(client_of(researcher).get("/p/bridges/scores/", {"criterion": "correctness"}).content.decode())
    rows = page.rows("Candidates with their scores")
    assert len(rows) == 50
    assert [row["Gold score"] for row in rows] == [f"{scores[row['Candidate']]:.2f}" for row in rows]
    assert page.n_listed == 300


def test_the_ceiling_on_the_page_and_by_the_api(squality: Project, owner: Membership, client_of: SignIn) -> None:
    figures = Script(owner).read("agreement/", criterion="correctness")["figures"]
    found = figures["reliability"]
    assert [round(found[name], 4) for name in ("single", "reliability", "ceiling")] == [0.3918, 0.6590, 0.8118]
    assert [round(found["interval"][end], 3) for end in ("low", "high")] == [0.707, 0.876]
    assert found["n_groups"] == 20
    assert round(figures["ceiling"]["r"], 2) == 0.47, "one person against the others keeps its name in the API"
    response = client_of(owner).get("/p/bridges/agreement/", {"criterion": "correctness"})
    page = read(response.content.decode())
    rows = {row["Figure"]: row for row in page.rows("Reliability and ceiling")}
    assert rows["Ceiling (for Pearson only)"]["Value"] == "0.8118 [0.7071, 0.8760]"
    assert "no upper bound for a metric" in rows["Single annotator vs. rest"]["Meaning"]
    ceilings = {row["Judgments per candidate"]: row["Ceiling"] for row in page.rows("Ceiling by number of judgments")}
    assert ceilings == {"2": "0.7503", "3": "0.8118", "5": "0.8736", "10": "0.9304"}
    # Raters differ between the items, so a crossed design is refused with its reason.
    crossed = Script(owner).read("agreement/", criterion="correctness", design="crossed")["figures"]
    assert crossed["reliability"] == {"reason": "not all candidates were judged by the same annotators"}
    asked = ("agreement", "--project", "bridges", "--criterion", "correctness", "--ceiling")
    output = answer(*asked)
    names = ("ceiling", "ceiling_low", "ceiling_high", "reliability", "reliability_of_one")
    assert [round(output[name], 4) for name in names] == [0.8118, 0.7071, 0.8760, 0.6590, 0.3918]
    assert round(output["ceiling_by_judgments"]["5"], 4) == 0.8736
    refused = answer(
        "agreement", "--project", "bridges", "--criterion", "correctness", "--ceiling", "--raters", "crossed"
    )
    assert (refused["ceiling"], "same annotators" in refused["undefined_ceiling"]) == (None, True)
