"""Importing on the pages: choose a file, look, check, write; cancel; refuse; only managers."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.test import Client
from django.utils.html import escape
from pytest_django import DjangoAssertNumQueries, Settings

from annotate.imports import uploading
from annotate.models import Import, Judgment
from projects.errors import Refused
from projects.jobs import queue
from projects.jobs.running import AttemptSuperseded
from projects.models import Candidate, LogEntry, Membership, Passage, Project
from projects.web import uploads
from projects.web.previews import NOT_SHOWN, OTHER_NUMBERS
from tests import processes
from tests.annotate.imports.import_steps import Pages, rows, write_csv, write_mocha
from tests.page_reader import condense
from tests.previews import find_seal

pytestmark = pytest.mark.django_db(transaction=True)

State, Step = Import.State, Import.Step
NASTY = "<script>window.__xss=1</script>\u202e{{7*7}}"


@pytest.fixture(autouse=True)
def _media(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"


@pytest.fixture(autouse=True)
def announced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []

    def announce(task: str, pk: int) -> bool:
        found.append(pk)
        return True

    monkeypatch.setattr(queue, "_announce", announce)
    return found


@pytest.fixture
def pages(project: Project, manager: Membership, client_of: Callable[[Membership], Client]) -> Pages:
    return Pages(client_of(manager), project)


def kept_files() -> list[str]:
    return sorted(path.name for path in uploads.folder().iterdir())


def test_a_file_is_looked_at_checked_written_and_kept(pages: Pages, project: Project, announced: list[int]) -> None:
    job = pages.upload(write_csv(rows()))
    page = pages.show(job)
    assert "candidate 0" in page
    assert "candidate 4" in page
    assert "candidate 5" not in page, "Five rows are shown."
    assert announced == []

    pages.choose(job)
    job.refresh_from_db()
    assert (job.step, job.state, announced) == (Step.CHECK, State.QUEUED, [job.pk])
    assert "Validating every row" in pages.show(job)
    pages.work(job)
    page = pages.show(job)
    assert (job.step, job.state) == (Step.CHECK, State.DONE)
    assert "Nothing is stored yet" in page
    assert not Candidate.objects.exists()

    pages.write(job)
    assert (job.step, job.state, job.done, job.total) == (Step.WRITE, State.DONE, 6, 6)
    assert Candidate.objects.in_project(project).count() == 6
    assert Passage.objects.count() == 2
    assert kept_files() == [job.stored_name]
    assert pages.url("data-overview") in pages.show(job)
    assert LogEntry.objects.filter(act="import candidates", object_id=str(job.pk)).count() == 1


def test_the_guess_of_a_column_can_be_changed(pages: Pages, project: Project) -> None:
    found = [{**row, "colour": f"system {row['source'][-1]}"} for row in rows()]
    job = pages.upload(write_csv(found))
    column, source = pages.column(job, "colour"), pages.column(job, "source")
    pages.choose(job, then="look", **{column: "source", source: "ignore"})
    job.refresh_from_db()
    assert (job.step, job.state) == (Step.UPLOADED, State.DONE)
    assert pages.form(job)[column] == "source", "The choice is kept for the next look."
    pages.choose(job)
    pages.work(job)
    pages.write(job)
    assert set(Candidate.objects.values_list("source", flat=True)) == {"system 0", "system 1", "system 2"}


def test_two_columns_that_mean_the_same_are_redisplayed(pages: Pages) -> None:
    job = pages.upload(write_csv(rows()))
    response = pages.choose(job, **{pages.column(job, "source"): "candidate"})
    assert response.status_code == 422
    assert "is already mapped to this field" in response.content.decode()
    job.refresh_from_db()
    assert job.step == Step.UPLOADED


def test_what_was_detected_is_said_and_can_be_changed(pages: Pages) -> None:
    found = [{**row, "candidate": f"{row['candidate']}, né ; süß"} for row in rows()]
    job = pages.upload(write_csv(found, delimiter=";").decode().encode("windows-1252"))
    page = condense(pages.show(job))
    assert "Read as CSV, WINDOWS-1252, separated by semicolons." in page
    assert "auto-detect (semicolons)" in page
    assert "candidate 4, né ; süß" in page
    # Other cells make other columns, which must be seen before the validation.
    response = pages.choose(job, delimiter="comma")
    assert response.status_code == 422
    assert "different columns" in response.content.decode()
    job.refresh_from_db()
    assert job.step == Step.UPLOADED
    assert pages.choose(job, then="look", delimiter="comma").status_code == 302
    page = condense(pages.show(job))
    assert "Read as CSV, WINDOWS-1252, separated by commas" in page
    assert "Too many cells: 2 instead of 1 (6: line 2" in page
    assert pages.choose(job, then="look", delimiter="", encoding="mac-roman").status_code == 302
    page = condense(pages.show(job))
    assert "Read as CSV, MAC-ROMAN, separated by semicolons" in page
    assert "nÈ" in page
    pages.choose(job, then="look", delimiter="", encoding="")
    pages.choose(job)
    pages.work(job)
    assert job.state == State.DONE, job.error


def test_options_reach_the_check(pages: Pages, project: Project) -> None:
    found = rows()
    found[0]["candidate"] = "its people"
    job = pages.import_whole(write_csv(found), dataset="towns", split="dev", drop_equal="exact")
    assert job.report is not None
    assert job.report["removed"]["equal_to_reference"] == 1
    assert "Candidates equal to a reference" in pages.show(job)
    assert project.datasets.get().name == "towns"
    assert set(Passage.objects.values_list("split", flat=True)) == {"dev"}


def test_scores_become_a_closed_batch(pages: Pages, project: Project) -> None:
    job = pages.import_whole(write_mocha(), "mocha.json", with_scores="on")
    assert job.batch is not None
    assert job.batch.kind == "imported"
    assert Judgment.objects.count() == 6
    assert str(escape(job.batch.name)) in pages.show(job)


def test_judgments_are_imported_for_candidates_that_are_there(pages: Pages, project: Project) -> None:
    pages.import_whole(write_mocha(), "mocha.json")
    content = "id,who,correctness,mood\n" + "".join(f"id{n},anna,{n + 1},fine\n" for n in range(3))
    job = pages.upload(content.encode(), "judged.csv", kind="judgments")
    assert "Judgments: correctness" in pages.show(job)
    pages.choose(job, dataset="narrativeqa", **{pages.column(job, "who"): "annotator"})
    pages.work(job)
    assert job.state == State.DONE, job.error
    pages.write(job)
    assert list(Judgment.objects.order_by("value").values_list("value", flat=True)) == [1, 2, 3]


def test_a_bad_row_is_told_with_its_line_and_nothing_is_stored(pages: Pages) -> None:
    found = rows(1200)
    found[1100]["question"] = ""
    job = pages.upload(write_csv(found))
    pages.choose(job)
    pages.work(job)
    page = pages.show(job)
    assert job.state == State.FAILED
    assert "One error" in page
    assert "1102" in page, "The physical line, with the header as the first."
    assert "Nothing is stored yet" in page
    assert not Candidate.objects.exists()
    assert kept_files() == [job.stored_name], "The file stays, so that the import can be corrected."
    assert pages.client.get(pages.url("import-skipped", job.number)).status_code == 404
    pages.client.post(pages.url("import-cancel", job.number))
    assert kept_files() == []


def test_a_cause_is_shown_once_and_a_hundred_causes_at_most(pages: Pages) -> None:
    found = [{**row, "question": ""} if place > 900 else row for place, row in enumerate(rows(1200))]
    job = pages.upload(write_csv(found))
    pages.choose(job)
    pages.work(job)
    page = condense(pages.show(job))
    assert "299 errors" in page
    assert "903, 904, 905, 906, 907, …" in page
    assert page.count("is empty") == 1
    assert " causes" not in page
    repeated = [{**row, "id": f"c{place % 400}"} for place, row in enumerate(rows(800))]
    job = pages.upload(write_csv(repeated))
    pages.choose(job, **{pages.column(job, "id"): "candidate_id"})
    pages.work(job)
    page = condense(pages.show(job))
    assert "Showing the first 100 causes. 300 errors with other causes are not shown." in page


def messy_rows() -> list[dict[str, str]]:
    found = rows(20)
    found[3]["candidate"] = ""
    found[5]["question"] = ""
    found[7]["candidate"] = "=HYPERLINK(1)"
    found[8]["question"] = ""
    found[8] |= {"passage": "only here", "passage_id": "alone"}
    return found


def test_wrong_rows_can_be_skipped_and_are_listed_and_counted(pages: Pages, project: Project) -> None:
    job = pages.upload(write_csv(messy_rows()))
    pages.choose(job, split="dev")
    pages.work(job)
    page = condense(pages.show(job))
    assert "Skip 3 rows and validate" in page
    assert pages.form(job)["split"] == "dev", "The settings stay after an error."
    pages.choose(job, then="skip")
    pages.work(job)
    assert (job.step, job.state) == (Step.CHECK, State.DONE), job.error
    assert job.report is not None
    assert job.report["skipped"] == {"wrong_rows": 3}
    page = condense(pages.show(job))
    assert "All other rows are valid." in page
    assert "<dt>Rows with errors</dt><dd>3</dd>" in page
    assert "A text starts like a formula" in page
    listed = pages.client.get(pages.url("import-skipped", job.number))
    assert listed["Content-Disposition"].endswith('skipped.csv"')
    lines = b"".join(listed.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert lines[0].startswith("line,what_is_wrong,")
    assert [line.split(",")[:2] for line in lines[1:]] == [
        ["5", "candidate: is empty"],
        ["7", "question: is empty"],
        ["10", "question: is empty"],
    ]
    assert lines[3].count("only here") == 1
    pages.write(job)
    assert Candidate.objects.in_project(project).count() == 17
    assert not Passage.objects.filter(text="only here").exists(), "Nothing of a skipped row is stored."
    assert pages.client.get(pages.url("import-skipped", job.number)).status_code == 200
    assert kept_files() == [job.stored_name, f"{job.stored_name}.skipped.csv"]


def test_rows_that_contradict_the_project_can_be_skipped_too(pages: Pages, project: Project) -> None:
    found = rows(6)
    for place, row in enumerate(found):
        row["passage_id"], row["id"] = f"p{place // 3}", f"c{place}"
    pages.import_whole(write_csv(found[:3]))
    for row in found[:3]:
        row["id"] += "-new"
        row["passage"] = "another text"
    job = pages.upload(write_csv([*found, {**found[5], "id": "c9"}]))
    pages.choose(job)
    pages.work(job)
    assert "has a different text in the project" in pages.show(job)
    pages.choose(job, then="skip")
    pages.work(job)
    assert job.state == State.DONE, job.error
    assert job.report is not None
    assert job.report["skipped"]["wrong_rows"] == 3, "All rows of the passage, at once."
    pages.write(job)
    assert Candidate.objects.in_project(project).count() == 7


def test_a_file_of_wrong_rows_only_is_refused_with_its_errors(pages: Pages) -> None:
    job = pages.upload(write_csv([{**row, "question": ""} for row in rows()]))
    pages.choose(job, skip_wrong_rows="on")
    pages.work(job)
    page = pages.show(job)
    assert job.state == State.FAILED
    assert "every row has an error" in page
    assert "is empty" in page


def test_a_corrected_file_takes_the_place_of_the_first(pages: Pages, project: Project) -> None:
    found = [{**row, "colour": "blue"} for row in messy_rows()]
    job = pages.upload(write_csv(found, delimiter=";"), "first.csv")
    pages.choose(job, dataset="towns", **{pages.column(job, "colour"): "source", pages.column(job, "source"): "ignore"})
    pages.work(job)
    assert job.state == State.FAILED
    first = job.stored_name
    corrected = [{"colour": "red", "more": "x", **row} for row in rows(9)]
    page = pages.replace(job, write_csv(corrected), "second.csv")
    assert "second.csv" in page
    assert "File preview" in page
    assert kept_files() == [job.stored_name] != [first]
    assert pages.form(job)[pages.column(job, "colour")] == "source", "By name, though it is another column now."
    assert pages.form(job)["dataset"] == "towns"
    pages.choose(job)
    pages.work(job)
    pages.write(job)
    assert set(Candidate.objects.in_project(project).values_list("source", flat=True)) == {"red"}
    # Of an import that is written nothing can be replaced; a file of another kind is refused, and can be replaced.
    assert "can no longer be replaced" in pages.replace(job, b"x", "late.csv")
    job = pages.upload(write_csv(rows()))
    assert "The submitted file is empty" in pages.replace(job, b"", "empty.csv")
    page = pages.replace(job, b"%PDF-1.7", "paper.csv")
    assert "is a PDF" in page
    assert len(kept_files()) == 1
    assert "candidate 4" in pages.replace(job, write_csv(rows()), "answers.csv")


@pytest.mark.parametrize("content", [b"", b"%PDF-1.7 and so on", b"PK\x03\x04 and so on", b'a,b\n"open'])
def test_a_file_that_no_choice_can_correct_is_refused_at_once(pages: Pages, content: bytes) -> None:
    response = pages.client.post(
        pages.url("import-new"), {"file": SimpleUploadedFile("answers.csv", content), "kind": "candidates"}
    )
    if not content:
        assert response.status_code == 422
        assert "empty" in response.content.decode()
        return
    job = Import.objects.get()
    assert job.state == State.FAILED
    assert "One error" in pages.show(job)
    assert kept_files() == []


def test_an_encoding_that_is_not_guessed_can_be_chosen_on_the_page(pages: Pages) -> None:
    job = pages.upload(write_csv([{**row, "candidate": "кто там"} for row in rows()]).decode().encode("windows-1251"))
    page = pages.show(job)
    assert "windows-1251" in page
    sent = {"encoding": "windows-1251", "then": "look"}
    assert pages.client.post(pages.url("import-check", job.number), sent).status_code == 302
    assert "кто там" in pages.show(job)


def test_the_same_bytes_again_are_already_imported(pages: Pages, project: Project) -> None:
    first = pages.import_whole(write_csv(rows()))
    again = pages.upload(write_csv(rows()))
    assert f'already imported as <a href="{pages.url("import-show", first.number)}"' in pages.show(again)
    pages.choose(again)
    pages.work(again)
    assert again.state == State.FAILED
    assert f"already imported as #{first.number}" in pages.show(again)
    assert Candidate.objects.in_project(project).count() == 6


def test_the_same_file_twice_at_once_is_one_import(pages: Pages, project: Project) -> None:
    both = [pages.upload(write_csv(rows())) for _ in range(2)]
    for job in both:
        pages.choose(job)
        pages.work(job)
        assert job.state == State.DONE
    refused: list[str] = []

    def write(job: Import) -> None:
        try:
            uploading.start_write(job=job, actor=job.requested_by)
        except Refused as refusal:
            refused.append(refusal.message)
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=[job]) for job in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert "already imported as #" in refused[0]
    for job in both:
        pages.work(job)
    assert Candidate.objects.in_project(project).count() == 6
    assert sorted((job.step, job.state) for job in both) == [(Step.CHECK, State.DONE), (Step.WRITE, State.DONE)]


@pytest.mark.parametrize("step", ["uploaded", "queued", "checked", "to be written"])
def test_an_import_can_be_cancelled_at_every_step(pages: Pages, step: str) -> None:
    job = pages.upload(write_csv(rows()))
    if step != "uploaded":
        pages.choose(job)
    if step in ("checked", "to be written"):
        pages.work(job)
    if step == "to be written":
        pages.confirm(job)
    pages.client.post(pages.url("import-cancel", job.number))
    pages.work(job)
    assert job.state == State.CANCELLED
    assert "cancelled" in pages.show(job)
    assert kept_files() == []
    assert not Candidate.objects.exists()


def test_an_import_cancelled_in_the_middle_leaves_nothing(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    job = pages.upload(write_csv(rows()))
    pages.choose(job)
    pages.work(job)
    pages.confirm(job)

    def cancel_in_another_tab() -> None:
        pages.client.post(pages.url("import-cancel", job.number))
        connection.close()

    real = uploading._write

    def write_and_cancel(job: Import, on_progress: uploading.OnProgress) -> dict[str, object]:
        def tell(done: int, total: int) -> None:
            if done == 0:
                return
            tab = threading.Thread(target=cancel_in_another_tab)
            tab.start()
            tab.join()
            deadline = time.monotonic() + processes.PATIENCE
            while time.monotonic() < deadline:
                on_progress(done, total)

        return real(job, tell)

    monkeypatch.setattr("projects.jobs.running.BEAT_SECONDS", 0.05)
    monkeypatch.setattr(uploading, "_write", write_and_cancel)
    pages.work(job)
    assert job.state == State.CANCELLED
    assert kept_files() == []
    assert not Candidate.objects.exists()


def test_a_project_deleted_in_the_middle_is_written_to_no_more(pages: Pages, project: Project) -> None:
    job = pages.upload(write_csv(rows()))
    pages.choose(job)
    Project.objects.update(deleted_at="2026-01-01T00:00:00Z")
    pages.work(job)
    assert (job.state, job.error) == (State.FAILED, "The project has been deleted.")
    assert kept_files() == []


def test_the_settings_can_be_changed_after_the_check(pages: Pages) -> None:
    job = pages.upload(write_csv(rows()))
    pages.choose(job, dataset="towns")
    pages.work(job)
    pages.client.post(pages.url("import-reopen", job.number))
    assert pages.form(job)["dataset"] == "towns"
    pages.choose(job, dataset="cities")
    pages.work(job)
    pages.write(job)
    assert job.project.datasets.get().name == "cities"


def test_a_step_out_of_turn_is_refused_in_words(pages: Pages) -> None:
    job = pages.upload(write_csv(rows()))
    pages.choose(job)
    pages.work(job)
    seal = find_seal(pages.show(job))
    pages.client.post(pages.url("import-reopen", job.number))
    write = pages.url("import-write", job.number)
    page = pages.client.post(write, {"shown": seal}, follow=True).content.decode()
    assert "hasn’t been validated yet" in page
    pages.import_whole(write_csv(rows(9)))
    done = Import.objects.get(step=Step.WRITE)
    page = pages.client.post(pages.url("import-check", done.number), follow=True).content.decode()
    assert "can no longer be changed" in page
    page = pages.client.post(pages.url("import-cancel", done.number), follow=True).content.decode()
    assert "already finished" in page


def test_only_the_file_whose_report_was_shown_is_imported(pages: Pages) -> None:
    job = pages.upload(write_csv(rows()))
    pages.choose(job)
    pages.work(job)
    write, seal = pages.url("import-write", job.number), find_seal(pages.show(job))
    assert NOT_SHOWN in pages.client.post(write, follow=True).content.decode()
    # Meanwhile someone else uploads a corrected file, and its check finishes.
    pages.replace(job, write_csv(rows(9)), "corrected.csv")
    pages.choose(job)
    pages.work(job)
    assert OTHER_NUMBERS in pages.client.post(write, {"shown": seal}, follow=True).content.decode()
    job.refresh_from_db()
    assert (job.step, job.state) == (Step.CHECK, State.DONE)
    # The same file with other settings has another report too.
    seal = find_seal(pages.show(job))
    pages.client.post(pages.url("import-reopen", job.number))
    pages.choose(job, dataset="cities")
    pages.work(job)
    assert OTHER_NUMBERS in pages.client.post(write, {"shown": seal}, follow=True).content.decode()
    pages.write(job)
    assert (job.step, job.state) == (Step.WRITE, State.DONE)


def test_a_second_click_changes_nothing(pages: Pages, announced: list[int]) -> None:
    job = pages.upload(write_csv(rows()))
    form = pages.form(job)
    for _ in range(2):
        response = pages.client.post(pages.url("import-check", job.number), {**form, "then": "check"}, follow=True)
        assert "message--error" not in response.content.decode()
    pages.work(job)
    for _ in range(2):
        response = pages.confirm(job, follow=True)
        assert "message--error" not in response.content.decode()
    assert announced == [job.pk, job.pk]
    pages.work(job)
    response = pages.confirm(job, follow=True)
    assert "message--error" not in response.content.decode()
    assert len(announced) == 2


def test_a_post_that_comes_late_starts_nothing_again(pages: Pages, manager: Membership, announced: list[int]) -> None:
    job = pages.upload(write_csv(rows()))
    uploaded = Import.objects.get(pk=job.pk)
    pages.choose(job)
    pages.work(job)
    checked = Import.objects.get(pk=job.pk)
    pages.client.post(pages.url("import-reopen", job.number))
    with pytest.raises(Refused):
        uploading.start_write(job=Import.objects.get(pk=job.pk), actor=manager)
    with pytest.raises(Refused):
        uploading.start_write(job=checked, actor=manager)
    with pytest.raises(Refused):
        uploading.start_check(job=uploaded, options=uploading.read_options(uploaded))
    pages.choose(job)
    pages.work(job)
    checked = Import.objects.get(pk=job.pk)
    pages.write(job)
    n_announced = len(announced)
    with pytest.raises(Refused):
        uploading.start_write(job=checked, actor=manager)
    job.refresh_from_db()
    assert (job.step, job.state, len(announced)) == (Step.WRITE, State.DONE, n_announced)


def test_an_attempt_given_up_for_dead_leaves_its_successors_rows_alone(pages: Pages) -> None:
    job = pages.upload(write_csv(rows()))
    pages.choose(job)
    Import.objects.update(attempt=1)
    lost = Import.objects.get(pk=job.pk)

    def come_back(done: int, total: int) -> None:
        raise AttemptSuperseded

    pages.work(job)
    with pytest.raises(AttemptSuperseded):
        uploading.run_step(lost, come_back)
    pages.write(job)
    assert (job.step, job.state) == (Step.WRITE, State.DONE), job.error
    assert kept_files() == [job.stored_name]


def test_the_fragment_reloads_the_page_once_the_job_is_over(pages: Pages) -> None:
    job = pages.upload(write_csv(rows()))
    pages.choose(job)
    fragment = pages.client.get(pages.url("import-job", job.number))
    assert "HX-Refresh" not in fragment.headers
    assert b"<html" not in fragment.content
    assert b"hx-get" in fragment.content
    page = pages.show(job)
    assert '<noscript><meta http-equiv="refresh" content="3"></noscript>' in page
    pages.work(job)
    assert pages.client.get(pages.url("import-job", job.number))["HX-Refresh"] == "true"
    assert "http-equiv" not in pages.show(job)


def test_without_a_worker_the_page_says_so(pages: Pages) -> None:
    job = pages.upload(write_csv(rows()))
    pages.choose(job)
    Import.objects.update(queued_at="2026-01-01T00:00:00Z")
    assert "No worker is running" in pages.show(job)


def test_an_import_interrupted_twice_can_be_run_again(pages: Pages) -> None:
    job = pages.upload(write_csv(rows()))
    pages.choose(job)
    Import.objects.update(state=State.INTERRUPTED, n_interruptions=2)
    assert "Retry" in pages.show(job)
    pages.confirm(job)
    pages.work(job)
    assert (job.step, job.state) == (Step.CHECK, State.DONE)


def test_nasty_names_and_texts_are_shown_as_text(pages: Pages) -> None:
    found = [{**row, NASTY: NASTY, "candidate": NASTY} for row in rows()]
    job = pages.upload(write_csv(found), name=f"../../{NASTY}.html.csv")
    assert "/" not in job.stored_name
    for page in (pages.show(job), pages.client.get(pages.url("import-list")).content.decode()):
        assert "<script>window" not in page
        assert "\u202e{{7*7}}.html" not in page, "Invisible characters of a file's name are written out."
        assert "49" not in page.partition("<main")[2].partition("</h1>")[0]
    pages.choose(job)
    pages.work(job)
    assert job.state == State.DONE, job.error
    assert "<script>window" not in pages.show(job)
    pages.write(job)
    assert set(Candidate.objects.values_list("text", flat=True)) == {NASTY}


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "CON.csv", "a.csv.html.csv", "\U0001f600.csv", "..csv"])
def test_odd_file_names_are_only_names(pages: Pages, name: str) -> None:
    job = pages.upload(write_csv(rows()), name=name)
    assert len(job.file_name) <= 200
    assert job.file_name.endswith("csv")
    assert kept_files() == [job.stored_name]
    pages.show(job)


def test_the_file_is_downloaded_so_that_no_browser_opens_it(pages: Pages) -> None:
    content = write_csv(rows())
    job = pages.import_whole(content, "<b>.csv")
    response = pages.client.get(pages.url("import-file", job.number))
    assert b"".join(response.streaming_content) == content  # type: ignore[attr-defined]
    assert response["Content-Disposition"].startswith("attachment")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Security-Policy"].startswith("sandbox")


def test_a_file_that_is_too_large_is_refused_before_it_is_read(pages: Pages, settings: Settings) -> None:
    settings.MAX_UPLOAD_BYTES = 3_000_000
    read: list[int] = []

    class Body:
        def read(self, size: int = -1) -> bytes:
            read.append(size)
            return b"x" * max(size, 0)

        readline = read

    response = pages.client.generic(
        "POST",
        pages.url("import-new"),
        content_type="multipart/form-data; boundary=xx",
        CONTENT_LENGTH="5000000",
        **{"wsgi.input": Body()},  # type: ignore[arg-type]
    )
    assert response.status_code == 413
    assert read == []
    assert not Import.objects.exists()


def test_other_forms_take_no_large_body(pages: Pages) -> None:
    job = pages.upload(write_csv(rows()))
    response = pages.client.generic(
        "POST", pages.url("import-check", job.number), b"x", content_type="multipart/form-data; boundary=xx",
        CONTENT_LENGTH="5000000",
    )  # fmt: skip
    assert response.status_code == 413


def test_several_parquet_files_are_one_import(pages: Pages, project: Project) -> None:
    def choose(*files: tuple[str, bytes]) -> Any:
        sent = {"file": [SimpleUploadedFile(name, content) for name, content in files], "kind": "candidates"}
        return pages.client.post(pages.url("import-new"), sent)

    def write(split: str, answers: list[str], **more: Any) -> bytes:
        # A passage belongs to one split. Dictionaries differ from file to file.
        row = {"passage": f"The ferry leaves at nine. {split}", "question": "When?", "reference": "At nine."}
        table = pd.DataFrame([{**row, "id": f"{split}{n}", "candidate": each} for n, each in enumerate(answers)])
        return table.assign(**more).astype({"question": "category"}).to_parquet()

    train, test = write("train", ["At nine."]), write("test", ["At ten.", "At one."], rank=[1, 2])
    wrong = choose(("train.parquet", train), ("notes.csv", b"a,b\n1,2\n"))
    assert wrong.status_code == 422
    assert "notes.csv isn’t a Parquet file." in wrong.content.decode()
    assert "b.parquet can’t be read as Parquet" in choose(("a.parquet", train), ("b.parquet", b"PAR1")).content.decode()
    unlike = write("test", ["At ten."], id=[["a list"]])
    assert "don’t fit together" in choose(("train.parquet", train), ("test.parquet", unlike)).content.decode()
    assert not Import.objects.exists()
    assert choose(("train-00000-of-00001.parquet", train), ("test.parquet", test)).status_code == 302
    job = Import.objects.get()
    assert job.file_name == "test and 1 more.parquet"
    pages.choose(job)
    pages.work(job)
    pages.write(job)
    assert sorted(Passage.objects.values_list("split", flat=True)) == ["test", "train"]


def refused_for_room(pages: Pages) -> str:
    sent = {"file": SimpleUploadedFile("b.csv", write_csv(rows())), "kind": "candidates"}
    response = pages.client.post(pages.url("import-new"), sent)
    assert response.status_code == 422
    return condense(response.content.decode())


def test_the_files_of_a_project_take_only_so_much_room(pages: Pages, settings: Settings) -> None:
    settings.MAX_PROJECT_UPLOAD_BYTES = len(write_csv(rows())) + 10
    waits = pages.upload(write_csv(rows()))
    assert "Cancel unfinished imports" in refused_for_room(pages)
    assert kept_files() == [waits.stored_name]
    pages.client.post(pages.url("import-cancel", waits.number))
    pages.upload(write_csv(rows()))


def test_the_originals_of_what_is_written_take_room_too(pages: Pages, settings: Settings) -> None:
    content = write_csv(rows(9)) + b"\n" * 210_000
    settings.MAX_PROJECT_UPLOAD_BYTES = len(content) + 10
    written = pages.import_whole(content)
    page = refused_for_room(pages)
    assert "imported files take 0.2 MB and unfinished imports 0.0 MB" in page
    assert "which keeps no original" in page
    assert kept_files() == [written.stored_name]
    settings.MAX_PROJECT_UPLOAD_BYTES += len(write_csv(rows()))
    pages.upload(write_csv(rows()))


def test_an_upload_does_not_wait_for_an_import_that_is_being_written(pages: Pages, project: Project) -> None:
    uploaded: list[Import] = []

    def upload() -> None:
        try:
            uploaded.append(pages.upload(write_csv(rows())))
        finally:
            connection.close()

    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        other = threading.Thread(target=upload)
        other.start()
        other.join(10)
        assert len(uploaded) == 1


def test_uploads_at_once_have_numbers_of_their_own(pages: Pages) -> None:
    def upload() -> None:
        try:
            pages.upload(write_csv(rows()))
        finally:
            connection.close()

    threads = [threading.Thread(target=upload) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(Import.objects.values_list("number", flat=True)) == [1, 2, 3, 4]


def test_nothing_chosen_is_redisplayed(pages: Pages) -> None:
    assert pages.client.post(pages.url("import-new"), {"kind": "candidates"}).status_code == 422
    assert pages.client.post(pages.url("import-new"), {"kind": "nonsense"}).status_code == 422


def test_who_may_import(
    pages: Pages,
    researcher: Membership,
    annotator: Membership,
    stranger: Membership,
    client_of: Callable[[Membership], Client],
) -> None:
    job = pages.import_whole(write_csv(rows()))
    gets = [pages.url("import-new"), pages.url("import-list")]
    gets += [pages.url(f"import-{name}", job.number) for name in ("show", "job", "file")]
    posts = [pages.url(f"import-{name}", job.number) for name in ("check", "write", "cancel", "reopen")]
    for person, status in ((researcher, 403), (annotator, 403), (stranger, 404)):
        client = client_of(person)
        assert [client.get(url).status_code for url in gets] == [status] * len(gets)
        assert [client.post(url).status_code for url in posts] == [status] * len(posts)
    assert [pages.client.get(url).status_code for url in posts] == [405] * len(posts)
    assert pages.client.get(pages.url("import-show", 999)).status_code == 404
    assert Client().get(gets[0]).status_code == 302


def test_the_list_of_imports_asks_as_often_for_many_as_for_one(
    pages: Pages, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(5):
        pages.upload(write_csv(rows()))
    with django_assert_max_num_queries(6):
        page = pages.client.get(pages.url("import-list"))
    assert page.content.count(pages.url("import-show", 5).encode()) == 1


def test_files_of_imports_whose_end_no_worker_saw_are_removed(pages: Pages) -> None:
    job = pages.upload(write_csv(rows()))
    Import.objects.update(state=State.CANCELLED)
    uploading.FILES.delete_orphans()
    assert kept_files() == []
    job.refresh_from_db()
    assert job.stored_name == ""


def test_what_a_killed_upload_left_is_removed_after_a_day(settings: Settings, tmp_path: Path) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    new, *old = (tmp_path / f"tmp{name}" for name in ("b.upload.csv", "a.upload.csv", "c.kept-upload.skipped.csv"))
    now = time.time()
    for path in (new, *old):
        path.touch()
    for path in old:
        os.utime(path, (now - 90_000, now - 90_000))
    uploads.clear_temporary(now)
    assert list(tmp_path.glob("tmp*")) == [new]


def test_the_page_reports_a_file_that_is_gone_from_the_disk(pages: Pages) -> None:
    job = pages.upload(write_csv(rows(1)))
    uploads.find_file(job).unlink()
    assert "is gone" in pages.show(job)
