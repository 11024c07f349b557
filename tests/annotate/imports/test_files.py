"""The uploaded files of imports: names, sizes, several at once, the room they take, and when they are removed."""

import os
import threading
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.test import Client
from pytest_django import Settings

from annotate.imports import uploading
from annotate.models import Import
from projects.errors import Refused
from projects.models import Candidate, Membership, Passage, Project
from projects.settings import lifecycle, purging
from projects.web import uploads
from projects.web.body_questions import QUESTION, BodyQuestion
from projects.web.upload_requests import FORM_BYTES
from tests.annotate.imports.import_steps import Pages, kept_files, rows, write_csv
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_folder", "announced")]

State, Step = Import.State, Import.Step


@pytest.mark.parametrize("content", [b"", b"%PDF-1.7 and so on", b"PK\x03\x04 and so on", b"\n \n"])
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


def test_the_same_bytes_again_are_already_imported(pages: Pages, project: Project) -> None:
    first = pages.import_whole(write_csv(rows()))
    again = pages.upload(write_csv(rows()))
    assert f'already imported as <a href="{pages.url("import-show", first.number)}"' in pages.show(again)
    pages.choose(again)
    pages.work(again)
    assert again.state == State.FAILED
    page = pages.show(again)
    assert page.count("already imported") == 1
    assert f'with these settings as <a href="{pages.url("import-show", first.number)}">#{first.number}</a>' in page
    assert "Correct the mapping" not in page
    assert page.count("Cancel and delete file") == 1
    assert Candidate.objects.in_project(project).count() == 6


def test_a_file_is_told_as_the_import_that_had_its_settings(pages: Pages, project: Project) -> None:
    first = pages.import_whole(write_csv(rows()))
    # The same bytes with other settings are another import, and the newer one.
    other = pages.upload(write_csv(rows()))
    pages.choose(other, dataset="Other")
    pages.work(other)
    Import.objects.filter(pk=other.pk).update(step=Import.Step.WRITE, state=State.DONE)
    again = pages.upload(write_csv(rows()))
    pages.choose(again)
    pages.work(again)
    assert f'with these settings as <a href="{pages.url("import-show", first.number)}">' in pages.show(again)
    Import.objects.filter(pk=first.pk).update(state=State.RUNNING)
    assert "This file is being imported with these settings" in pages.show(again)
    Import.objects.filter(pk=first.pk).update(state=State.FAILED)
    assert "with these settings" not in pages.show(again)
    assert "Correct the mapping" in pages.show(again)


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


def test_the_files_of_a_person_take_only_so_much_room(pages: Pages, settings: Settings) -> None:
    settings.MAX_USER_UPLOAD_BYTES = len(write_csv(rows())) + 10
    waits = pages.upload(write_csv(rows()))
    assert "Your files in all projects may take" in refused_for_room(pages)
    # The web server asks before it receives a large body, and gets the same answer.
    question = BodyQuestion()
    page = pages.client.post(pages.url("import-new"), **{QUESTION: question})  # type: ignore[arg-type]
    assert (page.status_code, question.most_bytes) == (413, None)
    assert "Cancel unfinished imports" in page.content.decode()
    pages.client.post(pages.url("import-cancel", waits.number))
    assert pages.client.post(pages.url("import-new"), **{QUESTION: question}).status_code == 204  # type: ignore[arg-type]
    assert question.most_bytes == settings.MAX_UPLOAD_BYTES + FORM_BYTES


def is_body_welcome(client: Client, path: str, n_bytes: int) -> bool:
    """Ask as the web server does before it receives a large body."""
    question = BodyQuestion()
    status = client.post(path, CONTENT_LENGTH=str(n_bytes), **{QUESTION: question}).status_code  # type: ignore[arg-type]
    assert status == (413 if question.most_bytes is None else 204)
    return question.most_bytes is not None


def test_a_corrected_file_takes_the_room_of_the_one_it_replaces(pages: Pages, settings: Settings) -> None:
    content = write_csv(rows())
    settings.MAX_USER_UPLOAD_BYTES = settings.MAX_PROJECT_UPLOAD_BYTES = len(content) + 10
    job = pages.upload(content)
    assert not is_body_welcome(pages.client, pages.url("import-new"), len(content))
    replace = pages.url("import-replace", job.number)
    assert is_body_welcome(pages.client, replace, len(content))
    assert not is_body_welcome(pages.client, replace, len(content) + 11)
    settings.MAX_PROJECT_UPLOAD_BYTES *= 2
    first = job.stored_name
    assert "Your files in all projects may take" in pages.replace(job, content + b"\n" * 11, "larger.csv")
    assert job.stored_name == first
    pages.replace(job, content + b"\n" * 10, "corrected.csv")
    assert (job.file_name, kept_files()) == ("corrected.csv", [job.stored_name])


def test_a_corrected_file_counts_for_whoever_uploads_it(
    pages: Pages, owner: Membership, client_of: SignIn, settings: Settings
) -> None:
    content = write_csv(rows())
    job = pages.upload(content)
    other = Pages(client_of(owner), pages.project)
    settings.MAX_USER_UPLOAD_BYTES = len(content) - 1
    assert not is_body_welcome(other.client, other.url("import-replace", job.number), len(content))
    assert "Your files in all projects may take" in other.replace(job, content, "corrected.csv")
    settings.MAX_USER_UPLOAD_BYTES = len(content)
    other.replace(job, content, "corrected.csv")
    assert (job.file_name, job.requested_by) == ("corrected.csv", owner)
    pages.upload(content)


def test_the_items_of_a_qualification_test_count_toward_no_quota(pages: Pages, settings: Settings) -> None:
    settings.MAX_USER_UPLOAD_BYTES = settings.MAX_PROJECT_UPLOAD_BYTES = 1
    assert is_body_welcome(pages.client, pages.url("qualification-file"), 1000)
    assert not is_body_welcome(pages.client, pages.url("import-new"), 1000)


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


def test_what_a_killed_upload_left_is_removed_after_a_day(settings: Settings, tmp_path: Path) -> None:
    settings.FILE_UPLOAD_TEMP_DIR, settings.MEDIA_ROOT = str(tmp_path), tmp_path
    (tmp_path / "kept").mkdir()
    new, *old = (tmp_path / f"tmp{name}" for name in ("b.upload.csv", "a.upload.csv"))
    old.append(tmp_path / "kept" / "c.kept-upload.skipped.csv")
    now = time.time()
    for path in (new, *old):
        path.touch()
    for path in old:
        os.utime(path, (now - 90_000, now - 90_000))
    uploads.clear_temporary(now)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [new]


def test_a_file_whose_row_never_came_is_removed_after_a_day_and_others_stay(
    pages: Pages, settings: Settings, tmp_path: Path
) -> None:
    # Folders of its own: tomorrow's clearing would take the files that other processes' tests are sending now.
    settings.FILE_UPLOAD_TEMP_DIR, settings.MEDIA_ROOT = str(tmp_path), tmp_path
    job = pages.upload(write_csv(rows(1)))
    stored = uploads.find_file(job)
    derived, lost, lost_rows, new = map(
        stored.with_name, (f"{stored.name}.1.spool", "a" * 32, f"{'a' * 32}.1.spool", "b" * 32)
    )
    later = time.time() + 90_000
    for path in (derived, lost_rows):
        path.mkdir()
        (path / "passages").touch()
    for path in (lost, new):
        path.touch()
    os.utime(new, (later, later))
    before = set(uploads.folder().iterdir())
    uploads.clear_temporary(later)
    assert before - set(uploads.folder().iterdir()) == {lost, lost_rows}


def test_the_files_of_a_purged_project_are_removed_after_a_day(
    pages: Pages, project: Project, owner: Membership, settings: Settings, tmp_path: Path
) -> None:
    settings.FILE_UPLOAD_TEMP_DIR, settings.MEDIA_ROOT = str(tmp_path), tmp_path
    job = pages.upload(write_csv(rows()))
    pages.choose(job)
    assert pages.work(job).state == State.DONE
    assert any(path.is_dir() for path in uploads.folder().iterdir())
    lifecycle.delete_project(project=project, actor=owner, typed=project.slug)
    purging.purge(slug=project.slug)
    uploads.clear_temporary(time.time() + 90_000)
    assert list(uploads.folder().iterdir()) == []


def test_the_page_reports_a_file_that_is_gone_from_the_disk(pages: Pages) -> None:
    job = pages.upload(write_csv(rows(1)))
    uploads.find_file(job).unlink()
    assert "is gone" in pages.show(job)
