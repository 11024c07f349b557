"""A nominal criterion of three or more points: its points are categories, of which means say nothing."""

import pytest

from annotate.frames.criteria_in_use import criteria_in_use
from measures.rubric import FIVE_POINTS, CriterionSpec, Level, Scale, ScaleKind
from projects.models import Membership, Project
from projects.rubric.rubrics import create_rubric
from results.models import MetricRun
from results.studies.presentation import list_warnings
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.page_reader import condense
from tests.people import SignIn
from tests.projects.api.client import Script
from tests.results.judged_batches import judge
from tests.results.studies.factories import give_scores, study

pytestmark = pytest.mark.django_db

SAYS = "categories without an order"
PAGES = ("agreement/", "agreement/annotators/", "scores/", "scores/disagreements/", "batches/2/results/")


@pytest.fixture
def judged(project: Project) -> Project:
    """Candidates of two systems, rated on five points, on categories of errors, and on no and yes."""
    scales = {"quality": FIVE_POINTS, "error": _points(0, 3), "fits": _points(0, 1)}
    rubric = create_rubric(
        project,
        name="Three",
        preset="custom",
        criteria=[
            CriterionSpec(
                key=key,
                name=key.capitalize(),
                statement="",
                scale=scale,
                level=Level.ORDINAL if key == "quality" else Level.NOMINAL,
            )
            for key, scale in scales.items()
        ],
    )
    people = [make_membership(project) for _ in range(2)]
    dataset = make_dataset(project, "d")
    candidates = []
    for n in range(4):
        question = make_question(make_passage(dataset, f"p{n}"), f"q{n}")
        for source in ("good", "bad"):
            candidates += make_candidates(question, source=source)
    for criterion in rubric.criteria.order_by("position"):
        at_best = {"quality": 5, "error": 0, "fits": 1}[criterion.key]
        at_worst = {"quality": 1, "error": 3, "fits": 0}[criterion.key]
        ratings = {
            each: {person: float(at_best if each.source == "good" else at_worst) for person in people}
            for each in candidates
        }
        ratings[candidates[0]][people[0]] = float(at_worst)
        judge(project, ratings, rubric=rubric, criterion=criterion)
    give_scores(project, people[0], "Some", {each.pk: n / 10 for n, each in enumerate(candidates)})
    return project


def test_pages_of_means_warn_of_categories(judged: Project, researcher: Membership, client_of: SignIn) -> None:
    assert {each.key: each.has_order for each in criteria_in_use(judged)} == {
        "quality": True,
        "error": False,
        "fits": True,
    }
    client = client_of(researcher)
    for url in PAGES:
        told = {
            key: SAYS in client.get(f"/p/bridges/{url}", {"criterion": key}).content.decode()
            for key in ("quality", "error", "fits")
        }
        assert told == {"quality": False, "error": True, "fits": False}, url
    run = MetricRun.objects.get()
    for key in ("quality", "error"):
        made = study(judged, researcher, [run], criterion=key)
        assert any(SAYS in each for each in made.result["warnings"]) == (key == "error")
        # Earlier versions stored none.
        made.result["warnings"] = []
        assert any(SAYS in each for each in list_warnings(made)) == (key == "error")


def test_categories_have_no_mean_among_the_systems(judged: Project, researcher: Membership, client_of: SignIn) -> None:
    found = Script(researcher).read("scores/", kind="systems")
    assert set(found["figures"]["scores"]) == {"", "quality", "fits"}
    assert found["figures"]["unordered"] == ["Error"]
    assert [row["source"] for row in found["figures"]["scores"][""]] == ["good", "bad"]
    assert any(each.startswith("Excluded because their points are categories") for each in found["figures"]["warnings"])
    client = client_of(researcher)
    for name in ("scores", "pairs"):
        files = [
            client.get(f"/p/bridges/scores/systems/tables/{name}.md", {"test": "sign_flip", "criterion": key}).text
            for key in ("", "quality")
        ]
        assert [SAYS in each for each in files] == [True, False], "a table over all criteria says which are not in it"
    response = client.get("/p/bridges/scores/systems/", {"criterion": "error"})
    html = condense(response.content.decode())
    assert "<bdi>Error</bdi>" in html
    assert "No judgments here yet." not in html
    assert SAYS in html


def _points(low: int, high: int) -> Scale:
    return Scale(kind=ScaleKind.ORDINAL, low=low, high=high)


def test_a_project_of_categories_alone_has_no_systems(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    error = CriterionSpec(key="error", name="Error", statement="", scale=_points(0, 3), level=Level.NOMINAL)
    rubric = create_rubric(project, name="One", preset="custom", criteria=[error])
    question = make_question(make_passage(make_dataset(project, "d")))
    candidates = [each for source in "ab" for each in make_candidates(question, source=source)]
    for person in (make_membership(project), make_membership(project)):
        judge(project, {each: {person: 2.0} for each in candidates}, rubric=rubric)
    client = client_of(researcher)
    for url in ("scores/systems/", "scores/replication/?first=1&second=2"):
        response = client.get(f"/p/bridges/{url}")
        assert response.status_code == 200, url
        assert SAYS in response.content.decode(), url
