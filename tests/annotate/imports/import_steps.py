"""What the tests of the import pages share: files, and the steps of an import as a manager takes them."""

import csv
import io
from pathlib import Path
from typing import Any

import openpyxl
import orjson
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotate import tasks
from annotate.imports import writing
from annotate.models import Import
from projects.importing import CheckReport, Kind
from projects.models import Membership, Project
from projects.web import uploads
from tests.page_reader import condense
from tests.previews import confirm

HEADER = ["passage_id", "passage", "question", "reference", "candidate", "source"]


def rows(n: int = 6) -> list[dict[str, str]]:
    return [
        {
            "passage_id": f"p{place // 3}",
            "passage": f"The bridge of town {place // 3} was built by hand.",
            "question": f"Who built the bridge of town {place // 3}?",
            "reference": "its people",
            "candidate": f"candidate {place}",
            "source": f"model {place % 3}",
        }
        for place in range(n)
    ]


def write_csv(found: list[dict[str, str]], delimiter: str = ",") -> bytes:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(found[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(found)
    return stream.getvalue().encode()


def write_xlsx(found: list[dict[str, str]]) -> bytes:
    book = openpyxl.Workbook()
    for row in [list(found[0]), *(list(each.values()) for each in found)]:
        book.worksheets[0].append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def write_mocha(n: int = 3) -> bytes:
    entries = {
        f"id{place}": {
            "context": "A bridge stands in the town.",
            "question": "What stands in the town?",
            "reference": "a bridge",
            "candidate": f"answer {place}",
            "metadata": {"scores": [1 + place % 5, 5], "source": "model"},
        }
        for place in range(n)
    }
    return orjson.dumps({"narrativeqa": entries})


def import_text(content: str, kind: Kind, *, project: Project, actor: Membership | None, folder: Path) -> CheckReport:
    """Import a CSV file at once, as the command does."""
    path = folder / "file.csv"
    path.write_text(content)
    return writing.import_now(
        project=project, path=path, name=path.name, folder=folder / "spool", actor=actor, kind=kind
    )


class Pages:
    """A manager's browser on the import pages of a project."""

    def __init__(self, client: Client, project: Project) -> None:
        self.client = client
        self.project = project

    def url(self, name: str, *place: Any) -> str:
        return reverse(f"annotate:{name}", args=[self.project.slug, *place])

    def upload(self, content: bytes, name: str = "answers.csv", kind: str = "candidates") -> Import:
        sent = {"file": SimpleUploadedFile(name, content), "kind": kind}
        response = self.client.post(self.url("import-new"), sent)
        assert response.status_code == 302, response.content.decode()
        return Import.objects.order_by("-pk")[0]

    def show(self, job: Import) -> str:
        response = self.client.get(self.url("import-show", job.number))
        assert response.status_code == 200
        return condense(response.content.decode())

    def replace(self, job: Import, content: bytes, name: str) -> str:
        sent = {"file": SimpleUploadedFile(name, content)}
        response = self.client.post(self.url("import-replace", job.number), sent, follow=True)
        job.refresh_from_db()
        return response.content.decode()

    def choose(self, job: Import, then: str = "check", **over: Any) -> Any:
        """Send the form of the columns as it is on the page, with some choices changed."""
        return self.client.post(self.url("import-check", job.number), {**self.form(job), **over, "then": then})

    def form(self, job: Import) -> dict[str, Any]:
        look = self.client.get(self.url("import-show", job.number)).context["file_preview"]
        fields: dict[str, Any] = {"columns": look.columns_id}
        for form in (look.reading, look.rows, look.mapping):
            for field in form or ():
                if field.value() not in (None, False):
                    fields[field.html_name] = field.value()
        return fields

    def column(self, job: Import, name: str) -> str:
        """How the form calls the choice for a column."""
        look = self.client.get(self.url("import-show", job.number)).context["file_preview"]
        return f"column_{look.preview.columns.index(name)}"

    def work(self, job: Import) -> Import:
        """Do what the worker does with a queued job."""
        tasks.run_import(job.pk)
        job.refresh_from_db()
        return job

    def confirm(self, job: Import, *, follow: bool = False) -> Any:
        """Click Import on the page of the report."""
        at = self.url("import-write", job.number)
        return confirm(self.client, self.url("import-show", job.number), at=at, follow=follow)

    def write(self, job: Import) -> Import:
        self.confirm(job)
        return self.work(job)

    def import_whole(self, content: bytes, name: str = "answers.csv", **over: Any) -> Import:
        job = self.upload(content, name)
        self.choose(job, **over)
        self.work(job)
        assert job.state == Import.State.DONE, job.error
        return self.write(job)


def kept_files() -> list[str]:
    """The names of the files of imports, without the previews beside them."""
    names = {path.name for path in uploads.folder().iterdir()}
    return sorted(names - {f"{name}.preview" for name in names})
