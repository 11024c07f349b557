"""Studies in a judgment set: whole, the same bytes each time, nobody named, nothing of what was taken out."""

import csv
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from projects.errors import Refused
from projects.models import ConsentAcceptance, LogEntry, Membership, Project
from results.models import ErrorCause, JudgmentSet, MetricRun, Study
from results.sets import building, freezing, readme, retiring
from results.studies.freshness import VERSION, describe_version
from results.studies.presentation import list_warnings
from tests.factories import make_candidates, make_consent, make_dataset, make_membership, make_passage, make_question
from tests.page_reader import condense
from tests.people import SignIn
from tests.previews import confirm
from tests.results.judged_batches import canonical, judge
from tests.results.sets.frozen_sets import freeze, list_names, read, table
from tests.results.studies.factories import give_scores, list_candidates, study


@pytest.fixture
def runs(project: Project, manager: Membership) -> list[MetricRun]:
    canonical(project)
    candidates = list_candidates(project)
    return [
        give_scores(project, manager, "Overlap", {each.pk: each.pk % 5 / 5 for each in candidates}),
        give_scores(project, manager, "=Model 2", {each.pk: each.pk % 3 / 3 for each in candidates[:-2]}),
    ]


@pytest.fixture
def studies(project: Project, manager: Membership, runs: list[MetricRun]) -> list[Study]:
    made = [study(project, manager, runs, kind, n_resamples=100) for kind in ("correlation", "errors")]
    worst = made[1].result["figures"]["lists"][0]["parts"]["canonical"][0]["candidate"]
    ErrorCause.objects.create(
        project=project, candidate_id=worst, compared=runs[0].subject, cause="Negation", by=manager
    )
    return made


@pytest.fixture
def made(project: Project, manager: Membership, studies: list[Study]) -> JudgmentSet:
    return freeze(project, manager, studies=tuple(each.number for each in studies))


def test_a_set_holds_what_a_study_was_asked_and_what_came_of_it(
    made: JudgmentSet, studies: list[Study], researcher: Membership, client_of: SignIn
) -> None:
    stored = json.loads(read(made, "study-1.json"))
    assert {name: stored[name] for name in ("kind", "settings", "seed")} == {
        name: getattr(studies[0], name) for name in ("kind", "settings", "seed")
    }
    warnings = list_warnings(studies[0])
    assert warnings[0].startswith("Few passages"), "which pages find in the figures"
    assert {**stored["result"], VERSION: describe_version(made.project)} == {**studies[0].result, "warnings": warnings}
    causes = json.loads(read(made, "study-2.json"))["result"]["figures"]["causes"]
    assert [list(each.values()) for each in causes.values()] == [["Negation"]]
    client = client_of(researcher)
    shown = {form: client.get(f"{studies[0].get_absolute_url()}tables/overall.{form}") for form in ("csv", "tex", "md")}
    assert read(made, "study-1-overall.csv") == shown["csv"].content
    assert shown["md"].content in read(made, "study-1.md")
    tex = read(made, "study-1.tex").decode()
    assert shown["tex"].content.decode().rpartition("% ")[2].partition("\n")[2] in tex
    assert (tex.count("usepackage{booktabs}"), tex.startswith("% ")) == (1, True)
    assert "Negation" in read(made, "study-2-causes-1.csv").decode()
    assert {file["name"] for file in json.loads(read(made, "manifest.json"))["files"]} >= set(list_names(made)) - {
        "manifest.json",
        "SHA256SUMS",
    }


def test_metric_scores_are_beside_the_candidates(made: JudgmentSet, runs: list[MetricRun]) -> None:
    rows = table(made, "metric_scores.csv")
    assert list(rows[0])[-2:] == ["_model_2", "overlap"]
    stored = dict(runs[0].scores.values_list("candidate__external_id", "value"))
    assert {row["candidate_id"]: float(row["overlap"]) for row in rows} == stored
    assert [row["candidate_id"] for row in rows if not row["_model_2"]] == ["unit-10", "unit-11"]
    about = json.loads(read(made, "metrics.json"))["columns"]
    assert [(each["title"], each["studies"], each["is_run_of_studies"]) for each in about] == [
        ("=Model 2", [1, 2], True),
        ("Overlap", [1, 2], True),
    ]
    codebook = csv.DictReader(io.StringIO(read(made, "codebook.csv").decode()))
    assert [row["column"] for row in codebook if row["file"] == "metric_scores.csv"][-2:] == ["_model_2", "overlap"]


def test_the_prose_names_each_study_and_says_which_scores_are_newer(
    project: Project, manager: Membership, studies: list[Study], runs: list[MetricRun]
) -> None:
    give_scores(project, manager, "Overlap", dict(runs[0].scores.values_list("candidate_id", "value")))
    made = freeze(project, manager, studies=(1, 2))
    readme, datasheet = read(made, "README.md").decode(), read(made, "datasheet.md").decode()
    assert "| `study-1.tex` | metric evaluation 1: its tables as LaTeX |" in readme
    assert "- 1. Segment-level correlation, `study-1.json`: 10 candidates; metrics: " in readme
    assert "- Metric evaluations: 1, 2" in readme
    assert "- In `metric_scores.csv`, `overlap` has newer scores than a metric evaluation used." in datasheet
    assert "named by the project's researchers in their own words" in datasheet


@pytest.mark.parametrize("kind", Study.Kind)
def test_the_readme_names_each_kind_of_evaluation(kind: Study.Kind) -> None:
    result = {"n": 1200, "metrics": [{"label": "ROUGE-L"}], "read_at": "2026-11-28T09:00:00Z"}
    named = Study(number=3, kind=kind, name="For the paper", seed=7, result=result)
    unit = "minimal pairs" if kind is Study.Kind.PAIRS else "candidates"
    assert list(readme.list_evaluations([named]))[-2] == (
        f"- 3. For the paper ({kind.label}), `study-3.json`: 1,200 {unit}; metrics: ROUGE-L; seed 7; data of 2026-11-28"
    )


def test_the_same_studies_are_the_same_bytes_and_follow_from_the_files(
    project: Project, manager: Membership, made: JudgmentSet, tmp_path: Path
) -> None:
    again = freeze(project, manager, studies=(1, 2))
    names = [name for name in list_names(made) if name.startswith(("study-", "metric"))]
    assert len(names) > 10
    assert all(read(made, name) == read(again, name) for name in names)
    folder = tmp_path / "again"
    folder.mkdir()
    canonical_files = ("long.jsonl", "long.csv", "candidates.jsonl", "passages.jsonl", "annotators.csv", "set.json")
    for name in (*canonical_files, "study-1.json", "study-2.json", "metrics.json", "metric_scores.csv"):
        (folder / name).write_bytes(read(made, name))
    building.derive(folder, building.Progress(lambda done, total: None, 41))
    assert all((folder / name).read_bytes() == read(made, name) for name in [*names, "README.md", "codebook.csv"])


def test_nobody_is_named_and_a_set_without_studies_has_none(
    project: Project, manager: Membership, made: JudgmentSet
) -> None:
    whole = b"".join(read(made, name) for name in list_names(made) if name.startswith(("study-", "metric")))
    for person in project.memberships.all():
        assert person.pseudonym.encode() not in whole
    assert b"Candidate answer" not in whole
    plain = freeze(project, manager)
    assert not [name for name in list_names(plain) if name.startswith(("study-", "metric"))]
    assert b"## Metric evaluations" not in read(plain, "README.md")


def test_a_set_says_of_which_studies_judgments_have_changed_since(
    project: Project, manager: Membership, studies: list[Study], runs: list[MetricRun], client_of: SignIn
) -> None:
    address = "/p/bridges/sets/new/"
    chosen: dict[str, Any] = {"look": "1", "studies": [1, 2]}
    assert "changed since" not in client_of(manager).get(address, chosen).content.decode()
    judge(project, {list_candidates(project)[0]: {make_membership(project): 5.0}})
    third = study(project, manager, runs, n_resamples=100)
    page = condense(client_of(manager).get(address, {**chosen, "studies": [1, 3]}).content.decode())
    assert page.count(", judgments have changed since") == 1
    assert "Judgments have changed since 1 of these evaluations was computed. Run it again first" in page
    made = freeze(project, manager, studies=(1, third.number))
    lines = [line for line in read(made, "README.md").decode().splitlines() if "Segment-level correlation, `" in line]
    assert [line.endswith("and judgments have changed since") for line in lines] == [True, False]


def test_a_study_of_judgments_that_were_removed_since_is_in_no_set(
    project: Project, manager: Membership, made: JudgmentSet, client_of: SignIn
) -> None:
    _take_out_work(project, made)
    with pytest.raises(Refused, match="evaluation 1 cannot be included"):
        freeze(project, manager, studies=(1,))
    assert "studies" not in client_of(manager).get("/p/bridges/sets/new/").context["form"].fields
    Study.objects.update(started_at=timezone.now() + timedelta(minutes=1))
    freeze(project, manager, studies=(1,))


def test_a_replacement_leaves_out_the_studies_that_rest_on_removed_work(
    project: Project, manager: Membership, made: JudgmentSet, client_of: SignIn
) -> None:
    Study.objects.filter(number=2).update(started_at=timezone.now() + timedelta(minutes=1))
    _take_out_work(project, made)
    assert retiring.retire_taken_out() == 1
    page = client_of(manager).post("/p/bridges/sets/1/succeed/", follow=True)
    sentence = "Metric evaluations left out, as they were deleted or an annotator has removed work since they ran: 1."
    assert [str(each) for each in page.context["messages"]] == [sentence]
    entry = LogEntry.objects.get(act="replace judgment set")
    assert (entry.after, entry.why) == ({"successor": 2}, sentence)
    successor = project.judgment_sets.get(number=2)
    assert successor.settings == {**made.settings, "studies": [2]}
    freezing.run(successor.pk)
    successor.refresh_from_db()
    assert (successor.state, successor.error) == ("done", "")
    assert {name for name in list_names(successor) if name.startswith("study-")} >= {"study-2.json"}
    assert "study-1.json" not in list_names(successor)


def test_a_replacement_keeps_studies_without_removed_work(
    project: Project, manager: Membership, made: JudgmentSet, client_of: SignIn
) -> None:
    retiring.retire(judgment_set=made, actor=manager, why="Wrong licence.")
    page = client_of(manager).post("/p/bridges/sets/1/succeed/", follow=True)
    assert [str(each) for each in page.context["messages"]] == []
    assert project.judgment_sets.get(number=2).settings == made.settings
    assert LogEntry.objects.get(act="replace judgment set").why == ""


def test_a_set_goes_where_those_behind_its_studies_go(
    project: Project, manager: Membership, runs: list[MetricRun]
) -> None:
    elsewhere = make_membership(project)
    made = make_candidates(make_question(make_passage(make_dataset(project, "other"))), 3)
    judge(project, {each: {elsewhere: float(at)} for at, each in enumerate(made, start=1)})
    give_scores(project, manager, "Overlap", {each.pk: each.pk % 5 / 5 for each in list_candidates(project)})
    study(project, manager, list(MetricRun.objects.filter(title="Overlap").newest()), n_resamples=100)
    only: dict[str, Any] = {"datasets": ("canonical",)}
    assert elsewhere.pseudonym not in freeze(project, manager, **only).facts["annotators"]
    assert elsewhere.pseudonym in freeze(project, manager, studies=(1,), **only).facts["annotators"]


def test_the_form_offers_them_and_the_preview_says_which(
    project: Project, manager: Membership, studies: list[Study], client_of: SignIn
) -> None:
    client = client_of(manager)
    asked: dict[str, Any] = {"look": 1, "studies": "2", "texts": "on", "controls": "on"}
    answer = client.get("/p/bridges/sets/new/", asked)
    assert [each.number for each in answer.context["studies"]] == [2]
    assert f'href="{studies[1].get_absolute_url()}"' in answer.content.decode()
    confirm(client, "/p/bridges/sets/new/", asked, name="With one")
    assert JudgmentSet.objects.get().settings["studies"] == [2]


def test_a_study_that_is_not_there_or_not_done_is_refused(project: Project, manager: Membership) -> None:
    canonical(project)
    with pytest.raises(Refused, match="There is no metric evaluation 7"):
        freeze(project, manager, studies=(7,))
    Study.objects.create(project=project, number=7, kind="correlation", name="Queued", seed=1, requested_by=manager)
    with pytest.raises(Refused, match="evaluation 7 cannot be included: it is not done"):
        freeze(project, manager, studies=(7,))


def _take_out_work(project: Project, made: JudgmentSet) -> None:
    annotator = next(each for each in project.memberships.all() if each.pseudonym in made.facts["annotators"])
    ConsentAcceptance.objects.create(
        membership=annotator, consent=make_consent(project), withdrawn_at=timezone.now(), is_taken_out=True
    )
