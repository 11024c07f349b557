"""The guard against formulas and the form of CSV are one rule, in Python and in SQL."""

import io

import numpy as np
import pytest
from django.db import connection
from hypothesis import example, given
from hypothesis import strategies as st

from projects.database.csv import format_row, guard_sql, guard_text, unguard_text

TEXTS = st.text(alphabet="'=+-@\t\r\n＝－ a5.,\"", max_size=6)


@pytest.mark.django_db
@given(TEXTS)
@example("-5")
@example("-5\n")
@example("''=1")
@example("＋1")
def test_both_guards_give_the_same_and_lose_nothing(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {guard_sql('t')} FROM (SELECT %s::text AS t) x", [text])
        (in_sql,) = cursor.fetchone()
    assert guard_text(text) == in_sql
    assert unguard_text(in_sql) == text


@pytest.mark.django_db
def test_rows_are_written_as_the_database_writes_them() -> None:
    row = ["plain", None, 3.0, 0.1, 'a "b"', "a,b", "a\nb", "a\rb", " spaced "]
    file = io.BytesIO()
    with connection.cursor() as cursor:
        columns = ", ".join("%s::float8" if isinstance(value, float) else "%s::text" for value in row)
        select = cursor.mogrify(f"SELECT {columns}", row).decode()
        cursor.copy_expert(f"COPY ({select}) TO STDOUT WITH (FORMAT csv)", file)
    assert format_row(row).encode() == file.getvalue()


def test_cells_without_a_value_are_empty_and_the_end_of_data_is_quoted() -> None:
    assert format_row(["\\."]) == '"\\."\n', "Alone on a line it would end what COPY reads."
    assert format_row(["", None, float("nan"), np.float64(0.5), 7]) == ",,,0.5,7\n"
