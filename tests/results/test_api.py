"""Agreement and judgment sets by the API: the figures of the pages, and the bytes of the downloads."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from annotate.reviews import adjudication
from projects.models import LogEntry, Membership, Passage, Project
from results import tasks
from results.agreement.alpha import measure_agreement
from results.models import JudgmentSet, Study
from results.reports import reports
from results.scope.scopes import read_scope
from results.scores.forms import GoldForm
from results.sets import freezing
from results.studies.presentation import list_warnings
from tests import sized_projects
from tests.factories import make_membership, make_project
from tests.people import SignIn
from tests.projects.api.client import Script, wrong_fields
from tests.results.judged_batches import PUBLISHED, canonical
from tests.results.sets.frozen_sets import freeze
from tests.results.studies.factories import do, give_scores, list_candidates

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_folder(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"


@pytest.fixture
def judged(project: Project) -> Project:
    sized_projects.run_trial(project)
    return project


def test_agreement_is_that_of_the_pages(judged: Project, researcher: Membership) -> None:
    given = Script(researcher).read("agreement/", stage="trial", level="interval", by="source")
    settings = given["settings"]
    assert (settings["level"], settings["by"], settings["stage"]) == ("interval", "source", "trial")
    report = measure_agreement(read_scope(judged, settings), level="interval", by="source")  # type: ignore[arg-type]
    assert given["figures"]["report"]["levels"][0]["alpha"] == report.main.alpha
    assert given["figures"]["report"]["levels"][0]["n_ratings"] == report.main.n_ratings
    assert (given["is_current"], given["computed_at"], given["state"]) == (True, None, None)
    (few,) = given["figures"]["warnings"]
    assert few.startswith("Few passages")
    pairs = Script(researcher).read("agreement/", kind="annotators", stage="trial")
    assert pairs["figures"]


@pytest.mark.parametrize(("level", "alpha"), PUBLISHED.items())
def test_krippendorffs_example_gives_his_numbers(
    project: Project, researcher: Membership, level: str, alpha: float
) -> None:
    canonical(project)
    line = Script(researcher).read("agreement/", level=level)["figures"]["report"]["levels"][0]
    assert (round(line["alpha"], 3), line["n_single"]) == (alpha, 1)


def test_scores_are_those_of_the_pages(judged: Project, researcher: Membership) -> None:
    script = Script(researcher)
    gold = adjudication.read_gold_rule(judged)
    given = script.read("scores/", stage="trial")
    form = GoldForm(judged, QueryDict("stage=trial"))
    assert form.is_valid()
    settings = form.settings(form.scope(), gold)
    assert given["settings"] == settings
    assert given["figures"] == {**(reports.find_report(judged, "golds", settings).figures or {}), "warnings": []}
    systems = script.read("scores/", kind="systems", stage="trial")
    assert systems["figures"]
    assert systems["settings"]["stage"] == "trial"


@pytest.mark.parametrize(
    ("query", "status", "field"),
    [({"criterion": "colour"}, 409, "criterion"), ({"batch": 99}, 409, "batch"), ({"level": "x"}, 400, "level")],
)
def test_what_agreement_cannot_be_asked_is_named(
    judged: Project, researcher: Membership, query: dict[str, Any], status: int, field: str
) -> None:
    script = Script(researcher)
    response = script.get(f"{script.root}agreement/", query)
    assert (response.status_code, wrong_fields(response)) == (status, {field})


@pytest.mark.parametrize(
    ("path", "query", "known"),
    [
        ("agreement/", {"stage": "trial"}, "full, all"),
        ("scores/", {"stage": "trial"}, "full, all"),
        ("scores/", {"stage": "trial", "kind": "systems"}, "full, all"),
        ("leaderboard/", {"stage": "trial"}, "full, all"),
        ("leaderboard/", {"dataset": "news"}, "canonical"),
        ("leaderboard/", {"split": "test"}, "train"),
        ("leaderboard/", {"split": "(none)"}, "train"),
    ],
)
def test_what_the_project_does_not_have_is_refused_also_where_there_is_no_choice(
    project: Project, researcher: Membership, path: str, query: dict[str, str], known: str
) -> None:
    canonical(project)
    Passage.objects.update(split="train")
    script = Script(researcher)
    field = min(query.keys() - {"kind"})
    for response in (script.get(f"{script.root}{path}", query), script.send(path, query)):
        assert (response.status_code, wrong_fields(response)) == (409, {field})
        sentence = f"The project has no {field} “{query[field]}”. It has: {known}."
        assert response.json()["errors"] == [{"field": field, "detail": sentence}]
    assert not project.reports.exists()


def test_the_only_value_can_be_named(project: Project, researcher: Membership) -> None:
    canonical(project)
    Passage.objects.update(split="")
    script = Script(researcher)
    assert (
        script.read("agreement/", stage="full") == script.read("agreement/") == script.read("agreement/", stage="all")
    )
    asked = {"stage": "full", "dataset": "canonical", "split": "(none)"}
    assert script.read("leaderboard/", **asked)["settings"] == script.read("leaderboard/")["settings"]


def test_parameters_of_systems_are_refused_for_gold_scores(project: Project, researcher: Membership) -> None:
    canonical(project)
    script = Script(researcher)
    response = script.get(f"{script.root}scores/", {"test": "graham2016"})
    assert (response.status_code, wrong_fields(response)) == (409, {"test"})
    assert "has no effect" in response.json()["detail"]


def test_without_judgments_there_is_no_agreement(project: Project, researcher: Membership) -> None:
    script = Script(researcher)
    assert script.get(f"{script.root}agreement/").status_code == 409


def test_a_token_that_reads_has_many_judgments_computed_by_a_job(
    judged: Project, researcher: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "AT_ONCE", 0)
    script = Script(researcher)
    asked = {"stage": "trial"}
    assert script.read("agreement/", **asked)["figures"] is None
    response = script.send("agreement/", asked)
    assert (response.status_code, response.json()["state"]) == (202, "queued")
    tasks.make_report(judged.reports.get().pk)
    done = script.read("agreement/", **asked)
    assert done["is_current"]
    assert done["computed_at"]
    assert done["figures"]["report"]["levels"]
    assert script.put(f"{script.root}agreement/").status_code == 405


def test_a_set_is_asked_for_polled_and_downloaded(judged: Project, manager: Membership, researcher: Membership) -> None:
    writer, reader = Script(manager, can_write=True), Script(researcher)
    response = writer.send("judgment-sets/", {"name": "For the paper", "stage": "trial", "n_resamples": 100})
    assert (response.status_code, response["Location"]) == (202, f"{writer.root}judgment-sets/1/")
    assert reader.read("judgment-sets/1/")["state"] == "queued"
    assert reader.get(f"{reader.root}judgment-sets/1/archive/").status_code == 404
    freezing.run(JudgmentSet.objects.get().pk)
    made = reader.read("judgment-sets/1/")
    assert (made["state"], made["settings"]["n_resamples"]) == ("done", 100)
    whole = reader.get(f"{reader.root}judgment-sets/1/archive/")
    assert compute_sha256(whole) == made["sha256"]
    assert whole["Content-Disposition"].endswith('"bridges-set-1.zip"')
    for file in made["files"]:
        assert compute_sha256(reader.get(f"{reader.root}judgment-sets/1/files/{file['name']}")) == file["sha256"]
    assert LogEntry.objects.get(act="ask for judgment set").actor == manager
    assert reader.send("judgment-sets/", {"name": "No"}).status_code == 403


@pytest.mark.parametrize(
    ("over", "field"),
    [({"name": ""}, "name"), ({"gold": "best"}, "gold"), ({"sha256": "x"}, "sha256"), ({"seed": -1}, "seed")],
)
def test_a_wrong_field_of_a_set_is_named(
    judged: Project, manager: Membership, over: dict[str, Any], field: str
) -> None:
    response = Script(manager, can_write=True).send("judgment-sets/", {"name": "For the paper", **over})
    assert (response.status_code, wrong_fields(response)) == (400, {field})
    assert not JudgmentSet.objects.exists()


def test_sets_of_another_project_are_not_there(judged: Project, manager: Membership, client_of: SignIn) -> None:
    elsewhere = make_project("elsewhere")
    sized_projects.run_trial(elsewhere)
    owner = elsewhere.memberships.first()
    assert owner
    freeze(elsewhere, owner, stage="trial")
    script = Script(manager)
    assert script.read("judgment-sets/")["count"] == 0
    for path in ("judgment-sets/1/", "judgment-sets/1/archive/", "judgment-sets/1/files/long.csv"):
        assert script.get(script.root + path).status_code == 404


def compute_sha256(response: Any) -> str:
    assert response.status_code == 200
    return hashlib.sha256(b"".join(response.streaming_content)).hexdigest()


def test_a_browser_that_is_signed_in_downloads_the_same(
    judged: Project, researcher: Membership, manager: Membership, client_of: SignIn
) -> None:
    made = freeze(judged, manager, stage="trial")
    browser: Client = client_of(researcher)
    by_page = browser.get(reverse("results:set-archive", args=["bridges", made.number]))
    by_api = browser.get(reverse("api:set-archive", args=["bridges", made.number]))
    assert compute_sha256(by_page) == compute_sha256(by_api) == made.sha256


def test_an_evaluation_is_requested_polled_and_its_tables_read(
    judged: Project, researcher: Membership, manager: Membership, client_of: SignIn
) -> None:
    for n, name in enumerate(("One", "Two"), start=3):
        give_scores(judged, manager, name, {each.pk: each.pk % n / n for each in list_candidates(judged)})
    reader, script = Script(manager), Script(researcher, can_write=True)
    sent = {"kind": "significance", "metrics": ["one", "Two"], "stage": "trial", "resamples": 100, "seed": 0}
    assert reader.send("studies/", sent).status_code == 403
    response = script.send("studies/", sent)
    assert (response.status_code, response["Location"]) == (202, f"{script.root}studies/1/"), response.content
    made = response.json()
    assert (made["state"], made["seed"], made["settings"]["n_resamples"], made["tables"]) == ("queued", 0, 100, [])
    assert do(Study.objects.get()).state == "done"
    done = script.read("studies/1/")
    assert done["is_live"] is False
    assert done["warnings"] == list_warnings(Study.objects.get())
    assert made["warnings"] == []
    assert any(each.startswith("Few passages") for each in done["warnings"])
    for name in done["tables"]:
        page = client_of(researcher).get(reverse("results:study-table", args=[judged.slug, 1, name, "csv"]))
        assert script.get(f"{script.root}studies/1/tables/{name}.csv").content == page.content
    assert script.get(f"{script.root}studies/1/tables/{done['tables'][0]}.exe").status_code == 404
    assert LogEntry.objects.get(act="ask for study").actor == researcher
    again = script.send("studies/1/again/", {}).json()
    assert (again["number"], again["settings"], again["seed"], again["state"]) == (2, done["settings"], 0, "queued")
    assert script.delete(f"{script.root}studies/2/").status_code == 409, "It has not ended."
    assert script.send("studies/2/cancel/", {}).json()["state"] == "cancelled"
    assert script.send("studies/2/cancel/", {}).status_code == 409
    assert reader.delete(f"{script.root}studies/2/").status_code == 403
    other = Script(make_membership(judged, role="researcher"), can_write=True)
    assert other.delete(f"{script.root}studies/2/").status_code == 409, "It is somebody else's."
    assert script.delete(f"{script.root}studies/2/").status_code == 204
    assert script.get(f"{script.root}studies/2/").status_code == 404
    for over, field in (
        ({"metrics": ["one"]}, "metrics"),
        ({"options": {"colour": "red"}}, "options"),
        ({"batch": 99}, None),
        ({"metrics": ["three"]}, None),
        ({"sources": ["nobody"]}, "sources"),
    ):
        refused = script.send("studies/", {**sent, **over})
        assert refused.status_code == 409, refused.content
        assert wrong_fields(refused) == ({field} if field else set())
    without = script.send("studies/", {"kind": "sweep", "stage": "trial"})
    assert without.status_code == 409
    assert "Compute adapted BLEU or adapted ROUGE-L first" in without.text
    assert Study.objects.count() == 1
