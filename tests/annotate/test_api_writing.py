"""What the API changes, it changes by the acts of the pages: batches, and imports with their job."""

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django import Settings

from annotate import tasks
from annotate.models import Batch
from projects.importing.rows import NO_ANSWER
from projects.models import Candidate, LogEntry, Membership, Project
from tests.factories import make_corpus, make_instructions, make_membership, make_project, make_rubric
from tests.projects.api.client import Script, wrong_fields

State = Batch.State


@pytest.fixture
def script(manager: Membership) -> Script:
    return Script(manager, can_write=True)


@pytest.fixture
def data(project: Project) -> Project:
    make_corpus(project, n_passages=3, n_candidates=4, name="main")
    make_rubric(project)
    make_instructions(project)
    return project


@pytest.mark.django_db
def test_a_batch_is_made_and_goes_through_its_states(data: Project, script: Script, manager: Membership) -> None:
    response = script.send("batches/", {"judgments": 2, "datasets": ["main"], "hit_size": 2, "seed": 7})
    assert response.status_code == 201, response.content
    made = response.json()
    assert (made["state"], made["n_candidates"], made["progress"]["n_hits"]) == ("draft", 12, 6)
    assert made["progress"]["n_wanted"] == 12
    for act, state in [("open", "open"), ("pause", "paused"), ("open", "open"), ("close", "closed")]:
        assert script.send("batches/1/state/", {"act": act}).json()["state"] == state
    refused = script.send("batches/1/state/", {"act": "pause"})
    assert (refused.status_code, refused.json()["detail"]) == (409, "This batch is closed, so it can’t be paused.")
    assert script.send("batches/1/state/", {"act": "reopen"}).status_code == 409
    assert script.send("batches/1/state/", {"act": "reopen", "why": "More people"}).json()["state"] == "open"
    assert script.read("batches/1/")["state"] == "open"
    acts = LogEntry.objects.filter(object_type="batch").order_by("pk").values_list("act", "actor")
    assert ("make batch", manager.pk) in acts
    assert ("reopen batch", manager.pk) in acts


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({}, "judgments"),
        ({"judgments": 0}, "judgments"),
        ({"judgments": "many"}, "judgments"),
        ({"judgments": 2, "hit_size": 1_000}, "hit_size"),
        ({"judgments": 2, "datasets": ["foreign"]}, "datasets"),
        ({"judgments": 2, "splits": [["train"]]}, "splits.0"),
        ({"annotators": ["a-nobody22"]}, "annotators"),
        ({"judgments": 2, "state": "open"}, "state"),
        ({"judgments": 2, "project": 1}, "project"),
        ({"judgments": 2, "is_gold": True, "role": "owner"}, "is_gold"),
        ({"judgments": 2, "seed": 2**80}, "seed"),
    ],
)
def test_a_wrong_field_is_named_and_nothing_is_made(
    data: Project, script: Script, sent: dict[str, object], field: str
) -> None:
    make_corpus(make_project("elsewhere"), name="foreign")
    response = script.send("batches/", sent)
    assert response.status_code in (400, 409)
    assert field in wrong_fields(response)
    assert not Batch.objects.exists()


@pytest.mark.django_db
def test_annotators_of_another_project_cannot_be_named(data: Project, script: Script) -> None:
    foreign = make_membership(make_project("elsewhere"))
    ours = make_membership(data)
    assert wrong_fields(script.send("batches/", {"annotators": [foreign.pseudonym]})) == {"annotators"}
    assert script.send("batches/", {"annotators": [ours.pseudonym]}).json()["judgments"] == 1


@pytest.mark.django_db
@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"\xff", b"[" * 100_000, b'{"judgments": NaN}', b"null"])
def test_a_body_that_is_no_object_is_refused(data: Project, script: Script, body: bytes) -> None:
    response = script.post(f"{script.root}batches/", body, content_type="application/json")
    assert response.status_code == 400
    assert script.post(f"{script.root}batches/", {"judgments": "2"}).status_code == 415
    assert not Batch.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_file_is_sent_checked_asked_after_and_written(
    project: Project, manager: Membership, script: Script, settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    content = b"who,question,reference,answer\nAnn,Who?,Ann,Bob\nAnn,Who?,Ann,Eve\n"
    sent = {
        "file": SimpleUploadedFile("rows.csv", content),
        "kind": "candidates",
        "dataset": "small",
        "map": ["answer=candidate", "who=source"],
    }
    wrong = script.post(f"{script.root}imports/", {**sent, "second_reference_below": "nan"})
    assert wrong_fields(wrong) == {"second_reference_below"}
    sent["file"].seek(0)  # type: ignore[attr-defined]
    response = script.post(f"{script.root}imports/", sent)
    assert response.status_code == 202, response.content
    assert response["Location"] == f"{script.root}imports/1/"
    asked = script.read("imports/1/")
    assert (asked["step"], asked["state"], asked["is_live"]) == ("check", "queued", True)
    assert script.send("imports/1/write/", {}).status_code == 409
    tasks.run_import(project.imports.get().pk)
    checked = script.read("imports/1/")
    assert (checked["state_in_words"], checked["is_live"], checked["report"]["candidates"]) == (
        "validated, not imported yet",
        False,
        2,
    )
    assert not Candidate.objects.exists()
    assert script.send("imports/1/write/", {}).status_code == 202
    tasks.run_import(project.imports.get().pk)
    assert script.read("imports/1/")["state_in_words"] == "imported"
    found = Candidate.objects.values_list("text", "source", "dataset__name").order_by("text")
    assert list(found) == [("Bob", "Ann", "small"), ("Eve", "Ann", "small")]
    assert project.imports.get().requested_by == manager
    assert script.send("imports/1/cancel/", {}).status_code == 409


@pytest.mark.django_db(transaction=True)
def test_a_file_with_errors_is_validated_again_with_other_options(
    project: Project, script: Script, settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    content = b"sep=;\nid;question;candidate;rater1;rater2\na;Who?;Bob;Good;7\nb;Who?;;Bad;1\nc;Who?;Eve;Bad;n/a\n"
    script.post(f"{script.root}imports/", {"file": SimpleUploadedFile("rows.csv", content), "kind": "candidates"})
    tasks.run_import(project.imports.get().pk)
    failed = script.read("imports/1/")
    assert (failed["state"], failed["report"]["n_rows"], failed["report"]["total"]) == ("failed", 1, 1)
    assert wrong_fields(script.send("imports/1/check/", {"labels": ["Good"]})) == {"labels"}
    options = {
        "with_scores": True,
        "criterion": ["ease:0-10"],
        "labels": ["Good=9", "Bad=0", "n/a=missing"],
        "skip_wrong_rows": True,
    }
    assert script.send("imports/1/check/", options).status_code == 202
    assert script.send("imports/1/check/", options).status_code == 409, "It waits already."
    tasks.run_import(project.imports.get().pk)
    report = script.read("imports/1/")["report"]
    assert (report["candidates"], report["judgments"], report["skipped"]) == (2, 3, {"wrong_rows": 1})
    assert [(each["line"], each["reason"]) for each in report["skipped_rows"]] == [(4, NO_ANSWER)]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("over", "field"),
    [
        ({"kind": "people"}, "kind"),
        ({"labels": ["Good"]}, "labels"),
        ({"map": ["answer"]}, "map"),
        ({"map": ["answer=colour"]}, "map"),
        ({"criterion": ["x=Y:1-5"]}, "criterion"),
        ({"state": "done"}, "state"),
        ({"file": "no file"}, "file"),
        ({"second_reference_below": "nan"}, "second_reference_below"),
    ],
)
def test_a_file_sent_wrongly_is_not_kept(
    project: Project, script: Script, settings: Settings, tmp_path: Path, over: dict[str, object], field: str
) -> None:
    settings.MEDIA_ROOT = tmp_path
    sent = {"file": SimpleUploadedFile("rows.csv", b"question,candidate\nWho?,Bob\n"), "kind": "candidates", **over}
    response = script.post(f"{script.root}imports/", sent)
    assert response.status_code in (400, 409)
    assert wrong_fields(response) == {field}
    assert not project.imports.exists()
    assert not list(tmp_path.rglob("imports/*"))
