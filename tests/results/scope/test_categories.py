"""A nominal criterion of three or more points: its points are categories, of which means say nothing."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.utils.html import strip_tags
from pytest_django import Settings

from annotate.frames.annotator_baselines import fetch_baselines
from annotate.frames.criteria_in_use import Scope, criteria_in_use, name_criteria
from annotate.models import Adjudication, Judgment
from annotate.reviews.adjudication import set_rule
from measures.rubric import FIVE_POINTS, NO_ORDER, CriterionSpec, Level, Scale, ScaleKind
from projects.models import Candidate, Criterion, Membership, Project
from projects.rubric.rubrics import create_rubric
from results.disagreements.spread import measure_spread
from results.models import MetricRun, Report
from results.scores.gold import fetch_adjudicated
from results.studies.presentation import list_warnings
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_project, make_question
from tests.page_reader import condense
from tests.page_reader import read as read_page
from tests.people import SignIn
from tests.projects.api.client import Script
from tests.results.judged_batches import judge, take_file
from tests.results.sets.frozen_sets import freeze, read, table
from tests.results.studies.factories import give_scores, study

pytestmark = pytest.mark.django_db

SAYS = "categories without an order"
PAGES = ("agreement/", "agreement/annotators/", "scores/", "scores/disagreements/", "batches/2/results/")


@pytest.fixture(autouse=True)
def _own_folder(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"


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


def test_files_and_the_api_warn_of_means_of_categories(
    judged: Project, researcher: Membership, client_of: SignIn
) -> None:
    client, script = client_of(researcher), Script(researcher)
    for url in (
        "scores/tables/methods.md",
        "scores/disagreements/tables/items.md",
        "scores/disagreements/tables/passages.md",
        "batches/2/results/tables/spread.md",
    ):
        files = [client.get(f"/p/bridges/{url}", {"criterion": key}).text for key in ("quality", "error")]
        assert [SAYS in each for each in files] == [False, True], url
    for path, kind in (("agreement/", "agreement"), ("scores/", "golds")):
        found = [script.read(path, kind=kind, criterion=key)["figures"]["warnings"] for key in ("quality", "error")]
        assert [any(SAYS in each for each in warnings) for warnings in found] == [False, True], path


def test_agreement_on_categories_has_the_nominal_alpha_alone(
    judged: Project, researcher: Membership, client_of: SignIn
) -> None:
    client, address = client_of(researcher), "/p/bridges/agreement/"
    shown = {key: client.get(address, {"criterion": key}).content.decode() for key in ("quality", "error", "fits")}
    assert {key: "Single annotator vs. rest" in html for key, html in shown.items()} == {
        "quality": True,
        "error": False,
        "fits": True,
    }
    assert "Pearson" not in shown["error"]
    title = "Alpha at each level of measurement"
    assert [row["Level"] for row in read_page(shown["error"]).rows(title)] == ["nominal level of the criterion"]
    assert len(read_page(shown["quality"]).rows(title)) == 4
    html = client.get(address, {"criterion": "error", "level": "interval"}).content.decode()
    assert len(read_page(html).rows(title)) == 2, "a level that was chosen stays"
    for name in ("reliability", "ceiling"):
        assert client.get(f"{address}tables/{name}.csv", {"criterion": "error"}).status_code == 404
    assert client.get(f"{address}tables/reliability.csv", {"criterion": "quality"}).status_code == 200
    found = Script(researcher).read("agreement/", criterion="error")["figures"]
    assert found["ceiling"] == found["reliability"] == {"reason": NO_ORDER}


def test_annotators_who_choose_categories_have_no_correlations(
    judged: Project, researcher: Membership, client_of: SignIn
) -> None:
    client, script = client_of(researcher), Script(researcher)
    found = {
        key: script.read("agreement/", kind="annotators", criterion=key)["figures"] for key in ("quality", "error")
    }
    assert {key: each["kappa"] for key, each in found.items()} == {"quality": "quadratic", "error": "unweighted"}
    (pair,) = found["error"]["pairs"]["computed"]
    assert pair["kappa"] == pytest.approx(0.75)
    assert SAYS in pair["pearson"]["reason"]
    assert {each["mean"] for each in found["error"]["people"]} == {None}
    for url, name in (("agreement/annotators/", "pairs"), ("scores/disagreements/", "pairs")):
        files = {
            key: client.get(f"/p/bridges/{url}tables/{name}.csv", {"criterion": key}).text.splitlines()[0]
            for key in ("quality", "error")
        }
        assert files["quality"].endswith("Cohen's kappa (quadratic),Pearson's r,p (Pearson),Spearman's rho")
        assert files["error"].endswith('"Exact agreement, in %",Cohen\'s kappa (unweighted)')
    people = client.get("/p/bridges/agreement/annotators/tables/annotators.csv", {"criterion": "error"}).text
    assert people.startswith("Annotator,Ratings,Alpha without annotator (nominal),")
    assert "Bias" not in people
    for key, kappa in (("quality", "quadratic"), ("error", "unweighted")):
        page = client.get("/p/bridges/agreement/annotators/", {"criterion": key}).content.decode()
        assert f"Cohen&#x27;s kappa ({kappa})" in page


def test_the_page_of_a_candidate_counts_categories(judged: Project, researcher: Membership, client_of: SignIn) -> None:
    candidate = Candidate.objects.filter(question__external_id="q1", source="bad").get()
    other = Candidate.objects.filter(question__external_id="q0", source="good").get()
    client = client_of(researcher)
    html = condense(client.get(f"/p/bridges/scores/items/{candidate.pk}/").content.decode())
    assert "categories without an order: 3 (2×)" in html
    assert "3.00" not in html
    assert "1.00" in html, "the quality still has a mean"
    Criterion.objects.filter(key="error").update(anchors=[{"value": 3, "text": "Off topic: of something else"}])
    html = condense(client.get(f"/p/bridges/scores/items/{candidate.pk}/").content.decode())
    assert "categories without an order: 3 <bdi>Off topic</bdi> (2×)" in html
    assert html.count("<bdi>Off topic</bdi>") == 3
    Criterion.objects.filter(key="error").update(anchors=[])
    assert "0 (1×), 3 (1×)" in condense(client.get(f"/p/bridges/scores/items/{other.pk}/").content.decode())


def test_disagreements_on_categories_count_pairs_of_ratings_that_differ(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    """Their points lie no distance apart: 0 and 3 differ no more than 0 and 1."""
    error = CriterionSpec(key="error", name="Error", statement="", scale=_points(0, 3), level=Level.NOMINAL)
    rubric = create_rubric(project, name="One", preset="custom", criteria=[error])
    people = [make_membership(project) for _ in range(4)]
    candidates = make_candidates(make_question(make_passage(make_dataset(project, "d"))), 4)
    chosen = ((0, 0, 0, 3), (0, 1, 2, 3), (0, 0, 1, 1), (2, 2, 2))
    judge(
        project,
        {each: dict(zip(people, map(float, row), strict=False)) for each, row in zip(candidates, chosen, strict=True)},
        rubric=rubric,
    )
    client = client_of(researcher)
    items = read_page(client.get("/p/bridges/scores/disagreements/").content.decode())
    assert [
        (row["Candidate"], row["Ratings"], row["Categories"], row["Differing pairs"])
        for row in items.rows("Candidates whose ratings differ")
    ] == [
        (candidates[1].external_id, "4", "4", "100.0 %"),
        (candidates[2].external_id, "4", "2", "66.7 %"),
        (candidates[0].external_id, "4", "2", "50.0 %"),
    ]
    assert not {"Mean", "Std. dev.", "Maximum difference"} & set(items.rows("Candidates whose ratings differ")[0])
    by_number = read_page(client.get("/p/bridges/scores/disagreements/", {"sort": "-n_categories"}).content.decode())
    assert by_number.rows("Candidates whose ratings differ")[0]["Categories"] == "4"
    passages = read_page(
        client.get("/p/bridges/scores/disagreements/", {"by": "passages", "sort": "sd"}).content.decode()
    )
    (row,) = passages.rows("Passages by disagreement")
    assert (row["Candidates"], row["Mean differing pairs"], row["Most categories"]) == ("4", "54.2 %", "4")
    for name in ("items", "passages"):
        file = client.get(f"/p/bridges/scores/disagreements/tables/{name}.csv").content.decode()
        first = next(csv.DictReader(file.splitlines()))
        assert {"Mean std. dev.", "Std. dev.", "Mean"}.isdisjoint(first)
        assert any("iffering pairs, in %" in each for each in first)
    batch = client.get("/p/bridges/batches/1/results/").content.decode()
    found = read_page(batch)
    assert [(row["Categories"], row["Candidates"]) for row in found.rows("Candidates by categories")] == [
        ("1", "1"),
        ("2", "2"),
        ("4", "1"),
    ]
    assert "54.2 %" in batch
    assert "4 categories, 100.0 % of pairs differ" in condense(batch)
    assert "std. dev" not in batch.casefold().replace("std. dev. of", "")


def test_human_scores_count_categories_in_place_of_means(
    judged: Project, researcher: Membership, client_of: SignIn
) -> None:
    Criterion.objects.filter(key="error").update(anchors=[{"value": 3, "text": "Off topic: of something else"}])
    client = client_of(researcher)
    pages = {
        key: client.get("/p/bridges/scores/", {"criterion": key, "by": "source"}).content.decode()
        for key in ("quality", "error")
    }
    for title in ("Mean gold score", "Mean std. dev.", "Comparison of aggregation methods", "Score distribution"):
        assert [title in page for page in pages.values()] == [True, False], title
    assert ['<select name="rule"' in page for page in pages.values()] == [True, False], "no rule gives them a score"
    found = read_page(pages["error"])
    # Of the two annotators, one took the first candidate, of “good”, to be off topic.
    columns = ("Source", "Ratings", "0", "1", "2", "3 Off topic")
    assert [[row[name] for name in columns] for row in found.rows("Ratings by category")] == [
        ["bad", "8", "0", "0", "0", "8"],
        ["good", "8", "7", "0", "0", "1"],
        ["All", "16", "7", "0", "0", "9"],
    ]
    assert not {"Mean", "Median", "Gold score"} & set(found.rows("Candidates with their scores")[0])
    file = client.get("/p/bridges/scores/tables/categories.csv", {"criterion": "error"}).text
    assert file.splitlines()[0] == "Dataset,Ratings,0,1,2,3 Off topic"


def test_adjudication_shows_no_mean_of_categories(judged: Project, manager: Membership, client_of: SignIn) -> None:
    client = client_of(manager)
    for key, label in (("quality", "Scores 1 to 5, mean 3"), ("error", "2 ratings, not all of one category")):
        html = condense(client.get("/p/bridges/adjudication/", {"criterion": key}).content.decode())
        assert label in html
        assert ("mean" in html.split('class="card data-card"')[1]) == (key == "quality")


def test_exports_and_sets_have_no_mean_of_categories(
    judged: Project, manager: Membership, owner: Membership, client_of: SignIn, tmp_path: Path
) -> None:
    raw = list(
        csv.DictReader(client_of(manager).get("/p/bridges/export/aggregated.csv").getvalue().decode().splitlines())
    )
    made = freeze(judged, manager)
    for rows in (raw, table(made, "aggregated.csv")):
        for row in rows:
            is_empty = row["criterion"] == "error"
            names = [name for name in ("mean", "median", "sd", "z_mean", "gold") if name in row]
            assert {row[name] == "" for name in names} == {is_empty}, row
            assert (row["undefined"] == f"no mean: {NO_ORDER}") == is_empty
            assert (row["n"], row["scores"].count("|")) == ("2", 1)
    exported = {
        key: client_of(manager).get("/p/bridges/export/mocha.json", {"criterion": key}).getvalue()
        for key in ("quality", "error")
    }
    files = [(exported[key], read(made, f"mocha-{key}-other.json")) for key in ("quality", "error")]
    for has_mean, of_key in zip((True, False), files, strict=True):
        for file in of_key:
            entries = json.loads(file)["d"]
            assert len(entries) == 8
            assert {"score" in each for each in entries.values()} == {has_mean}
            assert {len(each["metadata"]["scores"]) for each in entries.values()} == {2}
    reliability = {
        each["criterion"]: each["reliability"] for each in json.loads(read(made, "figures.json"))["criteria"]
    }
    assert reliability["error"] == {"ceiling": None, "undefined": NO_ORDER}
    assert (
        "which have a gold score, except for categories without an order, but are" in read(made, "README.md").decode()
    )
    assert reliability["quality"]["ceiling"] is not None
    again = make_project("again")
    make_membership(again, role=Membership.Role.OWNER)
    take_file(again, exported["error"], "error.json", tmp_path, with_scores=True, criteria=("error:0-3",))
    assert Judgment.objects.filter(candidate__dataset__project=again).count() == 16


def test_an_adjudicated_category_is_the_gold_of_its_candidate(judged: Project, manager: Membership) -> None:
    candidate = Candidate.objects.get(pk=Judgment.objects.values_list("candidate", flat=True)[0])
    criterion = Criterion.objects.get(key="error")
    Adjudication.objects.create(candidate=candidate, criterion=criterion, value=2, adjudicator=manager)
    set_rule(project=judged, actor=manager, wins=True)
    made = freeze(judged, manager)
    golds = [row["gold"] for row in table(made, "aggregated.csv") if row["criterion"] == "error"]
    assert sorted(golds) == [""] * 7 + ["2"]


def test_categories_are_written_as_they_were_chosen_although_their_criterion_is_reversed(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    """Rubrics of earlier versions have such criteria: turned round, each category would be another one."""
    error = CriterionSpec(
        key="error", name="Error", statement="", scale=_points(0, 3), reversed=True, level=Level.NOMINAL
    )
    rubric = create_rubric(project, name="One", preset="custom", criteria=[error])
    people = [make_membership(project) for _ in range(2)]
    candidates = make_candidates(make_question(make_passage(make_dataset(project, "d"))), 2)
    judge(project, {each: dict.fromkeys(people, 3.0) for each in candidates}, rubric=rubric)
    Adjudication.objects.create(candidate=candidates[0], criterion=rubric.criteria.get(), value=1, adjudicator=manager)
    set_rule(project=project, actor=manager, wins=True)
    client = client_of(manager)
    raw = client.get("/p/bridges/export/aggregated.csv").getvalue().decode()
    made = freeze(project, manager)
    for rows in (list(csv.DictReader(raw.splitlines())), table(made, "aggregated.csv")):
        assert [(row["scores"], row["adjudicated"], row["gold"]) for row in rows] == [
            ("3|3", "1", "1"),
            ("3|3", "", ""),
        ]
    for content in (client.get("/p/bridges/export/mocha.json").getvalue(), read(made, "mocha-other.json")):
        assert {tuple(each["metadata"]["scores"]) for each in json.loads(content)["d"].values()} == {(3, 3)}
    (criterion,) = criteria_in_use(project)
    assert fetch_adjudicated(Scope(project=project, criterion=criterion)).tolist() == [1]
    for name in ("README.md", "datasheet.md"):
        assert "candidates with one rating, which are not part of alpha." in read(made, name).decode()


def test_all_outputs_turn_the_values_of_each_version_of_a_rubric_by_its_own_level(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    """Points of a reversed scale under one version, which the next one calls categories: 3 of 0 to 3 was the worst."""
    points = CriterionSpec(
        key="error", name="Error", statement="", scale=_points(0, 3), reversed=True, level=Level.ORDINAL
    )
    (candidate,) = make_candidates(make_question(make_passage(make_dataset(project, "d"))))
    for spec, value in ((points, 3.0), (replace(points, reversed=False, level=Level.NOMINAL), 0.0)):
        rubric = create_rubric(project, name="One", preset="custom", criteria=[spec])
        judge(project, {candidate: {make_membership(project): value}}, rubric=rubric)
    first = Criterion.objects.filter(key="error").earliest("pk")
    Adjudication.objects.create(candidate=candidate, criterion=first, value=3, adjudicator=manager)
    (criterion,) = criteria_in_use(project)
    scope = Scope(project=project, criterion=criterion)
    assert measure_spread(scope).mean_differing == 0
    assert fetch_adjudicated(scope).tolist() == [0]
    raw = client_of(manager).get("/p/bridges/export/aggregated.csv").getvalue().decode()
    for rows in (list(csv.DictReader(raw.splitlines())), table(freeze(project, manager), "aggregated.csv")):
        assert [row["scores"] for row in rows] == ["0|0"]


def test_categories_agree_across_the_version_of_the_rubric_in_which_they_were_not_reversed_any_more(
    project: Project,
) -> None:
    """The rubric refuses a reversed criterion of categories, so its next version has to untick that."""
    error = CriterionSpec(
        key="error", name="Error", statement="", scale=_points(0, 3), reversed=True, level=Level.NOMINAL
    )
    candidates = make_candidates(make_question(make_passage(make_dataset(project, "d"))), 2)
    for spec in (error, replace(error, reversed=False)):
        rubric = create_rubric(project, name="One", preset="custom", criteria=[spec])
        person = make_membership(project)
        judge(project, {each: {person: 3.0} for each in candidates}, rubric=rubric)
    (criterion,) = criteria_in_use(project)
    assert len(criterion.ids) == 2
    spread = measure_spread(Scope(project=project, criterion=criterion))
    assert (spread.n_items, spread.mean_differing, spread.by_categories) == (2, 0, [(1, 2)])
    batch = project.batches.earliest("pk")
    (of_one,) = criteria_in_use(project, batch)
    baselines = fetch_baselines(Scope(project=project, criterion=of_one, batch=batch), [of_one], with_controls=True)
    assert baselines["mean"].tolist() == [3.0]


def test_categories_have_no_mean_among_the_systems(judged: Project, researcher: Membership, client_of: SignIn) -> None:
    found = Script(researcher).read("scores/", kind="systems")
    assert set(found["figures"]["scores"]) == {"", "quality", "fits"}
    assert found["figures"]["unordered"] == ["error"]
    assert found["figures"]["names"] == {"error": "Error"}
    assert any(each.endswith("which have no mean: Error.") for each in found["figures"]["warnings"])
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


def test_the_pages_of_human_scores_keep_the_judgments_that_were_chosen(
    judged: Project, researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    page = client.get("/p/bridges/scores/", {"criterion": "fits", "by": "source", "rule": "median"}).content.decode()
    assert 'href="/p/bridges/scores/disagreements/?criterion=fits"' in page
    page = client.get("/p/bridges/scores/disagreements/", {"criterion": "fits", "by": "pairs"}).content.decode()
    assert 'href="/p/bridges/scores/?criterion=fits"' in page


def test_a_new_evaluation_proposes_a_criterion_with_an_order(
    judged: Project, researcher: Membership, client_of: SignIn
) -> None:
    Criterion.objects.filter(key="quality").update(position=9)
    page = client_of(researcher).get("/p/bridges/studies/new/?kind=correlation").content.decode()
    first, second = re.findall(r'<option value="(error|fits)"( selected)?', page)
    assert (first, second) == (("error", ""), ("fits", " selected"))


def test_the_leaderboard_begins_with_a_criterion_that_metrics_can_be_ranked_by(
    judged: Project, researcher: Membership, client_of: SignIn
) -> None:
    Criterion.objects.filter(key="quality").update(position=9)
    client, address = client_of(researcher), "/p/bridges/leaderboard/"
    for sent in ({}, {"blind": "on"}):
        html = client.get(address, sent).content.decode()
        assert '<option value="fits" selected>' in html, sent
        client.post(f"{address}?{urlencode(sent)}")
        assert Report.objects.get(settings__blind=bool(sent)).settings["criterion"] == "fits"
    html = client.get(address, {"criterion": "error"}).content.decode()
    assert '<option value="error" selected>' in html
    assert Script(researcher).read("leaderboard/")["settings"]["criterion"] == "fits"


def test_pages_name_criteria_as_their_rubric_does(
    judged: Project, researcher: Membership, owner: Membership, client_of: SignIn
) -> None:
    Criterion.objects.filter(key="quality").update(name="Correctness of the answer")
    runs = list(MetricRun.objects.all())
    made, other = (
        study(judged, researcher, runs, criterion="quality"),
        study(judged, researcher, runs, criterion="fits"),
    )
    before = freeze(judged, owner, criteria=("quality",))
    after = freeze(judged, owner, criteria=("quality", "fits"))
    client = client_of(owner)
    compared = f"studies/compare/?first={made.number}&second={other.number}"
    for address in (
        "studies/",
        f"studies/{made.number}/",
        compared,
        "sets/",
        "sets/new/?criteria=quality&stage=full",
        f"sets/{before.number}/",
        f"sets/{after.number}/",
        f"sets/{after.number}/tables/criteria.csv",
    ):
        text = strip_tags(client.get(f"/p/bridges/{address}").content.decode())
        assert "Correctness of the answer" in text, address
        assert not re.search(r"(?<!mocha-)\bquality\b", text), address
    assert "quality" in read(after, "README.md").decode(), "the files of a set have keys in their columns"


def test_criteria_of_one_name_are_told_apart_by_their_keys(judged: Project) -> None:
    Criterion.objects.exclude(key="error").update(name="Good")
    assert name_criteria(judged) == {"quality": "Good (quality)", "error": "Error", "fits": "Good (fits)"}
