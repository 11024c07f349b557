"""Foreign keys to tables of many rows: each deletion asks every key to its table, by an index or by reading it all."""

import pytest
from django.db import connection

LARGE = (
    *("projects_passage", "projects_question", "projects_candidate"),
    *("annotate_hit", "annotate_item", "annotate_assignment", "annotate_judgment"),
)
FEW_ROWS = {"annotate_reviewverdict.item_id"}
"""Keys without an index: of spot checks, which people do by hand."""

# An index of the rows that have the key serves as well: a check is only ever asked for a value.
WITHOUT_INDEX = """
SELECT c.conrelid::regclass || '.' || a.attname
FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
WHERE c.contype = 'f' AND c.confrelid::regclass::text = ANY(%s) AND NOT EXISTS (
    SELECT FROM pg_index i WHERE i.indrelid = c.conrelid AND i.indkey[0] = c.conkey[1]
      AND (i.indpred IS NULL OR pg_get_expr(i.indpred, i.indrelid) = '(' || a.attname || ' IS NOT NULL)'))
"""


@pytest.mark.django_db
def test_no_deletion_reads_a_whole_table() -> None:
    """A draft of 10,000 items took half a minute to delete beside 30,000 judgments."""
    with connection.cursor() as cursor:
        cursor.execute(WITHOUT_INDEX, [list(LARGE)])
        found = {row[0] for row in cursor.fetchall()}
    assert found == FEW_ROWS
