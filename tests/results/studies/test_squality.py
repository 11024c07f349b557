"""Real judgments and metrics: the correlations printed beside the SQuALITY sample, through the page."""

import gzip
import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from rouge_score.rouge_scorer import RougeScorer

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


@pytest.fixture
def squality(project: Project, owner: Membership, tmp_path: Path, squality_dir: Path) -> Project:
    take_file(project, gzip.decompress((squality_dir / "mocha_format.json.gz").read_bytes()), "squality.json", tmp_path)
    ratings = (squality_dir / "ratings.csv").read_bytes()
    take_file(project, ratings, "r.csv", tmp_path, kind=Kind.JUDGMENTS, criteria=("correctness_1to5=correctness:1-5",))
    return project


def test_the_printed_correlations_stand_on_the_page(
    squality: Project, owner: Membership, researcher: Membership, client_of: SignIn
) -> None:
    scorer = RougeScorer(["rougeL"])
    metrics: dict[str, Callable[[str, str], float]] = {
        "ROUGE-L": lambda said, right: float(scorer.score(right, said)["rougeL"].fmeasure),
        "Token F1": token_f1,
        "BLEU-1": bleu_1,
    }
    for title, metric in metrics.items():
        scores = {each.pk: metric(each.text, first_reference(each)) for each in candidates_of(squality)}
        give_scores(squality, owner, title, scores)
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


def tokens(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", text.lower())


def token_f1(said: str, right: str) -> float:
    found, wanted = Counter(tokens(said)), Counter(tokens(right))
    common = (found & wanted).total()
    return 2 * common / (found.total() + wanted.total()) if common else 0.0


def bleu_1(said: str, right: str) -> float:
    found, wanted = Counter(tokens(said)), Counter(tokens(right))
    n, r = found.total(), wanted.total()
    if not n:
        return 0.0
    return (found & wanted).total() / n * (1 if n > r else math.exp(1 - r / n))
