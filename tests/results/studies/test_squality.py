"""Real judgments and metrics: the correlations printed beside the SQuALITY sample, through the page."""

import gzip
from pathlib import Path

import pytest

from projects.importing import Kind
from projects.models import Membership, Project
from projects.tables.writing import write
from results.metrics import computing
from results.models import MetricRun, Study
from results.studies.presentation import list_sections
from tests.page_reader import read
from tests.people import SignIn
from tests.projects.tables.latex import check_latex, read_caption, set_latex
from tests.results.judged_batches import take_file
from tests.results.studies.factories import do

PRINTED = {
    "ROUGE-L": {"Pearson": "0.399", "Spearman": "0.374"},
    "Token F1": {"Pearson": "0.500", "Spearman": "0.482", "Kendall": "0.349"},
    "BLEU-1": {"Pearson": "0.414"},
}
SENT = {
    **dict.fromkeys(("use:rouge_l", "use:token_f1", "use:bleu_1"), "on"),
    "tokeniser": "alnum",
    "against": "first",
    "rouge_l:rouge_beta": 1,
}
"""What the README beside the sample says of its metrics. People's answers are candidates, and references of others."""


@pytest.fixture
def squality(project: Project, owner: Membership, tmp_path: Path, squality_dir: Path) -> Project:
    take_file(project, gzip.decompress((squality_dir / "mocha_format.json.gz").read_bytes()), "squality.json", tmp_path)
    ratings = (squality_dir / "ratings.csv").read_bytes()
    take_file(project, ratings, "r.csv", tmp_path, kind=Kind.JUDGMENTS, criteria=("correctness_1to5=correctness:1-5",))
    return project


def test_the_printed_correlations_are_on_the_page_and_its_tables_are_set_by_latex(
    squality: Project, owner: Membership, researcher: Membership, client_of: SignIn, tmp_path: Path
) -> None:
    client = client_of(researcher)
    client.post("/p/bridges/metrics/new/", SENT)
    states = [computing.run(run.pk) for run in MetricRun.objects.all()]
    assert states == [MetricRun.State.DONE] * 3
    form = client.get("/p/bridges/studies/new/").context["form"]
    asked = {name: form.get_initial_for_field(form.fields[name], name) for name in form.fields}
    asked |= {"criterion": "correctness", "resamples": 100, "humans": "in"}
    response = client.post("/p/bridges/studies/new/?kind=correlation", {k: v for k, v in asked.items() if v})
    made = do(Study.objects.get())
    assert response.headers["Location"] == made.get_absolute_url()
    html = client.get(made.get_absolute_url()).content.decode()
    page = read(html)
    rows = {row["Metric"]: row for row in page.rows("Correlation with human scores")}
    for title, printed in PRINTED.items():
        for coefficient, value in printed.items():
            assert rows[title][coefficient].partition("[")[0].strip() == value, (title, coefficient)
    assert '<span class="stat-value">300</span>' in html
    assert '<span class="stat-value">900</span>' in html
    tables = [write(section.table, "tex") for section in list_sections(made)]
    for written in tables:
        check_latex(written)
        assert "n = 300 answers" in read_caption(written)
    assert "Overfull" not in set_latex("\\clearpage\n".join(tables), tmp_path)
