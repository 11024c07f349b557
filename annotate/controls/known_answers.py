"""Known answers: texts whose correct score is known, with the range of scores that counts as correct."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connection

from annotate.models import Batch, Item
from annotate.models.conditions import is_collected, is_counted, is_judgeable, is_work
from measures.token_overlap import token_f1
from projects.models import Criterion

TOP_SHARE = 0.75
"""The correct scores of a reference begin at this share of the scale: at 4 of 1 to 5."""
BOTTOM_SHARE = 0.2
"""On a slider, the correct scores of a wrong answer end at this share; on points, only the lowest is correct."""
SLACK_SHARE = 0.25
"""How far from a known score a rating is still correct, as a share of the scale: 1 point of 1 to 5."""
UNLIKE_F1 = 0.5
"""Another question's reference is a wrong answer if its token F1 with every reference is below this."""
MOST_PASSAGES = 200
"""Passages from which whole HITs of rated candidates are made; no annotator gets anywhere near as many."""
# Adding or removing one of these leaves the meaning of an English answer as it is.
_ARTICLES = ("the ", "a ", "an ")

Ranges = dict[str, list[float]]
Recipe = Item.Recipe

_IS_NOT_SERVED = f"""NOT EXISTS (
    SELECT 1 FROM annotate_item i JOIN annotate_hit h ON h.id = i.hit_id AND {is_work("h")}
    WHERE i.candidate_id = c.id AND (h.batch_id = %(batch)s OR h.places_open > 0))"""
"""Candidates that annotators of the batch have not had, and could not still get, as ordinary items."""


@dataclass(frozen=True)
class Known:
    """A known answer to a question: its recipe, the text shown, and the ranges of correct scores."""

    question_id: int
    recipe: str
    text: str
    expected: Ranges
    candidate_id: int | None = None


def find_control_criteria(batch: Batch) -> list[Criterion]:
    """Return the criteria used to check annotators, or all of them if the rubric marks none.

    Categories without an order are left out, also if the rubric marks no other one: which category an answer as good as
    a reference deserves is not known.
    """
    criteria = list(batch.rubric.criteria.order_by("position"))
    chosen = [criterion for criterion in criteria if criterion.used_for_quality] or criteria
    return [criterion for criterion in chosen if criterion.has_order]


def high_range(criteria: Sequence[Criterion]) -> Ranges:
    """Return the correct scores of an answer as good as a reference."""
    return {c.key: _make_range(c, TOP_SHARE, 1.0) for c in criteria}


def low_range(criteria: Sequence[Criterion]) -> Ranges:
    """Return the correct scores of an answer that has nothing to do with the question, on the first criterion.

    What it deserves on the others is not known: a wrong answer may well be fluent.
    """
    first = criteria[0]
    return {first.key: _make_range(first, 0.0, 0.0 if first.kind == Criterion.Kind.ORDINAL else BOTTOM_SHARE)}


def range_around(criteria: Sequence[Criterion], scores: dict[str, float]) -> Ranges:
    """Return the scores near known ones. Stored scores of reversed criteria are already as annotators give them."""
    ranges = {}
    for criterion in criteria:
        slack = SLACK_SHARE * (criterion.high - criterion.low)
        score = scores[criterion.key]
        ranges[criterion.key] = [max(criterion.low, score - slack), min(criterion.high, score + slack)]
    return ranges


def _make_range(criterion: Criterion, low: float, high: float) -> list[float]:
    # On a reversed criterion the best answer has the lowest score, so the range is mirrored at the middle of the scale.
    span = criterion.high - criterion.low
    ends = [criterion.low + low * span, criterion.low + high * span]
    return [criterion.low + criterion.high - end for end in reversed(ends)] if criterion.is_reversed else ends


def find_known_answers(
    references: dict[int, list[str]], elsewhere: Sequence[str], criteria: Sequence[Criterion]
) -> tuple[list[Known], list[Known]]:
    """Return the good and the wrong known answers of a passage; wrong ones come from its own questions if possible.

    `references` are those of the passage's questions, by question; `elsewhere` are references of other passages. A
    wrong answer from the same passage is the better control, because only someone who reads notices it.
    """
    right: list[Known] = []
    own: list[Known] = []
    foreign: list[Known] = []
    for question_id, texts in references.items():
        for text in texts:
            right.append(Known(question_id, Recipe.REFERENCE, text, high_range(criteria)))
            if edited := _edit(text):
                right.append(Known(question_id, Recipe.EDITED_REFERENCE, edited, high_range(criteria)))
        others = [text for other, found in references.items() if other != question_id for text in found]
        # Both lists are filled, although those from elsewhere are used only if the passage has none of its own: a text
        # that resembles a reference of this question may be right.
        for found, pool in ((own, others), (foreign, elsewhere)):
            found += [
                Known(question_id, Recipe.OTHER_REFERENCE, text, low_range(criteria))
                for text in pool
                if text.strip() and all(token_f1(text, mine) < UNLIKE_F1 for mine in texts)
            ]
    return right, own or foreign


def _edit(text: str) -> str:
    """Return the reference with an article or a full stop added or removed, or an empty text.

    It says the same in another text, so that a page can show it beside the reference.
    """
    words = text.strip()
    for article in _ARTICLES:
        if words.lower().startswith(article) and len(words) > len(article):
            rest = words[len(article) :]
            return rest[0].upper() + rest[1:] if words[0].isupper() else rest
    if words.endswith("."):
        return words[:-1]
    return f"{words}." if words and words[-1].isalnum() else ""


# Candidates with a known score on every criterion used for checking, by passage. Only judgments on comparable criteria
# count. One judgment of our own is too little to call a score known; one imported judgment is enough, since it is
# usually a published gold score.
#
# Sorting by a hash gives a random order that follows from the seed.
_SCORED = f"""
WITH scored AS (
    SELECT j.candidate_id, cr.key, avg(j.value) AS score
    FROM annotate_judgment j
    JOIN projects_criterion cr ON cr.id = j.criterion_id
    JOIN annotate_assignment a ON a.id = j.assignment_id
    JOIN annotate_hit h ON h.id = a.hit_id
    JOIN annotate_batch b ON b.id = h.batch_id AND b.project_id = %(project)s
    WHERE {is_counted("j")} AND j.value IS NOT NULL AND j.criterion_id = ANY(%(comparable)s)
    GROUP BY j.candidate_id, cr.key
    HAVING count(*) >= 2 OR bool_or(NOT {is_collected("b")})),
whole AS (
    SELECT candidate_id, jsonb_object_agg(key, score) AS scores FROM scored
    GROUP BY candidate_id HAVING count(*) = cardinality(%(keys)s::text[]))
SELECT q.passage_id, c.id, c.question_id, c.text, w.scores
FROM whole w
JOIN projects_candidate c ON c.id = w.candidate_id AND btrim(c.text) <> ''
JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id AND {is_judgeable("c", "p")}
WHERE NOT EXISTS (SELECT 1 FROM projects_minimalpair mp WHERE c.id IN (mp.candidate_1_id, mp.candidate_2_id))
  AND {_IS_NOT_SERVED}
ORDER BY md5(%(seed)s || '-' || q.passage_id), q.passage_id, md5(%(seed)s || '-' || c.id), c.id
"""


def list_scored_candidates(batch: Batch, criteria: Sequence[Criterion], seed: int) -> Iterator[tuple[int, Known]]:
    """Yield candidates with a known score (judged at least twice, or imported) and their passage, in a seeded order.

    Excluded are candidates of this batch and those that someone may still be served, because no one gets a candidate
    twice; and minimal pairs, because their difference is what is being studied.
    """
    parameters: dict[str, Any] = {
        "keys": [criterion.key for criterion in criteria],
        "comparable": list(
            Criterion.objects.comparable_to([each.pk for each in criteria]).values_list("pk", flat=True)
        ),
        "project": batch.project_id,
        "batch": batch.pk,
        "seed": str(seed),
    }
    with connection.cursor() as cursor:
        cursor.execute(_SCORED, parameters)
        rows = cursor.fetchall()
    # As many of a passage as fill one HIT, in the seeded order.
    n_by_passage: dict[int, int] = {}
    for passage_id, candidate_id, question_id, text, scores in rows:
        n_by_passage[passage_id] = n_by_passage.get(passage_id, 0) + 1
        if len(n_by_passage) > MOST_PASSAGES:
            return
        if n_by_passage[passage_id] <= batch.hit_size:
            known = Known(
                question_id, Recipe.KNOWN_CANDIDATE, text, range_around(criteria, orjson.loads(scores)), candidate_id
            )
            yield passage_id, known


# The conditions of the statement above that may have changed since it was executed.
_STILL_FREE = f"""
SELECT c.id FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id AND {is_judgeable("c", "p")}
WHERE c.id = ANY(%(candidates)s) AND {_IS_NOT_SERVED}
"""


def drop_taken(batch: Batch, known: Sequence[Known]) -> list[Known]:
    """Return the rated candidates without those that have been withdrawn or put in a batch since they were listed."""
    candidates = [each.candidate_id for each in known]
    with connection.cursor() as cursor:
        cursor.execute(_STILL_FREE, {"batch": batch.pk, "candidates": candidates})
        free = {pk for (pk,) in cursor.fetchall()}
    return [each for each in known if each.candidate_id in free]
