"""Imports that are cancelled, given up, or left without a worker."""

import threading
import time

import pytest
from django.db import connection

from annotate.imports import uploading
from annotate.models import Import
from projects.jobs.running import AttemptSuperseded
from projects.models import Candidate, Project
from tests import processes
from tests.annotate.imports.import_steps import Pages, kept_files, rows, write_csv

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_folder", "announced")]

State, Step = Import.State, Import.Step


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


def test_files_of_imports_whose_end_no_worker_saw_are_removed(pages: Pages) -> None:
    job = pages.upload(write_csv(rows()))
    Import.objects.update(state=State.CANCELLED)
    uploading.FILES.delete_orphans()
    assert kept_files() == []
    job.refresh_from_db()
    assert job.stored_name == ""
