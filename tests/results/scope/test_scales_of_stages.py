"""A trial on another scale: each stage has a scale of its own, and only all stages together have several."""

import io

import pytest

from annotate.models import Batch
from measures.rubric import Scale, ScaleKind
from projects.errors import Refused
from projects.models import Membership, Project
from results.exports.formats import Choices, make_statement
from results.exports.streaming import write
from results.metrics.summarising import summarise
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.page_reader import read
from tests.people import SignIn
from tests.projects.api.client import Script
from tests.results.judged_batches import answer, ask, canonical, judge
from tests.results.studies.factories import give_scores, list_candidates, study

pytestmark = pytest.mark.django_db

SEVEN_POINTS = Scale(kind=ScaleKind.ORDINAL, low=1, high=7)
PAGES = ("agreement/", "agreement/annotators/", "agreement/time/", "scores/", "scores/disagreements/")


@pytest.fixture
def trial(project: Project) -> Batch:
    """A trial on five points, and then the full collection on seven, under a revised rubric."""
    people = [make_membership(project) for _ in range(2)]
    candidates = make_candidates(make_question(make_passage(make_dataset(project, "early"))), 4)
    ratings = {each: {people[0]: float(n), people[1]: float(n)} for n, each in enumerate(candidates, start=1)}
    made = judge(project, ratings, kind=Batch.Kind.TRIAL)
    ask(project, correctness=SEVEN_POINTS)
    canonical(project)
    return made


def test_each_stage_has_its_own_scale(
    project: Project, trial: Batch, researcher: Membership, client_of: SignIn
) -> None:
    found = {stage: answer("agreement", "--project", "bridges", "--stage", stage, "--pairs", "--by", "criterion")
             for stage in ("full", "trial", "all")}  # fmt: skip
    assert (round(found["full"]["alpha"], 3), found["full"]["n_pairs"]) == (0.815, 6)
    assert found["full"]["groups"][0]["alpha"] == found["full"]["alpha"]
    assert (found["trial"]["alpha"], found["trial"]["n_pairs"]) == (1, 1)
    assert "several scales" in found["all"]["undefined"]
    client = client_of(researcher)
    for url in PAGES:
        told = ["several scales" in client.get(f"/p/bridges/{url}", {"stage": stage}).content.decode()
                for stage in ("full", "all")]  # fmt: skip
        assert told == [False, True], url
    systems = {stage: Script(researcher).read("scores/", kind="systems", stage=stage)["figures"]
               for stage in ("full", "trial", "all")}  # fmt: skip
    assert {stage: figures["left_out"] for stage, figures in systems.items()} == {
        "full": [], "trial": [], "all": ["correctness"]}  # fmt: skip
    assert [systems[stage]["criteria"][0]["high"] for stage in ("full", "trial")] == [7, 5]


def test_evaluations_use_the_scale_of_their_stage(
    project: Project, trial: Batch, owner: Membership, client_of: SignIn
) -> None:
    near = {each.pk: float(n) for n, each in enumerate(list_candidates(project))}
    run = give_scores(project, owner, "Near", near)
    run.report = {"summary": summarise(run)}
    run.save()
    for stage, n in (("full", 12), ("trial", 4)):
        made = study(project, owner, [run], stage=stage)
        assert made.result, made.error
        assert made.result["n"] == n
    assert "several scales" in study(project, owner, [run], stage="all").error
    page = read(client_of(owner).get(f"/p/bridges/metrics/{run.pk}/").content.decode())
    golds = {row["Candidate"]: row["Gold score"] for row in page.rows("Candidates with their scores")}
    assert (golds["unit-00"], golds["unit-01"]) == ("1.00", "2.25")


def test_mocha_s_file_holds_one_scale(project: Project, trial: Batch) -> None:
    judge(project, {each: {make_membership(project): 7.0} for each in list_candidates(project)[:1]})

    def export(**over: object) -> bytes:
        file = io.BytesIO()
        write(make_statement("mocha", Choices(project=project, **over)), file)  # type: ignore[arg-type]
        return file.getvalue()

    batches = tuple(project.batches.order_by("number"))
    for over in ({"stage": "full"}, {"stage": "trial"}, {"batches": batches[1:]}):
        assert b'"score"' in export(**over), over
    for over in ({"stage": "all"}, {"batches": batches[:2]}):
        with pytest.raises(Refused, match="several scales"):
            export(**over)
