"""What the tests of serving and judging share: an open batch, an answered form, the equation of places."""

from itertools import count
from typing import Any

from django.db import connection

from annotate.models import Assignment, Batch, Hit, Item
from annotate.models.batch import ROUND
from annotate.rating.sent import SentAnswers
from projects.models import Candidate, Project
from projects.rubric import rubrics
from tests.factories import make_candidates_of_each, make_dataset, make_questions

_numbers = count(1)


def open_batch(project: Project, *, n_hits: int = 2, n_items: int = 3, judgments: int = 1, **over: Any) -> Batch:
    """An open batch of HITs with one passage and one question each."""
    rubric = rubrics.current_rubric(project)
    assert rubric is not None
    rubrics.freeze(rubric)
    taken = set(project.batches.values_list("number", flat=True))
    number = next(number for number in _numbers if number not in taken)
    batch = Batch.objects.create(
        project=project,
        number=number,
        name=f"Batch {number}",
        state=over.pop("state", Batch.State.OPEN),
        judgments=judgments,
        rubric=rubric,
        n_hits=n_hits,
        **over,
    )
    questions = make_questions(make_dataset(project), n_hits)
    candidates = make_candidates_of_each(questions, n_items)
    _add_hits(batch, [candidates[n * n_items : (n + 1) * n_items] for n in range(n_hits)])
    return batch


def add_hit(batch: Batch, candidates: list[Candidate], position: int) -> Hit:
    return _add_hits(batch, [candidates], position)[0]


def _add_hits(batch: Batch, candidates: list[list[Candidate]], first: int = 0) -> list[Hit]:
    hits = Hit.objects.bulk_create(
        Hit(
            batch=batch,
            passage=each[0].question.passage,
            number=position + 1,
            queue_key=batch.first_queue_key(position),
            places_wanted=batch.judgments,
            places_open=batch.judgments,
        )
        for position, each in enumerate(candidates, start=first)
    )
    Item.objects.bulk_create(
        Item(hit=hit, question=candidate.question, candidate=candidate, position=place)
        for hit, each in zip(hits, candidates, strict=True)
        for place, candidate in enumerate(each)
    )
    return hits


def answered(n_items: int = 3, value: float = 4, **over: Any) -> SentAnswers:
    """A form with one value for every item."""
    return SentAnswers(values={place: {"correctness": value} for place in range(n_items)}, **over)


def assert_equation() -> None:
    """Every HIT's counters say what its assignments say, and its queue key how many places were taken."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT h.id, h.places_wanted, h.places_open, h.places_done,
                      count(a.id) FILTER (WHERE a.holds_place)
                      + (SELECT count(*) FROM annotate_reservation r WHERE r.hit_id = h.id),
                      count(a.id) FILTER (WHERE a.holds_place AND a.state IN ('submitted', 'approved')),
                      CASE WHEN b.kind <> 'imported' THEN h.queue_key / %s %% 1024 END
               FROM annotate_hit h JOIN annotate_batch b ON b.id = h.batch_id
               LEFT JOIN annotate_assignment a ON a.hit_id = h.id GROUP BY h.id, b.kind""",
            [ROUND],
        )
        for hit, wanted, n_open, done, held, finished, rounds in cursor.fetchall():
            assert wanted == n_open + held, f"HIT {hit}: {wanted} wanted, {n_open} open, {held} held"
            assert done == finished, f"HIT {hit}: {done} done, {finished} finished"
            # Nobody is served an imported HIT, so its queue key counts nothing.
            assert rounds in (held, None), f"HIT {hit}: {rounds} rounds, {held} held"


def fetch(uuid: Any) -> Assignment:
    return Assignment.objects.get(uuid=uuid)
