"""Statements planned once for each connection, asked for by many threads at the same moment."""

import threading

import pytest
from django.db import connection

from projects.database.prepared import Columns, Prepared, fetch_one, prepared
from projects.models import Passage, Project
from tests.factories import make_corpus

SQL = "SELECT %(n)s::int + 1"


def ask(statement: Prepared, n: int) -> int:
    with connection.cursor() as cursor:
        statement.execute(cursor, {"n": n})
        return int(cursor.fetchone()[0])


@pytest.mark.django_db
def test_two_of_one_statement_share_what_a_connection_knows() -> None:
    """Threads that come at once may each make the statement; a connection must not prepare it twice."""
    assert [ask(Prepared(SQL), 1), ask(Prepared(SQL), 2), ask(prepared(SQL), 3)] == [2, 3, 4]


@pytest.mark.django_db(transaction=True)
def test_each_connection_prepares_for_itself() -> None:
    found: list[int] = []
    begin = threading.Barrier(8)

    def work() -> None:
        prepared.cache_clear()
        begin.wait()
        found.extend(ask(prepared(SQL), n) for n in range(20))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(list(range(1, 21)) * 8)


@pytest.mark.django_db
def test_a_row_is_made_of_the_columns_named(project: Project) -> None:
    make_corpus(project, n_passages=1, n_candidates=1)
    Passage.objects.update(documents=[{"title": "One", "text": "Two"}])
    columns = Columns(Passage, "p", ("title", "documents"))
    values = fetch_one(f"SELECT {columns.sql}, 7 FROM projects_passage p WHERE p.id > %(least)s::bigint", {"least": 0})
    assert values is not None
    passage = columns.take(values)
    assert values == [7]
    assert passage.documents == [{"title": "One", "text": "Two"}]
    assert passage.get_deferred_fields() >= {"text", "split"}
    assert passage.text == Passage.objects.get().text
    assert fetch_one("SELECT 1 WHERE %(never)s::bool", {"never": False}) is None
