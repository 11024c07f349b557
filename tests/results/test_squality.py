"""Real judgments from file to alpha: the numbers printed beside the SQuALITY ratings."""

import gzip
from pathlib import Path

import pytest

from projects.importing import Kind
from projects.models import Membership, Project
from tests.projects.api.calling import Script
from tests.results.rows import answer, take_file

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
        said = answer("agreement", "--project", "bridges", "--criterion", criterion, "--level", level)
        assert round(said["alpha"], 4) == alpha, (criterion, level)
        assert (said["n_units"], said["n_ratings"], said["n_annotators"], said["n_single"]) == (300, 900, 4, 0)


def test_alpha_by_the_api(squality: Project, owner: Membership) -> None:
    script = Script(owner)
    for criterion, level, alpha in PRINTED[:4]:
        line = script.read("agreement/", criterion=criterion, level=level)["figures"]["report"]["levels"][0]
        assert (round(line["alpha"], 4), line["n_units"], line["n_ratings"]) == (alpha, 300, 900)


def test_alpha_per_source_has_all_ratings(squality: Project) -> None:
    said = answer("agreement", "--project", "bridges", "--criterion", "correctness", "--by", "source")
    assert [(group["source"], group["n_units"], group["n_ratings"]) for group in said["groups"]] == [
        ("bart", 100, 300),
        ("bart-dpr", 100, 300),
        ("human", 100, 300),
    ]
