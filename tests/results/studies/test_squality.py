"""Real judgments and metrics: the correlations printed beside the SQuALITY sample, through the page."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from measures.metrics import score
from projects.importing import Kind
from projects.models import Candidate, Membership, Project
from results.models import Study
from tests.people import SignIn
from tests.results.rows import take_file
from tests.results.studies.making import candidates_of, do, give_scores
from tests.screens import read

PRINTED = {
    "ROUGE-L": {"Pearson": "0.399", "Spearman": "0.374"},
    "Token F1": {"Pearson": "0.500", "Spearman": "0.482", "Kendall": "0.349"},
    "BLEU-1": {"Pearson": "0.414"},
}
METRICS: dict[str, tuple[str, dict[str, Any]]] = {
    "ROUGE-L": ("rouge_l", {"rouge_beta": 1.0}),
    "Token F1": ("token_f1", {}),
    "BLEU-1": ("bleu_1", {}),
}


@pytest.fixture
def squality(project: Project, owner: Membership, tmp_path: Path, squality_dir: Path) -> Project:
    take_file(project, gzip.decompress((squality_dir / "mocha_format.json.gz").read_bytes()), "squality.json", tmp_path)
    ratings = (squality_dir / "ratings.csv").read_bytes()
    take_file(project, ratings, "r.csv", tmp_path, kind=Kind.JUDGMENTS, criteria=("correctness_1to5=correctness:1-5",))
    return project


def test_the_printed_correlations_stand_on_the_page(
    squality: Project, owner: Membership, researcher: Membership, client_of: SignIn
) -> None:
    candidates = candidates_of(squality)
    texts, firsts = [each.text for each in candidates], [[first_reference(each)] for each in candidates]
    for title, (name, settings) in METRICS.items():
        scores = score(name, texts, firsts, tokeniser="alnum", **settings)
        give_scores(squality, owner, title, {each.pk: float(v) for each, v in zip(candidates, scores, strict=True)})
    client = client_of(researcher)
    form = client.get("/p/bridges/studies/new/").context["form"]
    asked = {name: form.get_initial_for_field(form.fields[name], name) for name in form.fields}
    asked |= {"criterion": "correctness", "resamples": 100}
    response = client.post("/p/bridges/studies/new/?kind=correlation", {k: v for k, v in asked.items() if v})
    made = do(Study.objects.get())
    assert response.headers["Location"] == made.get_absolute_url()
    page = read(client.get(made.get_absolute_url()).content.decode())
    rows = {row["Metric"]: row for row in page.rows("Correlation with people")}
    for title, printed in PRINTED.items():
        for coefficient, value in printed.items():
            assert rows[title][coefficient].partition("[")[0] == value, (title, coefficient)
    assert page.number("Answers") == 300
    assert page.number("Judgments behind them") == 900


def first_reference(candidate: Candidate) -> str:
    """People's answers are candidates too: the first reference that is not the candidate itself."""
    return next(each.text for each in candidate.question.references.all() if each.text != candidate.text)
