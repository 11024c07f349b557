"""Importing on the pages: choose a file, map its columns, validate, import; only managers."""

import json
from collections.abc import Callable

import pytest
from django.test import Client
from django.utils.html import escape
from pytest_django import DjangoAssertNumQueries

from annotate.imports import uploading
from annotate.models import Import, Judgment
from measures.rubric import CriterionSpec, Level, Scale, ScaleKind
from projects.errors import Refused
from projects.importing.fields import FIELDS, GROUPS
from projects.models import Candidate, LogEntry, Membership, Passage, Project
from projects.rubric.rubrics import create_rubric
from projects.web.previews import NOT_SHOWN, OTHER_NUMBERS
from tests.annotate.imports.import_steps import Pages, kept_files, rows, write_csv, write_mocha, write_xlsx
from tests.factories import make_batch
from tests.page_reader import condense
from tests.previews import find_seal

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_folder", "announced")]

State, Step = Import.State, Import.Step
NASTY = "<script>window.__xss=1</script>\u202e{{7*7}}"


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


def test_the_report_says_what_is_in_the_project_already(pages: Pages, project: Project) -> None:
    pages.import_whole(write_csv(rows()))
    make_batch(project)
    job = pages.upload(write_csv([{**rows()[0], "candidate": "a new answer", "reference": "another"}]), "more.csv")
    pages.choose(job)
    pages.work(job)
    page = pages.show(job)
    facts = page[page.index("Already in the project") :]
    for label in ("Passages", "Questions", "Questions that get further references", "Of these, with judgments or in"):
        assert label in facts
    assert "earlier ratings were made without these (line 2)." in facts


def test_corrected_texts_are_one_error_that_says_how_to_correct_them(pages: Pages) -> None:
    stored = [{**row, "candidate_id": f"c{n}"} for n, row in enumerate(rows())]
    pages.import_whole(write_csv(stored))
    job = pages.upload(write_csv([{**row, "candidate": f"Better: {row['candidate']}"} for row in stored]), "better.csv")
    pages.choose(job)
    pages.work(job)
    page = pages.show(job)
    assert page.count("the candidate is already in the project with another text, and stored texts never change") == 1
    assert "withdraw it there and give the corrected text another ID" in page
    job.refresh_from_db()
    assert (job.state, job.state_in_words) == (State.FAILED, "needs correction")


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


def test_each_field_is_offered_once_with_a_name_of_its_own_under_a_heading(pages: Pages) -> None:
    offered = sorted(name for names in GROUPS.values() for name in names)
    assert offered == sorted(FIELDS.keys() - {"metadata", "ignore"})
    assert len(set(FIELDS.values())) == len(FIELDS)
    page = pages.show(pages.upload(write_csv(rows(1))))
    assert all(f'<optgroup label="{heading}">' in page for heading in GROUPS)
    assert '<option value="reference_9">Reference 9</option>' in page


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
    assert "Too many cells: 2 instead of 1 (6 times: lines 2" in page
    assert pages.choose(job, then="look", delimiter="", encoding="mac-roman").status_code == 302
    page = condense(pages.show(job))
    assert "Read as CSV, MAC-ROMAN, separated by semicolons" in page
    assert "nÈ" in page
    pages.choose(job, then="look", delimiter="", encoding="")
    pages.choose(job)
    pages.work(job)
    assert job.state == State.DONE, job.error


def test_a_file_with_quotes_that_enclose_no_cells_can_be_read_as_it_is(pages: Pages) -> None:
    content = b'question\tcandidate\nWho?\t"Nobody" came\nWhen?\tat "nine"\n'
    job = pages.upload(content, "answers.tsv")
    page = condense(pages.show(job))
    assert "closed in the middle of a cell; if quotation marks don’t enclose the cells of this file" in page
    assert "Quotation marks" in page, "The file is kept, and its format can be changed."
    assert pages.choose(job, then="look", quotes="none").status_code == 302
    assert "&quot;Nobody&quot; came" in pages.show(job)
    pages.choose(job, quotes="none")
    assert pages.work(job).state == State.DONE, job.error


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


def test_points_are_suggested_by_the_scale_of_each_column(pages: Pages, project: Project) -> None:
    create_rubric(
        project,
        name="Three",
        preset="custom",
        criteria=[
            CriterionSpec(
                key=key,
                name=key,
                statement="",
                scale=Scale(kind=ScaleKind.ORDINAL, low=low, high=high),
                level=Level.NOMINAL if key != "quality" else Level.ORDINAL,
            )
            for key, low, high in (("quality", 1, 5), ("fits", 0, 1), ("error", 0, 2))
        ],
    )
    words = (("good", "yes", "none"), ("fair", "no", "off topic"), ("bad", "n/a", "wrong fact"), ("none", "no", "n/a"))
    content = "id,annotator,quality,fits,error\n" + "".join(
        f"c{place},anna,{','.join(each)}\n" for place, each in enumerate(words)
    )
    page = pages.show(pages.upload(content.encode(), "judged.csv", kind="judgments"))
    # A kind of error may be called “none”, but an answer of good to bad is none where it is called so.
    assert "good=4 fair=3 bad=1 none= yes=1 no=0 n/a=missing off topic= wrong fact=" in page


def test_the_form_asks_only_for_what_the_format_has(pages: Pages) -> None:
    """An Excel file has cells, not bytes and delimiters: nobody should look for the right encoding of one."""
    table = rows()
    objects = "\n".join(json.dumps(row) for row in table).encode()
    for name, content, asked in (
        ("answers.csv", write_csv(table), ["format", "encoding", "delimiter", "quotes", "decimal"]),
        ("answers.jsonl", objects, ["format", "encoding", "decimal"]),
        ("answers.xlsx", write_xlsx(table), ["format", "decimal"]),
    ):
        job = pages.upload(content, name)
        look = pages.client.get(pages.url("import-show", job.number)).context["file_preview"]
        assert list(look.reading.fields) == asked, name
        pages.choose(job)
        assert pages.work(job).state == State.DONE, job.error


def test_an_encoding_chosen_for_an_excel_file_is_no_obstacle(pages: Pages) -> None:
    """As from a page that was opened before the file was corrected."""
    job = pages.upload(write_xlsx(rows()), "answers.xlsx")
    pages.choose(job, encoding="windows-1252", delimiter="comma")
    assert pages.work(job).state == State.DONE, job.error


def test_an_encoding_that_is_not_guessed_can_be_chosen_on_the_page(pages: Pages) -> None:
    job = pages.upload(write_csv([{**row, "candidate": "кто там"} for row in rows()]).decode().encode("windows-1251"))
    page = pages.show(job)
    assert "windows-1251" in page
    sent = {"encoding": "windows-1251", "then": "look"}
    assert pages.client.post(pages.url("import-check", job.number), sent).status_code == 302
    assert "кто там" in pages.show(job)


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


def test_the_list_names_who_imported_as_every_other_page_names_an_actor(pages: Pages, manager: Membership) -> None:
    pages.upload(write_csv(rows()))
    page = condense(pages.client.get(pages.url("import-list")).content.decode())
    assert f"<code>{manager.pseudonym}</code> (you)" in page


def test_the_list_of_imports_asks_as_often_for_many_as_for_one(
    pages: Pages, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(5):
        pages.upload(write_csv(rows()))
    with django_assert_max_num_queries(6):
        page = pages.client.get(pages.url("import-list"))
    assert page.content.count(pages.url("import-show", 5).encode()) == 1
