"""The HITs of imported batches, which are complete from the start.

Besides `annotate/places/`, only this module writes counters and states, once and for new rows only: as many places as
assignments, none open, all done.
"""

from typing import Any

from annotate.imports.staging import create
from annotate.models import Batch
from annotate.models.conditions import is_judgeable

HIT_ITEMS = 100
"""Items of an imported HIT: the most that any HIT may have, since nobody rates it on a page."""


def write(cursor: Any, batch: Batch) -> None:
    """Write HITs of one passage each, their items, assignments and judgments, from `staged_values`.

    The layout of an assignment has the items that its annotator judged.
    """
    _stage_items(cursor)
    _stage_hits(cursor)
    _stage_assignments(cursor)
    _fill_places(cursor, batch)
    # Ordered by assignment and position, so that judgments get their ids in the order of the items.
    cursor.execute(
        """INSERT INTO annotate_judgment
               (assignment_id, item_id, annotator_id, candidate_id, criterion_id, value, judged_at)
           SELECT a.id, i.id, v.annotator_id, v.candidate_id, v.criterion_id, v.value, v.judged_at
           FROM staged_values v JOIN staged_items i ON i.candidate_id = v.candidate_id
           JOIN staged_assignments a ON a.hit_id = i.hit_id AND a.annotator_id = v.annotator_id
           ORDER BY a.id, i.position, v.criterion_id"""
    )


def retire_withdrawn(cursor: Any, batch: Batch) -> None:
    """Stop counting the batch's judgments of candidates that are withdrawn."""
    cursor.execute(
        f"""UPDATE annotate_item i SET retired_at = now()
            FROM annotate_hit h, projects_candidate c
            JOIN projects_question q ON q.id = c.question_id JOIN projects_passage p ON p.id = q.passage_id
            WHERE h.batch_id = %s AND i.hit_id = h.id AND c.id = i.candidate_id AND NOT {is_judgeable("c", "p")}
            RETURNING i.id""",
        [batch.pk],
    )
    retired = [row[0] for row in cursor.fetchall()]
    cursor.execute(
        """UPDATE annotate_judgment SET is_counted = false, not_counted_reason = 'withdrawn'
           WHERE item_id = ANY(%s) AND is_counted""",
        [retired],
    )


def _stage_items(cursor: Any) -> None:
    create(
        cursor,
        "staged_items",
        """id bigint DEFAULT nextval(pg_get_serial_sequence('annotate_item', 'id')), hit_id bigint, passage_id bigint,
           part bigint, question_id bigint, candidate_id bigint, position integer""",
    )
    # Numbered within each passage and cut after every HIT_ITEMS. The list of parameters is empty, but the driver reads
    # %% as % only if there is one.
    cursor.execute(
        f"""INSERT INTO staged_items (passage_id, part, question_id, candidate_id, position)
            SELECT passage_id, n / {HIT_ITEMS}, question_id, id, n %% {HIT_ITEMS} FROM (
                SELECT c.id, c.question_id, q.passage_id,
                       row_number() OVER (PARTITION BY q.passage_id ORDER BY c.question_id, c.id) - 1 AS n
                FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
                WHERE c.id IN (SELECT candidate_id FROM staged_values)) each ORDER BY passage_id, n""",
        [],
    )


def _stage_hits(cursor: Any) -> None:
    create(
        cursor,
        "staged_hits",
        """id bigint DEFAULT nextval(pg_get_serial_sequence('annotate_hit', 'id')), passage_id bigint, part bigint,
           number integer""",
    )
    cursor.execute(
        """INSERT INTO staged_hits (passage_id, part, number)
           SELECT passage_id, part, row_number() OVER (ORDER BY passage_id, part)
           FROM (SELECT DISTINCT passage_id, part FROM staged_items) each ORDER BY 3"""
    )
    cursor.execute(
        """UPDATE staged_items i SET hit_id = h.id FROM staged_hits h
           WHERE h.passage_id = i.passage_id AND h.part = i.part"""
    )
    cursor.execute("ANALYZE staged_items")


def _stage_assignments(cursor: Any) -> None:
    create(
        cursor,
        "staged_assignments",
        """id bigint DEFAULT nextval(pg_get_serial_sequence('annotate_assignment', 'id')), hit_id bigint,
           annotator_id bigint, layout bigint[]""",
    )
    cursor.execute(
        """INSERT INTO staged_assignments (hit_id, annotator_id, layout)
           SELECT hit_id, annotator_id, array_agg(id ORDER BY position) FROM (
               SELECT DISTINCT i.hit_id, i.id, i.position, v.annotator_id
               FROM staged_values v JOIN staged_items i ON i.candidate_id = v.candidate_id) each
           GROUP BY hit_id, annotator_id ORDER BY hit_id, annotator_id"""
    )


def _fill_places(cursor: Any, batch: Batch) -> None:
    cursor.execute(
        """INSERT INTO annotate_hit
               (id, batch_id, passage_id, number, purpose, queue_key, places_wanted, places_open, places_done)
           SELECT h.id, %s, h.passage_id, h.number, 'work', h.number, a.n, 0, a.n
           FROM staged_hits h
           JOIN (SELECT hit_id, count(*) AS n FROM staged_assignments GROUP BY hit_id) a ON a.hit_id = h.id
           ORDER BY h.number""",
        [batch.pk],
    )
    batch.n_hits = cursor.rowcount
    cursor.execute(
        """INSERT INTO annotate_item (id, hit_id, question_id, candidate_id, position)
           SELECT id, hit_id, question_id, candidate_id, position FROM staged_items ORDER BY hit_id, position"""
    )
    batch.n_items = cursor.rowcount
    batch.save(update_fields=["n_hits", "n_items"])
    cursor.execute(
        """INSERT INTO annotate_assignment
               (id, uuid, hit_id, annotator_id, state, holds_place, mark, layout, opened_at, ended_at, submitted_at)
           SELECT id, gen_random_uuid(), hit_id, annotator_id, 'submitted', true, 'counted', layout, now(), now(), now()
           FROM staged_assignments ORDER BY id"""
    )
