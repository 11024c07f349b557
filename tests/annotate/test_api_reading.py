"""What the API gives of data, batches and judgments: the numbers of plain SQL, nothing foreign, page by page."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotate.models import Import, Judgment
from annotate.work import submitting
from projects.models import Candidate, Membership, Project
from tests import sized_projects
from tests.annotate.open_batches import answered
from tests.factories import make_batch, make_corpus, make_membership, make_project
from tests.projects.api.client import Script, wrong_fields

pytestmark = pytest.mark.django_db

LISTS = ("passages/", "questions/", "candidates/", "batches/", "imports/", "judgments/", "datasets/")
MOST_QUERIES = 12


@pytest.fixture
def script(owner: Membership) -> Script:
    return Script(owner)


@pytest.fixture
def elsewhere(db: None) -> Project:
    """Another project with the same names in it, and one judgment more than ours would notice."""
    project = make_project("elsewhere")
    make_corpus(project, n_passages=3, n_candidates=2, name="main")
    make_batch(project)
    rater = make_membership(project)
    sized_projects.submit(rater, n_items=2)
    return project


def fetch_all(script: Script, path: str, **query: Any) -> list[dict[str, Any]]:
    """The rows of all pages, by the addresses that the pages name."""
    page = script.read(path, **query)
    found: list[dict[str, Any]] = page["results"]
    while page["next"]:
        page = script.get(page["next"]).json()
        found += page["results"]
    return found


def test_counts_are_those_of_plain_sql_and_hold_nothing_foreign(
    project: Project,
    script: Script,
    annotator: Membership,
    other_annotator: Membership,
    elsewhere: Project,
    tmp_path: Path,
) -> None:
    sized_projects.fill(project, annotator, other_annotator, size="thousand", folder=tmp_path)
    truth = sized_projects.count(project)
    lines = script.read("datasets/")["results"]
    for noun in ("passages", "questions", "references", "candidates"):
        assert sum(line[noun] for line in lines) == getattr(truth, noun)
    assert sum(line["judgments"] for line in lines) == truth.counted
    for noun in ("passages", "questions", "candidates"):
        rows = fetch_all(script, f"{noun}/", page_size=90)
        names = {(row["dataset"], row[f"{noun[:-1]}_id"]) for row in rows}
        assert len(rows) == len(names) == getattr(truth, noun) == script.read(f"{noun}/")["count"]
    judged = fetch_all(script, "judgments/", page_size=1_000)
    assert len({row["id"] for row in judged}) == len(judged) == truth.judgments + truth.kept_apart
    full = [row for row in judged if row["batch_kind"] != "trial"]
    assert sum(row["is_counted"] for row in full) == truth.counted
    apart = script.read("judgments/", batch=1, is_counted="false")["results"]
    assert {row["not_counted_reason"] for row in apart} == {"set aside", "withdrawn"}
    for batch in fetch_all(script, "batches/", page_size=1):
        wanted = truth.batches[batch["number"]]
        progress = batch["progress"]
        assert (progress["n_wanted"], progress["n_open"], progress["n_held"], progress["n_done"]) == (
            wanted.n_wanted,
            wanted.n_open,
            wanted.n_held,
            wanted.n_done,
        )
    imported = [row for row in judged if row["batch_kind"] == "imported"]
    assert {row["is_blind"] for row in imported} == {row["submitted_at"] for row in imported} == {None}
    # What the file doesn't say is unknown, and not the time of the import.
    times = dict(Judgment.objects.exclude(judged_at=None).values_list("pk", "judged_at"))
    stored = {pk: at.isoformat().replace("+00:00", "Z") for pk, at in times.items() if at}
    assert all(row["judged_at"] == stored.get(row["id"], row["submitted_at"]) for row in judged)


def test_as_many_queries_however_much_there_is(
    project: Project, script: Script, annotator: Membership, other_annotator: Membership, tmp_path: Path
) -> None:
    sized_projects.fill(project, annotator, other_annotator, size="one", folder=tmp_path)
    script.read(LISTS[0])  # the first request on a connection prepares the statements of every request
    few = {path: count_queries(script, path) for path in LISTS}
    more = make_corpus(project, n_passages=8, n_candidates=3, name="more")
    for number in range(3):
        make_batch(project, datasets=(more.name,), judgments=2, priority=10 + number)
    for rater in (annotator, other_annotator):
        sized_projects.submit(rater)
    assert {path: count_queries(script, path) for path in LISTS} == few
    assert max(few.values()) <= MOST_QUERIES


def count_queries(script: Script, path: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        script.read(path)
    return len(queries)


def test_lists_are_narrowed_and_ordered_by_what_is_declared(project: Project, script: Script) -> None:
    make_corpus(project, n_passages=2, n_candidates=2, name="a")
    make_corpus(project, n_passages=1, n_candidates=1, name="b")
    Candidate.objects.filter(dataset__name="b").update(source="gpt", external_id="zz")
    assert [row["candidate_id"] for row in script.read("candidates/", source="gpt")["results"]] == ["zz"]
    assert script.read("candidates/", dataset="a")["count"] == 4
    assert script.read("candidates/", order="-candidate_id")["results"][0]["candidate_id"] == "zz"
    one = script.read("questions/", dataset="b")["results"][0]
    assert script.read("candidates/", question_id=one["question_id"], dataset="b")["count"] == 1
    for query in ({"dataset__project": "1"}, {"order": "text"}, {"order": "dataset__project__name"}, {"type": "x"}):
        response = script.get(f"{script.root}questions/", query)
        assert (response.status_code, wrong_fields(response)) == (400, set(query))
    assert wrong_fields(script.get(f"{script.root}passages/", {"page_size": "101"})) == {"page_size"}


def test_what_is_past_the_end_is_empty(project: Project, script: Script) -> None:
    make_corpus(project, n_candidates=3)
    page = script.read("candidates/", page=9, page_size=2)
    assert (page["count"], page["next"], page["results"]) == (3, None, [])
    middle = script.read("candidates/", page=2, page_size=1)
    assert "page=3" in middle["next"]
    assert script.get(middle["previous"]).json()["results"] == script.read("candidates/", page_size=1)["results"]
    assert script.read("judgments/", after=2**62) == {"count": None, "next": None, "results": []}


def test_a_judgment_names_nobody(project: Project, script: Script, annotator: Membership) -> None:
    make_corpus(project, n_candidates=1)
    make_batch(project)
    assignment = sized_projects.claim(annotator)
    submitting.submit(annotator=annotator, assignment_uuid=assignment, sent=answered(1, cannot={0: "My name is Anna"}))
    text = script.get(f"{script.root}judgments/").content.decode()
    assert annotator.pseudonym in text
    assert "anna" not in text.lower()
    (row,) = script.read("judgments/")["results"]
    same = script.read("judgments/", source=row["source"], candidate_id=row["candidate_id"], split=row["split"])
    assert (same["count"], same["results"]) == (1, [row])
    assert script.read("judgments/", source="nobody")["count"] == 0
    assert (row["value"], row["annotator"], row["assignment"]) == (None, annotator.pseudonym, str(assignment))


def test_researchers_read_no_imports_as_on_pages(project: Project, researcher: Membership, manager: Membership) -> None:
    """Files have a column for each annotator, and what is wrong with a row names it."""
    Import.objects.create(
        project=project,
        number=1,
        kind=Import.Kind.JUDGMENTS,
        requested_by=manager,
        state=Import.State.FAILED,
        error="rows.csv: line 2, column “Anna Berg”: 9 is outside the scale.",
    )
    assert "Anna Berg" in Script(manager).read("imports/1/")["error"]
    for path in ("imports/", "imports/1/"):
        refused = Script(researcher).get(f"/api/v1/projects/{project.slug}/{path}")
        assert refused.status_code == 403
        assert "Anna Berg" not in refused.content.decode()
