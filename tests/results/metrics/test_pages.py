"""The pages of metrics: asking for several at once, one run with its candidates, a file that is checked and taken."""

import re
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import Settings

from projects.models import Candidate, Membership, Project, Reference
from projects.web import uploads
from projects.web.body_questions import QUESTION, BodyQuestion
from projects.web.lists import paginate
from projects.web.previews import NOT_SHOWN, OTHER_NUMBERS
from results import tasks
from results.metrics import computing, run_views
from results.metrics.candidates import ScoresBySource
from results.metrics.listing import describe_run
from results.models import MetricRun, ScoreFile
from results.score_import import importing
from results.studies.metrics_chosen import make_labels
from tests.factories import make_candidates, make_dataset, make_passage, make_question
from tests.page_reader import condense, read
from tests.previews import confirm, find_seal
from tests.projects.api.client import Script
from tests.projects.tables.latex import check_latex, read_caption
from tests.results.judged_batches import judge
from tests.results.metrics.samples import compute, receive

pytestmark = pytest.mark.django_db

SignIn = Callable[[Membership], Client]


@pytest.fixture
def corpus(project: Project) -> Project:
    for name in ("narrative", "cosmos"):
        question = make_question(make_passage(make_dataset(project, name)), references=("on the mat",))
        make_candidates(question, external_id=f"{name}-right", text="On the mat.", source="reader")
        make_candidates(question, external_id=f"{name}-wrong", text="a dog", source="guesser")
    question = make_question(make_passage(project.datasets.get(name="cosmos")), references=())
    make_candidates(question, external_id="alone", text="<script>nobody</script>")
    return project


def address(name: str, project: Project, *args: Any) -> str:
    return reverse(f"results:{name}", args=[project.slug, *args])


def test_candidates_without_a_reference_are_counted_before_metrics_are_computed(
    corpus: Project, researcher: Membership, client_of: SignIn
) -> None:
    def read_lede() -> str:
        return condense(client_of(researcher).get(address("metric-new", corpus)).content.decode())

    assert "1 of them has no reference and will get no score" in read_lede()
    Reference.objects.all().delete()
    n = Candidate.objects.judgeable_in(corpus).count()
    assert f"{n} of them have no reference and will get no score" in read_lede()


def test_a_researcher_asks_for_several_metrics_with_settings_and_looks_at_one(
    corpus: Project, researcher: Membership, client_of: SignIn, outside: ModuleType
) -> None:
    client = client_of(researcher)
    page = client.get(address("metric-new", corpus)).content.decode()
    assert "Not available on this server: a file named unobtainium.bin" in page
    for family in page.split("</fieldset>"):
        reasons = re.findall(r"Not available on this server: ([^<]+)", family)
        assert len(reasons) == len(set(reasons)), "What several metrics lack is said once."
    sent = {"use:exact_match": "on", "use:likeness": "on", "likeness:power": 2, "use:absent": "on"}
    assert client.post(address("metric-new", corpus), sent).status_code == HTTPStatus.FOUND
    live = client.get(address("metric-list", corpus)).content.decode()
    assert "2 metrics are being computed" in live
    assert "power 2" in live
    for run in MetricRun.objects.all():
        computing.run(run.pk)
    rows = {
        row["Metric"]: row for row in read(client.get(address("metric-list", corpus)).content.decode()).rows("Metrics")
    }
    assert (
        rows["Exact match"]["Score"],
        rows["Exact match"]["Candidates scored"],
        rows["Exact match"]["Without score"],
    ) == (
        "0.5000",
        "4",
        "1",
    )
    assert "power 2" in rows["Likeness"]["Configuration"]
    judge(corpus, {corpus.datasets.get(name="cosmos").candidates.get(external_id="alone"): {researcher: 2}})
    run = MetricRun.objects.get(metric="exact_match")
    shown = client.get(address("metric-show", corpus, run.pk), {"sort": "-score"})
    table = read(shown.content.decode()).rows("Candidates with their scores")
    assert [row["Candidate"] for row in table][:2] == ["narrative-right", "cosmos-right"]
    assert (table[-1]["Candidate"], table[-1]["Score"], table[-1]["Gold score"]) == ("alone", "no reference", "2.00")
    refused = client.get(address("metric-show", corpus, run.pk), {"reason": "no reference"})
    assert [row["Candidate"] for row in read(refused.content.decode()).rows("Candidates with their scores")] == [
        "alone"
    ]
    *by_source, whole = read(shown.content.decode()).rows("By source")
    assert {row["Name"]: row["Mean"] for row in by_source} == {"reader": "1.0000", "guesser": "0.0000"}
    assert (whole["Name"], whole["Candidates"], whole["Mean"]) == ("All", "4", "0.5000")
    for here, name in ((run.pk, "source"), (run.pk, "dataset"), (run.pk, "bins"), (None, "metrics")):
        folder = address("metric-list", corpus) if here is None else address("metric-show", corpus, here)
        tex = client.get(f"{folder}tables/{name}.tex")
        check_latex(tex.content.decode())
        assert "n = " in read_caption(tex.content.decode())
        assert f'href="{folder}tables/{name}.csv"' in client.get(folder).content.decode()


@pytest.mark.parametrize("sort", ["candidate", "-candidate"])
def test_scores_are_sorted_by_dataset_as_created_and_by_id(
    corpus: Project, researcher: Membership, client_of: SignIn, sort: str
) -> None:
    run = compute(corpus, researcher)
    shown = client_of(researcher).get(address("metric-show", corpus, run.pk), {"sort": sort})
    names = [row["Candidate"] for row in read(shown.content.decode()).rows("Candidates with their scores")]
    by_dataset = ["narrative-right", "narrative-wrong", "alone", "cosmos-right", "cosmos-wrong"]
    assert names == (by_dataset if sort == "candidate" else by_dataset[::-1])


@pytest.mark.parametrize("sort", ["source", "-source"])
def test_scores_by_source_are_in_the_order_of_all_of_them_on_every_page(
    project: Project, researcher: Membership, client_of: SignIn, monkeypatch: pytest.MonkeyPatch, sort: str
) -> None:
    """Each page reads the sources that are on it alone, the second half of a source from its end."""
    monkeypatch.setattr(run_views, "paginate", partial(paginate, size=4))
    for number in range(3):
        question = make_question(make_passage(make_dataset(project, f"d{number}")))
        for source in ("ä", "", "b", "B", "b c"):
            make_candidates(question, 2 + number, source=source)
    run = compute(project, researcher)
    client, url, shown = client_of(researcher), address("metric-show", project, run.pk), []
    for page in range(1, 13):
        rows = read(client.get(url, {"sort": sort, "page": str(page)}).content.decode())
        shown += [row["Candidate"] for row in rows.rows("Candidates with their scores")]
    wanted = run.scores.order_by(f"{sort[:-6]}candidate__source", "candidate_id")
    assert shown == list(wanted.values_list("candidate__external_id", flat=True))
    assert len(shown) == 45
    filtered = read(client.get(url, {"sort": sort, "source": "b c"}).content.decode())
    assert {row["Source"] for row in filtered.rows("Candidates with their scores")} == {"b c"}


def test_scores_by_source_of_a_run_that_is_deleted_meanwhile_are_none(
    corpus: Project, researcher: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = compute(corpus, researcher)
    scores = ScoresBySource(run.scores.all(), is_descending=False)
    find_keys = scores._find_keys

    def find_and_delete(*args: Any) -> list[int]:
        found = find_keys(*args)
        run.scores.all().delete()
        return found

    monkeypatch.setattr(scores, "_find_keys", find_and_delete)
    assert scores[0:4] == []


def test_a_form_without_a_metric_or_with_a_setting_out_of_range_is_shown_again(
    corpus: Project, researcher: Membership, client_of: SignIn, outside: ModuleType
) -> None:
    client = client_of(researcher)
    for sent, message in (
        ({}, "Select at least one metric."),
        ({"use:likeness": "on", "likeness:power": 7}, "less than or equal to 3"),
        ({"use:exact_match": "on", "exact_match:tokeniser": "klingon"}, "klingon is not one of"),
    ):
        response = client.post(address("metric-new", corpus), sent)
        assert response.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
        assert message in response.content.decode()
    assert not MetricRun.objects.exists()


def test_a_run_is_deleted_by_who_asked_or_a_manager_and_computed_again_by_anybody(
    corpus: Project, manager: Membership, researcher: Membership, client_of: SignIn
) -> None:
    run = compute(corpus, manager)
    client_of(researcher).post(address("metric-delete", corpus, run.pk))
    assert MetricRun.objects.filter(pk=run.pk).exists()
    client_of(researcher).post(address("metric-again", corpus, run.pk))
    again = MetricRun.objects.exclude(pk=run.pk).get()
    assert (again.subject, again.state, again.requested_by) == (run.subject, "queued", researcher)
    client_of(researcher).post(address("metric-cancel", corpus, again.pk))
    client_of(researcher).post(address("metric-delete", corpus, again.pk))
    client_of(manager).post(address("metric-delete", corpus, run.pk))
    assert not MetricRun.objects.exists()
    assert corpus.log.filter(act="delete metric run").count() == 2


def test_a_file_is_read_its_wrong_rows_shown_and_its_scores_imported_under_a_name(
    corpus: Project, researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    assert "negate error rates" in client.get(address("score-file-new", corpus)).content.decode()
    content = b'candidate_id,bleurt,rank\nnarrative-right,0.9,1\nghost,1,2\nnarrative-wrong,"0,1",3\nalone,=1+1,4\n'
    upload = SimpleUploadedFile("bleurt.csv", content, "text/csv")
    there = client.post(address("score-file-new", corpus), {"file": upload}).headers["Location"]
    job = ScoreFile.objects.get()
    tasks.read_scores(job.pk)
    page = read(client.get(there).content.decode())
    assert [(row["Line"], row["Kind"], row["Candidate"], row["Value"]) for row in page.rows("Errors")] == [
        ("3", "Unknown", "ghost", "ghost"),
        ("4", "Not a number", "narrative-wrong", "0,1"),
        ("5", "Not a number", "alone", "=1+1"),
    ]
    assert not MetricRun.objects.exists(), "nothing is stored before somebody says so"
    listed = b"".join(client.get(address("score-file-problems", corpus, job.number)).streaming_content).decode()  # type: ignore[attr-defined]
    assert "'=1+1" in listed
    take = address("score-file-take", corpus, job.number)
    assert client.post(take, {"take_0": "on", "name_0": " "}).status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    confirm(client, there, at=take, take_0="on", name_0="BLEURT-20", name_1="rank")
    client.post(take, {"take_0": "on", "name_0": "Twice"})
    tasks.read_scores(job.pk)
    run = MetricRun.objects.get()
    assert (run.metric, run.n_scored, run.n_refused) == ("BLEURT-20", 1, 4)
    assert "Scores of 1 metric imported" in client.get(there).content.decode()
    signature = f"BLEURT-20|origin:file|column:bleurt|sha256:{job.sha256[:12]}"
    for address_of_page in (address("metric-list", corpus), address("metric-show", corpus, run.pk)):
        assert f">{signature}<" in client.get(address_of_page).content.decode()
    given = b"".join(client.get(address("metric-scores", corpus, run.pk, "csv")).streaming_content).decode()  # type: ignore[attr-defined]
    assert given.splitlines()[:2] == [
        "dataset,candidate_id,source,score,reason,signature",
        f"cosmos,alone,model-a,,not a number: “=1+1”,{signature}",
    ]
    assert not uploads.find_file(job).exists()


def test_after_an_error_a_file_of_scores_is_corrected_in_its_place(
    corpus: Project, researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    content = "sep=;\r\nNr;Bewertung für BLEURT;\r\nnarrative-right;0,9;\r\nalone;1,234;\r\n"
    upload = SimpleUploadedFile("bleurt.csv", content.encode("windows-1252"), "text/csv")
    there = client.post(address("score-file-new", corpus), {"file": upload}).headers["Location"]
    job = ScoreFile.objects.get()
    tasks.read_scores(job.pk)
    page = client.get(there).content.decode()
    assert "no column for the candidate" in page
    assert "Check again" in page
    check, replace = address("score-file-check", corpus, job.number), address("score-file-replace", corpus, job.number)
    assert client.post(check, {"delimiter": "nonsense"}).status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    client.post(check, {"id_column": "Nr"})
    tasks.read_scores(job.pk)
    job.refresh_from_db()
    assert job.report is not None
    assert [(each["column"], each["low"], each["high"]) for each in job.report["columns"]] == [
        ("Bewertung für BLEURT", 0.9, 1.234)
    ]
    first, take = uploads.find_file(job), address("score-file-take", corpus, job.number)
    seal = find_seal(client.get(there).content.decode())
    corrected = SimpleUploadedFile("second.csv", b"Nr,bleurt\nnarrative-right,0.5\n", "text/csv")
    assert "second.csv" in client.post(replace, {"file": corrected}, follow=True).content.decode()
    tasks.read_scores(job.pk)
    job.refresh_from_db()
    assert job.report is not None
    assert [each["name"] for each in job.report["columns"]] == ["bleurt"], "The name of the ID column stays."
    assert not first.exists()
    # The page of the first file, in another tab, imports nothing of the second.
    chosen: dict[str, Any] = {"take_0": "on", "name_0": "BLEURT"}
    assert NOT_SHOWN in client.post(take, chosen).content.decode()
    assert OTHER_NUMBERS in client.post(take, {**chosen, "shown": seal}).content.decode()
    job.refresh_from_db()
    assert job.step == ScoreFile.Step.CHECK
    confirm(client, there, at=take, **chosen)
    tasks.read_scores(job.pk)
    for again in (client.post(check, {}, follow=True), client.post(replace, {"file": corrected}, follow=True)):
        assert "message--error" in again.content.decode()
    assert MetricRun.objects.get().n_scored == 1


def test_a_corrected_file_of_scores_takes_the_room_of_the_one_it_replaces(
    corpus: Project, researcher: Membership, client_of: SignIn, settings: Settings
) -> None:
    client, content = client_of(researcher), b"id,bleurt\nnarrative-right,0.5\n"
    job = receive(corpus, researcher, content.decode())
    settings.MAX_USER_UPLOAD_BYTES = len(content)
    replace, question = address("score-file-replace", corpus, job.number), BodyQuestion()
    asked: dict[str, Any] = {"CONTENT_LENGTH": str(len(content)), QUESTION: question}
    assert client.post(address("score-file-new", corpus), **asked).status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert client.post(replace, **asked).status_code == HTTPStatus.NO_CONTENT
    larger = SimpleUploadedFile("larger.csv", content + b"\n", "text/csv")
    assert "Your files in all projects may take" in client.post(replace, {"file": larger}, follow=True).text
    corrected = SimpleUploadedFile("second.csv", content, "text/csv")
    assert "second.csv" in client.post(replace, {"file": corrected}, follow=True).text


def test_pages_show_the_letters_of_a_signature_and_files_the_line_to_cite(
    corpus: Project, researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    job = receive(corpus, researcher, "id,Note für|Text\nnarrative-right,0.5\n")
    importing.request_import(job=job, actor=researcher, names={"Note für|Text": "Übersetzung"})
    importing.run(job.pk)
    run = MetricRun.objects.get()
    shown, cited = (
        f"{name}|origin:file|column:Note%20{word}%7CText|sha256:{job.sha256[:12]}"
        for name, word in (("Übersetzung", "für"), ("%C3%9Cbersetzung", "f%C3%BCr"))
    )
    for page in (address("metric-list", corpus), address("metric-show", corpus, run.pk)):
        assert f">{shown}<" in client.get(page).content.decode()
    assert run.signature == cited
    given = b"".join(client.get(address("metric-scores", corpus, run.pk, "csv")).streaming_content).decode()  # type: ignore[attr-defined]
    assert given.splitlines()[1].endswith(cited)


def test_a_file_that_cannot_be_read_or_is_given_up_leaves_nothing(
    corpus: Project, researcher: Membership, client_of: SignIn, settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path  # other processes use the folder of all tests
    broken = receive(corpus, researcher, '{"narrative": {"narrative-right": {"pred_score": 1}, "x": {"pr', "lerc.json")
    page = client_of(researcher).get(address("score-file", corpus, broken.number)).content.decode()
    assert broken.state == "failed"
    assert "invalid JSON" in page
    client_of(researcher).post(address("score-file-cancel", corpus, broken.number))
    broken.refresh_from_db()
    given_up = receive(corpus, researcher, "id,x\nalone,1\n")
    client_of(researcher).post(address("score-file-cancel", corpus, given_up.number))
    given_up.refresh_from_db()
    assert given_up.state == "cancelled"
    assert (broken.stored_name, given_up.stored_name) == ("", "")
    assert list(uploads.folder().iterdir()) == []
    assert not MetricRun.objects.exists()


def test_the_pages_ask_no_more_of_the_database_with_more_metrics_and_files(
    corpus: Project, researcher: Membership, client_of: SignIn
) -> None:
    client, asked = client_of(researcher), []
    for tokeniser in ("squad", "alnum", "words"):
        run = compute(corpus, researcher, tokeniser=tokeniser)
        receive(corpus, researcher, "id,x\nalone,1\n")
        with CaptureQueriesContext(connection) as queries:
            pages = [client.get(address("metric-list", corpus)), client.get(address("metric-show", corpus, run.pk))]
        assert [page.status_code for page in pages] == [200, 200]
        asked.append(len(queries))
    assert asked[1] == asked[2]


def test_scripts_ask_for_a_metric_and_read_its_scores(corpus: Project, researcher: Membership) -> None:
    script = Script(researcher, can_write=True)
    answered = script.send("metrics/", {"metric": "exact_match", "settings": {"tokeniser": "alnum"}})
    assert answered.status_code == HTTPStatus.ACCEPTED
    run = answered.json()
    computing.run(run["id"])
    listed = script.read("metrics/", origin="computed")
    assert [(each["id"], each["state"], each["n_refused"]) for each in listed["results"]] == [(run["id"], "done", 1)]
    assert script.read(f"metrics/{run['id']}/")["report"]["summary"]["score"] == 0.5
    assert script.send("metrics/", {"metric": "exakt"}).status_code == HTTPStatus.CONFLICT
    for value in (1, ["x"], {"x": 1}, None, True, "x\0", "\ud800"):
        refused = script.send("metrics/", {"metric": "sas", "settings": {"model": value}})
        assert refused.status_code == HTTPStatus.CONFLICT, refused.content


def test_a_setting_of_a_metric_is_named_once_and_in_one_way(
    corpus: Project, researcher: Membership, client_of: SignIn
) -> None:
    pooled = compute(corpus, researcher, "rouge_1", policy="pooled")
    best = compute(corpus, researcher, "rouge_1")
    assert make_labels([pooled, best])[pooled.subject] == "ROUGE-1 (policy pooled)"
    rows = read(client_of(researcher).get(address("metric-list", corpus)).content.decode()).rows("Metrics")
    shown = sorted(row["Configuration"].partition(" rouge_1|")[0] for row in rows)
    assert shown == ["f1, best reference · alnum", "f1, references pooled · alnum"]
    by_stem = MetricRun(origin="computed", metric="meteor_2005", settings={"synonyms": "wordnet"}, report={})
    assert describe_run(by_stem) == [], "its variant tells of synonyms in other words"
    unknown = MetricRun(origin="computed", metric="rouge_1", settings={"policy": "median"}, report={})
    assert describe_run(unknown) == ["policy median"], "of an earlier version"
