"""Creating places: HITs with their items, HITs for one annotator, and a new number of required judgments."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.backends.utils import CursorWrapper

from annotate.models import Batch, Hit, Item
from annotate.models.conditions import can_be_taken, is_work

LONGEST_LINE = 200
"""Characters of a row of numbers, at most."""


def set_wanted(batch: Batch, *, judgments: int, hit_ids: Sequence[int] | None = None) -> tuple[int, int]:
    """Set the number of judgments of the batch's HITs, or of some; return how many places were added and removed.

    Lowering never removes a place that someone holds: such a HIT keeps as many places as are held. A HIT whose
    candidates have all been withdrawn gets no new places.
    """
    where = f"h.batch_id = %(batch)s AND {is_work('h')} AND (h.places_open > 0 OR {can_be_taken('h')})"
    where += " AND h.id = ANY(%(hits)s)" if hit_ids is not None else ""
    with connection.cursor() as cursor:
        parameters: dict[str, int | list[int]] = {"batch": batch.pk, "new": judgments, "hits": list(hit_ids or [])}
        # Lock first, in order of id: the UPDATE below would lock the rows in whatever order it reads them.
        cursor.execute(f"SELECT id FROM annotate_hit h WHERE {where} ORDER BY id FOR NO KEY UPDATE", parameters)
        # wanted - open is the number of places held, below which the new number never falls. The old numbers come from
        # a CTE because RETURNING sees only the new row.
        cursor.execute(
            f"""WITH old AS (SELECT id, places_wanted, places_open FROM annotate_hit h WHERE {where}),
                changed AS (
                    UPDATE annotate_hit h
                    SET places_wanted = GREATEST(%(new)s, old.places_wanted - old.places_open),
                        places_open = GREATEST(%(new)s, old.places_wanted - old.places_open)
                                      - (old.places_wanted - old.places_open)
                    FROM old WHERE old.id = h.id
                    RETURNING h.places_wanted - old.places_wanted AS by)
                SELECT coalesce(sum(by) FILTER (WHERE by > 0), 0), coalesce(-sum(by) FILTER (WHERE by < 0), 0)
                FROM changed""",
            parameters,
        )
        added, removed = cursor.fetchone()
    return int(added), int(removed)


@dataclass(frozen=True, slots=True)
class NewHit:
    """A HIT to be created, with its items in their canonical order as pairs (candidate, question)."""

    number: int
    passage_id: int
    queue_key: int
    items: Sequence[tuple[int, int]]
    wanted: int | None = None
    """Judgments required of this HIT, if they differ from the batch's number."""


def create_hits(batch: Batch, hits: Sequence[NewHit]) -> list[int]:
    """Write the HITs and items of a new batch and return the HITs' ids; each HIT has all its places open."""
    with connection.cursor() as cursor:
        cursor.execute(
            # Ids are drawn in advance, because COPY returns none and the items need them. COPY rather than bulk_create:
            # a batch of a large corpus has hundreds of thousands of items.
            "SELECT nextval(pg_get_serial_sequence('annotate_hit', 'id')) FROM generate_series(1, %s)",
            [len(hits)],
        )
        ids = [row[0] for row in cursor.fetchall()]
        wanted = [batch.judgments if hit.wanted is None else hit.wanted for hit in hits]
        rows = (
            f"{hit_id}\t{batch.pk}\t{hit.passage_id}\t{hit.number}\twork\t{hit.queue_key}\t{n}\t{n}\t0\n"
            for hit_id, hit, n in zip(ids, hits, wanted, strict=True)
        )
        counters = "places_wanted, places_open, places_done"
        _copy(cursor, f"annotate_hit (id, batch_id, passage_id, number, purpose, queue_key, {counters})", rows)
        items = (
            f"{hit_id}\t{question}\t{candidate}\t{position}\n"
            for hit_id, hit in zip(ids, hits, strict=True)
            for position, (candidate, question) in enumerate(hit.items)
        )
        _copy(cursor, "annotate_item (hit_id, question_id, candidate_id, position)", items)
    return ids


@dataclass(frozen=True)
class ReservedItem:
    """An item of a HIT for one annotator: a control, with its original and the expected ratings."""

    question_id: int
    control: Item.Control
    candidate_id: int | None = None
    made_from_id: int | None = None
    expected: dict[str, list[float]] | None = None
    shown_text: str | None = None
    recipe: str = ""


def create_reserved(
    *, batch: Batch, passage_id: int, annotator_id: int, purpose: Hit.Purpose, items: Sequence[ReservedItem]
) -> int:
    """Create a gold or personal HIT with one place, reserved for this annotator, and return its id."""
    hit = Hit.objects.create(
        batch=batch,
        passage_id=passage_id,
        purpose=purpose,
        reserved_for_id=annotator_id,
        queue_key=0,
        places_wanted=1,
        places_open=1,
    )
    Item.objects.bulk_create(
        Item(
            hit=hit,
            position=position,
            question_id=item.question_id,
            candidate_id=item.candidate_id,
            control=item.control,
            made_from_id=item.made_from_id,
            expected=item.expected,
            shown_text=item.shown_text,
            recipe=item.recipe,
        )
        for position, item in enumerate(items)
    )
    return hit.pk


def withdraw_reserved(annotator_ids: Sequence[int]) -> int:
    """Remove the open places of HITs reserved for people who have left; return how many HITs that were."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT id FROM annotate_hit WHERE reserved_for_id = ANY(%s) AND places_open > 0
               ORDER BY id FOR NO KEY UPDATE""",
            [list(annotator_ids)],
        )
        ids = [row[0] for row in cursor.fetchall()]
        cursor.execute(
            "UPDATE annotate_hit SET places_wanted = places_wanted - places_open, places_open = 0 WHERE id = ANY(%s)",
            [ids],
        )
    return len(ids)


def delete_hits(batch: Batch) -> None:
    """Delete the HITs of a batch that was never served; the foreign key of assignments refuses any other batch."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM annotate_item i USING annotate_hit h WHERE h.id = i.hit_id AND h.batch_id = %s", [batch.pk]
        )
        cursor.execute("DELETE FROM annotate_hit WHERE batch_id = %s", [batch.pk])


def _copy(cursor: CursorWrapper, columns: str, rows: Iterable[str]) -> None:
    cursor.copy_expert(f"COPY {columns} FROM STDIN", _Lines(rows))


class _Lines(io.TextIOBase):
    """A file of lines that are made while it is read."""

    def __init__(self, lines: Iterable[str]) -> None:
        super().__init__()
        self._lines = iter(lines)

    def read(self, size: int | None = -1, /) -> str:
        # The driver asks for 8 kB, and takes what it gets: some more, but no line is cut.
        found, n = [], 0
        for line in self._lines:
            found.append(line)
            n += len(line)
            if size is not None and 0 <= size <= n + LONGEST_LINE:
                break
        return "".join(found)
