"""The export page and its downloads, the overview, and who may open them."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from psycopg2.errors import DivisionByZero

from projects.models import Membership, Project, User
from results.exports.formats import Choices, make_statement
from results.exports.streaming import stream
from tests.factories import make_corpus, make_membership
from tests.page_reader import condense
from tests.people import SignIn
from tests.results.exports.test_long import exported
from tests.results.judged_batches import canonical, judge

PAGES = [
    "",
    "agreement/",
    "export/",
    "export/long.csv",
    "export/aggregated.csv",
    "export/long.jsonl",
    "export/mocha.json",
]


def body(response: Any) -> bytes:
    return b"".join(response.streaming_content)


@pytest.mark.parametrize("path", PAGES)
def test_researchers_and_up_read_and_nobody_else(
    project: Project,
    owner: Membership,
    manager: Membership,
    researcher: Membership,
    annotator: Membership,
    stranger: User,
    client_of: SignIn,
    path: str,
) -> None:
    canonical(project)
    url = f"/p/bridges/{path}"
    for person in (owner, manager, researcher):
        assert client_of(person).get(url).status_code == 200
    assert client_of(annotator).get(url).status_code == 403
    assert client_of(stranger).get(url).status_code == 404
    assert client_of(researcher).get(f"/p/nowhere/{path}").status_code == 404
    assert Client().get(url).status_code == 302
    researcher.standing = Membership.Standing.REMOVED
    researcher.save()
    assert client_of(researcher).get(url).status_code == 403
    for method in ("put", "delete", "patch", *(() if path == "agreement/" else ("post",))):
        assert getattr(client_of(owner), method)(url).status_code == 405


def test_a_download_is_the_file(project: Project, researcher: Membership, client_of: SignIn) -> None:
    canonical(project)
    client = client_of(researcher)
    response = client.get("/p/bridges/export/long.csv")
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"] == 'attachment; filename="bridges-long.csv"'
    assert response["Cache-Control"] == "no-store"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert body(response) == exported(project, "long")
    response = client.get("/p/bridges/export/aggregated.csv?texts=on&batch=1&criterion=correctness")
    assert response["Content-Disposition"] == 'attachment; filename="bridges-aggregated-correctness-batch-1.csv"'
    batch = project.batches.get()
    wanted = exported(project, "aggregated", with_texts=True, batches=(batch,), criterion="correctness")
    assert body(response) == wanted
    made = json.loads(body(client.get("/p/bridges/export/mocha.json")))
    assert len(made["canonical"]) == 12
    head = client.head("/p/bridges/export/long.csv")
    assert (head.status_code, body(head)) == (200, b"")


def test_an_impossible_choice_is_refused_on_the_page(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    canonical(project)
    client = client_of(researcher)
    for query in ("batch=99", "batch=x", "criterion=fluency", "criterion=';--"):
        response = client.get(f"/p/bridges/export/long.csv?{query}")
        assert response.status_code == 400
        assert "Select a valid choice" in response.content.decode()
    rubric = project.rubrics.get()
    rubric.criteria.create(position=9, key="fluency", name="Fluency")
    response = client.get("/p/bridges/export/mocha.json")
    assert response.status_code == 400
    assert "Choose one: correctness, fluency" in response.content.decode()


def test_the_page_says_how_many_rows_there_are_and_why_some_do_not_count(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    canonical(project)
    candidate = project.datasets.get().candidates.all()[0]
    judge(project, {candidate: {make_membership(project): 2.0}}, counted=False)
    judge(project, {candidate: {make_membership(project): 2.0}}, control="repeat")
    page = condense(client_of(researcher).get("/p/bridges/export/").content.decode())
    assert "Not counted: surplus" in page
    assert "submitted when the HIT already had all its judgments" in page
    assert "<dt>Counted</dt><dd>41</dd>" in page
    assert "<dt>Rows in total</dt><dd>42</dd>" in page
    assert len(exported(project, "long").splitlines()) == 43


def test_an_empty_project_has_nothing_to_download_and_says_so(
    project: Project, researcher: Membership, client_of: SignIn
) -> None:
    page = client_of(researcher).get("/p/bridges/export/").content.decode()
    assert "after creating a batch" in page
    response = client_of(researcher).get("/p/bridges/export/long.csv")
    assert len(body(response).splitlines()) == 1
    assert body(client_of(researcher).get("/p/bridges/export/mocha.json")) == b"{}\n"


@pytest.mark.django_db(transaction=True)
def test_a_reader_who_goes_away_stops_the_statement() -> None:
    from results.exports.streaming import Statement

    endless = Statement(
        select="SELECT repeat('x', 1000) FROM generate_series(1, 100000) a, generate_series(1, 100000) b", parameters={}
    )
    chunks = stream(endless)
    assert len(next(chunks)) > 1000
    chunks.close()  # type: ignore[attr-defined]
    with connection.cursor() as cursor:
        cursor.execute("SHOW work_mem")
        assert cursor.fetchone() != ("64MB",)


@pytest.mark.django_db(transaction=True)
def test_a_statement_that_fails_is_an_error_and_no_short_file() -> None:
    from results.exports.streaming import Statement

    broken = Statement(select="SELECT 1 / (n - 50000) FROM generate_series(1, 100000) n", parameters={})
    with pytest.raises(DivisionByZero, match="division by zero"):
        list(stream(broken))


@pytest.mark.django_db(transaction=True)
def test_judgments_that_arrive_during_an_export_stay_out(transactional_db: None) -> None:
    from tests.factories import make_project

    project = make_project("moving")
    canonical(project)
    wanted = exported(project, "long")
    chunks = stream(make_statement("long", Choices(project=project)))
    first = next(chunks)
    canonical_candidate = project.datasets.get().candidates.all()[0]
    rest = b"".join(chunks)
    judge(project, {canonical_candidate: {make_membership(project): 2.0}})
    assert first + rest == wanted != exported(project, "long")


def test_the_overview_leads_an_empty_project_on(
    project: Project, owner: Membership, researcher: Membership, client_of: SignIn
) -> None:
    def next_step(person: Membership = owner) -> str:
        return client_of(person).get("/p/bridges/").content.decode().partition("Next step")[2][:600]

    assert "/p/bridges/data/imports/new/" in next_step()
    assert "imports/new" not in next_step(researcher)
    assert "A manager of the project has to do this." in next_step(researcher)
    make_corpus(project, n_candidates=2)
    assert "/p/bridges/batches/new/" in next_step()
    candidates = list(project.datasets.get().candidates.all())
    people = [make_membership(project) for _ in range(2)]
    batch = judge(project, {candidate: {} for candidate in candidates}, state="draft")
    assert "/p/bridges/batches/1/" in next_step()
    batch.state = "open"
    batch.opened_at = timezone.now()
    batch.save()
    batch.hits.update(places_wanted=2, places_open=2)
    Membership.objects.filter(pk__in=[person.pk for person in people]).update(standing="suspended")
    assert "/p/bridges/people/invitations/new/" in next_step()
    Membership.objects.filter(pk__in=[person.pk for person in people]).update(standing="active")
    assert "4 assignments remaining" in next_step()
    batch.state = "paused"
    batch.save()
    assert "paused" in next_step()
    batch.hits.update(places_open=0, places_done=2)
    assert "/p/bridges/agreement/" in next_step()


def test_the_overview_shows_the_progress_of_the_hits(
    project: Project, researcher: Membership, client_of: SignIn, django_assert_max_num_queries: Any
) -> None:
    batch = canonical(project)
    batch.hits.filter(number__lte=6).update(places_wanted=10, places_done=4, places_open=6)
    client = client_of(researcher)
    with django_assert_max_num_queries(20):
        page = condense(client.get("/p/bridges/").content.decode())
    wanted = 60 + sum(hit.places_wanted for hit in batch.hits.filter(number__gt=6))
    done = 24 + sum(hit.places_done for hit in batch.hits.filter(number__gt=6))
    assert f"{done} of {wanted}" in " ".join(page.split())
    assert f'value="{done}" max="{wanted}"' in page
    assert ">41<" in page
