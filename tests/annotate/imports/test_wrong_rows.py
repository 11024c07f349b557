"""Rows of a file that can't be imported: named with their lines, skipped, or replaced by a corrected file."""

import csv

import pytest

from annotate.models import Import
from projects.importing.rows import NO_ANSWER
from projects.models import Candidate, Passage, Project
from tests.annotate.imports.import_steps import Pages, kept_files, rows, write_csv
from tests.page_reader import condense

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_folder", "announced")]

State, Step = Import.State, Import.Step


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
    assert [row[:2] for row in csv.reader(lines[1:])] == [
        ["5", f"candidate: {NO_ANSWER}"],
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
