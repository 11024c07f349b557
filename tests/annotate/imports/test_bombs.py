"""Files that are small and need gigabytes, through the pages, the jobs and the commands that read files."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from annotate.imports import uploading
from annotate.models import Import, QualificationItem
from benchmarks import bombs
from projects.importing import isolated
from projects.jobs.running import Cancelled
from projects.models import Candidate, Membership, Project
from projects.processes.requests import Ended
from projects.web import uploads
from tests.annotate.imports.import_steps import Pages, rows, write_csv

MEMORY = 300 << 20
NEEDS = "needs more than 300 MB of memory to be read; split it into smaller files"
HIDDEN = "one_dictionary_text.parquet"

pytestmark = pytest.mark.django_db


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Ended]]:
    """How the processes ended that have read files."""
    found: list[Ended] = []
    monkeypatch.setattr(isolated.program, "on_end", found.append)
    yield found
    assert all(each.peak_bytes < MEMORY for each in found)


@pytest.fixture
def bomb(tmp_path: Path) -> Path:
    path = tmp_path / HIDDEN
    bombs.one_dictionary_text(path)
    return path


def write_late_bomb(path: Path) -> None:
    """Write a Parquet file whose first thousand rows are harmless."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int32()), pa.array(["x" * 30_000_000]))
    late = pa.table({name: ["y"] * 100 for name in bombs.NAMES} | {"passage": text})
    early = pa.table({name: [f"{name} {n}" for n in range(1_001)] for name in bombs.NAMES})
    early = early.set_column(2, "passage", early["passage"].dictionary_encode())
    with pq.ParquetWriter(path, late.schema, compression="zstd") as writer:
        writer.write_table(early)
        writer.write_table(late)


def test_a_bomb_ends_at_its_upload_and_leaves_nothing(
    pages: Pages, project: Project, bomb: Path, ended: list[Ended]
) -> None:
    job = pages.upload(bomb.read_bytes(), HIDDEN)
    job.refresh_from_db()
    assert (job.state, job.stored_name) == (Import.State.FAILED, "")
    assert NEEDS in pages.show(job)
    assert not list(uploads.folder().iterdir())
    # Two at once are combined first.
    sent = [SimpleUploadedFile(name, bomb.read_bytes()) for name in ("a.parquet", "b.parquet")]
    response = pages.client.post(pages.url("import-new"), {"file": sent, "kind": "candidates"})
    assert response.status_code == 422
    assert f"a.parquet, b.parquet: {NEEDS}" in response.content.decode()
    assert len(ended) == 2


def test_a_bomb_behind_harmless_rows_ends_the_validation(
    pages: Pages, project: Project, tmp_path: Path, ended: list[Ended]
) -> None:
    write_late_bomb(tmp_path / "late.parquet")
    job = pages.upload((tmp_path / "late.parquet").read_bytes(), "late.parquet")
    assert "candidate" in pages.show(job)
    pages.choose(job)
    pages.work(job)
    assert job.state == Import.State.FAILED
    assert NEEDS in job.error
    assert not Candidate.objects.exists()
    assert not list(uploads.folder().glob("*.spool"))
    assert NEEDS in pages.show(job)


def test_the_file_is_read_once_for_its_preview(pages: Pages, project: Project, ended: list[Ended]) -> None:
    job = pages.upload(write_csv(rows()))
    for _ in range(3):
        pages.show(job)
    assert len(ended) == 1
    pages.choose(job, then="look", delimiter="semicolon")
    assert len(ended) == 2
    pages.choose(job, then="look", delimiter="")
    pages.choose(job)
    n_before = len(ended)
    pages.work(job)
    pages.write(job)
    assert Candidate.objects.count() == 6
    assert len(ended) == n_before + 1, "The import takes the rows that were validated."
    assert [path.name for path in uploads.folder().iterdir()] == [job.stored_name]


def test_a_validation_that_is_cancelled_ends_its_process(
    pages: Pages, project: Project, monkeypatch: pytest.MonkeyPatch, ended: list[Ended]
) -> None:
    job = pages.upload(write_csv(rows(60_000)))
    pages.choose(job)
    run = uploading.run_step

    def cancel(job: Import, on_progress: Any) -> Any:
        def notice(done: int, total: int) -> None:
            raise Cancelled

        return run(job, notice)

    monkeypatch.setattr(uploading, "run_step", cancel)
    pages.work(job)
    assert job.state == Import.State.CANCELLED
    assert ended[-1].code == -signal.SIGKILL
    assert not list(uploads.folder().iterdir())


def test_the_commands_refuse_a_bomb(
    pages: Pages, project: Project, owner: Membership, bomb: Path, ended: list[Ended]
) -> None:
    folder = bomb.parent / "parts"
    folder.mkdir()
    (folder / "a.parquet").write_bytes(bomb.read_bytes())
    at = ("--project", project.slug)
    for arguments in (
        ("import_candidates", str(bomb)),
        ("import_candidates", str(folder)),
        ("import_judgments", str(bomb), "--map", "id=candidate_id", "--criterion", "source=quality:1-5"),
        ("import_scores", str(bomb)),
        ("qualification", "import", str(bomb)),
    ):
        with pytest.raises(CommandError, match=NEEDS) as caught:
            call_command(*arguments, *at)
        assert caught.value.returncode == 1
    assert len(ended) == 5
    assert not Import.objects.exists()
    assert not list(uploads.folder().iterdir())


def test_a_bomb_of_items_is_refused_on_its_page(pages: Pages, project: Project, bomb: Path, ended: list[Ended]) -> None:
    pages.client.post(pages.url("qualification-make"))
    response = pages.client.post(
        pages.url("qualification-file"), {"file": SimpleUploadedFile(HIDDEN, bomb.read_bytes())}
    )
    assert response.status_code == 422
    assert NEEDS in response.content.decode()
    assert len(ended) == 1
    assert not QualificationItem.objects.exists()
