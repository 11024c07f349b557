"""The guard against formulas is one rule, in Python and in SQL."""

import pytest
from django.db import connection
from hypothesis import example, given
from hypothesis import strategies as st

from projects.database.csv import guarded_sql, guarded_text, unguarded

TEXTS = st.text(alphabet="'=+-@\t\r\n＝－ a5.,\"", max_size=6)


@pytest.mark.django_db
@given(TEXTS)
@example("-5")
@example("''=1")
@example("＋1")
def test_both_guards_give_the_same_and_lose_nothing(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {guarded_sql('t')} FROM (SELECT %s::text AS t) x", [text])
        (in_sql,) = cursor.fetchone()
    assert guarded_text(text) == in_sql
    assert unguarded(in_sql) == text
