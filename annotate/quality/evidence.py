"""The data behind the indicators of annotators: scores, controls, times, spot checks and texts of a project.

There is one score per annotator and candidate: the mean over the criteria used for quality, with reversed criteria
inverted, in points if the criteria share one scale and as a share of the scale otherwise. Judgments that don't count
are left out; controls are read separately.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
from django.db import connection

from annotate.models.conditions import is_counted, is_identified, is_item, was_finished
from measures.patterns import Floats, Ints
from measures.rubric import Level, ScaleKind
from projects.models import Criterion, Membership, Project


@dataclass(frozen=True)
class QualityScale:
    """The criteria used for quality, and the scale of the scores over them."""

    ids: tuple[int, ...]
    keys: frozenset[str]
    low: float
    high: float
    is_slider: bool
    level: str

    @property
    def span(self) -> float:
        return self.high - self.low


@dataclass(frozen=True)
class Scores:
    """Every annotator's score of every candidate, as parallel arrays; annotators and candidates are numbered from 0."""

    annotator: Ints
    unit: Ints
    score: Floats
    assignment: Ints
    item: Ints
    passage: Ints
    annotators: list[int]
    candidates: Ints


@dataclass(frozen=True)
class Control:
    """One control that an annotator has rated."""

    kind: str
    item_id: int
    score: float | None
    answers: dict[str, float | None]
    expected: dict[str, list[float]] | None
    made_from_id: int | None
    made_from_candidate_id: int | None


@dataclass(frozen=True)
class TimedAssignment:
    """A submitted assignment: its items in the order shown, and the seconds spent on each if they are known."""

    assignment_id: int
    layout: list[int]
    seconds: list[float] | None


@dataclass(frozen=True)
class Text:
    """A candidate's text, its references, and the length of its question and passage."""

    candidate: str
    references: list[str]
    n_question: int
    n_passage: int
    shows_references: bool = True

    def n_to_read(self, n_items: int) -> float:
        """Return the characters to read for this item; the passage is read once for all items of the HIT."""
        own = len(self.candidate) + self.n_question
        if self.shows_references:
            own += sum(map(len, self.references))
        return own + self.n_passage / max(1, n_items)


@dataclass
class WorkRecord:
    """One annotator's work besides the scores; `first_scores` has the original scores of revised candidates."""

    assignments: list[TimedAssignment] = field(default_factory=list)
    n_submitted: int = 0
    n_returned: int = 0
    controls: list[Control] = field(default_factory=list)
    first_scores: dict[int, float | None] = field(default_factory=dict)
    verdicts: list[bool] = field(default_factory=list)
    reviewed: list[tuple[float, float]] = field(default_factory=list)


def find_quality_scale(project: Project) -> QualityScale | None:
    """Return the criteria used for quality over all rubrics of the project's batches, or None if there is none.

    Categories without an order are none of them: they have no mean, and lie no distance apart.
    """
    found = Criterion.objects.filter(rubric__project=project, rubric__batches__isnull=False, used_for_quality=True)
    criteria = [each for each in found.distinct() if each.has_order]
    if not criteria:
        return None
    # Criteria on different scales have no common points, so their mean is taken of shares from 0 to 1.
    scales = {(each.low, each.high, each.kind) for each in criteria}
    low, high, kind = scales.pop() if len(scales) == 1 else (0, 1, ScaleKind.CONTINUOUS)
    keys = frozenset(each.key for each in criteria)
    # The mean of several criteria is no point of an ordinal scale any more, so its distances are those of an interval.
    level = criteria[0].level if len(keys) == 1 else Level.INTERVAL
    return QualityScale(
        tuple(each.pk for each in criteria), keys, float(low), float(high), kind == ScaleKind.CONTINUOUS, str(level)
    )


_SHARE = """(CASE WHEN cr.is_reversed THEN cr.high - j.value ELSE j.value - cr.low END) / (cr.high - cr.low)"""

# Controls have no candidate, so the join with candidates leaves them out. max() picks one assignment and item: there is
# only one, because an annotator has at most one counted judgment of a candidate on a criterion.
_SCORES = f"""
SELECT j.annotator_id, j.candidate_id, avg({_SHARE}), max(j.assignment_id), max(j.item_id), max(q.passage_id)
FROM annotate_judgment j
JOIN projects_criterion cr ON cr.id = j.criterion_id
JOIN projects_membership m ON m.id = j.annotator_id AND {is_identified("m")}
JOIN projects_candidate c ON c.id = j.candidate_id AND c.withdrawn_at IS NULL
JOIN projects_question q ON q.id = c.question_id
WHERE j.criterion_id = ANY(%(criteria)s) AND {is_counted("j")} AND j.value IS NOT NULL
GROUP BY j.annotator_id, j.candidate_id
"""


def fetch_scores(scale: QualityScale) -> Scores:
    """Return every score in the project, with one statement: each annotator is compared with all others."""
    with connection.cursor() as cursor:
        # The GROUP BY over every judgment of a project spills to disk with the default work_mem, and compiling the
        # statement takes longer than running it. `true` limits both settings to this transaction.
        cursor.execute("SELECT set_config('work_mem', '64MB', true), set_config('jit', 'off', true)")
        cursor.execute(_SCORES, {"criteria": list(scale.ids)})
        table = np.array(cursor.fetchall(), dtype=np.float64).reshape(-1, 6)
    annotators, annotator = np.unique(table[:, 0], return_inverse=True)
    candidates, unit = np.unique(table[:, 1], return_inverse=True)
    return Scores(
        annotator=annotator.astype(np.int64),
        unit=unit.astype(np.int64),
        score=_convert_to_scores(table[:, 2], scale),
        assignment=table[:, 3].astype(np.int64),
        item=table[:, 4].astype(np.int64),
        passage=table[:, 5].astype(np.int64),
        annotators=[int(pk) for pk in annotators],
        candidates=candidates.astype(np.int64),
    )


# All finished assignments in the order of submission, in which runs of equal scores are counted. Implausible times are
# dropped. Where only the total is known, it is spread evenly over the items. Returned ones are read too, because their
# share is an indicator.
_ASSIGNMENTS = f"""
SELECT a.annotator_id, a.id, a.layout,
       CASE WHEN a.has_odd_times THEN NULL
            WHEN cardinality(a.item_seconds) = cardinality(a.layout) THEN a.item_seconds
            WHEN a.active_seconds IS NOT NULL AND cardinality(a.layout) > 0
            THEN array_fill(a.active_seconds / cardinality(a.layout), ARRAY[cardinality(a.layout)]) END,
       a.state = 'returned'
FROM annotate_assignment a
WHERE a.annotator_id = ANY(%(annotators)s) AND {was_finished("a")}
ORDER BY a.annotator_id, a.submitted_at, a.id
"""

# Each control that was rated, with its score, its answers by criterion, and what it was made from. Controls have no
# candidate; one that is a repeat or was degraded names the item it was made from, which may be an ordinary item (found
# by its candidate) or another control (found by its item).
_CONTROLS = f"""
SELECT j.annotator_id, i.control, i.id, avg({_SHARE}) FILTER (WHERE j.value IS NOT NULL),
       jsonb_object_agg(cr.key, j.value), i.expected, i.made_from_id, source.candidate_id
FROM annotate_judgment j
JOIN projects_criterion cr ON cr.id = j.criterion_id
JOIN annotate_item i ON i.id = j.item_id
LEFT JOIN annotate_item source ON source.id = i.made_from_id
WHERE j.annotator_id = ANY(%(annotators)s) AND j.candidate_id IS NULL AND j.is_counted
  AND j.criterion_id = ANY(%(criteria)s) AND NOT {is_item("i")}
GROUP BY j.annotator_id, j.assignment_id, i.id, source.candidate_id
ORDER BY j.annotator_id, j.assignment_id, i.id
"""

# The first scores of revised candidates, by which repeats and degraded answers are compared with their originals: with
# the newest, an annotator could make a check pass by revising the original. A judgment that was never revised has no
# versions, so its value is its first; HAVING keeps the candidates with a revised criterion.
_FIRST = f"""
SELECT j.annotator_id, j.candidate_id, avg({_SHARE.replace("j.value", "first.value")})
FROM annotate_judgment j
JOIN projects_criterion cr ON cr.id = j.criterion_id
LEFT JOIN annotate_judgmentrevision v ON v.judgment_id = j.id AND v.n = 0
CROSS JOIN LATERAL (SELECT CASE WHEN v.id IS NULL THEN j.value ELSE v.value END AS value) first
WHERE j.annotator_id = ANY(%(annotators)s) AND {is_counted("j")}
  AND j.criterion_id = ANY(%(criteria)s)
GROUP BY j.annotator_id, j.candidate_id HAVING count(v.id) > 0
"""

# Each verdict with the annotator's and the reviewer's own score of the item. The reviewer's ratings are JSON by item
# and criterion, since they are not judgments and must never be counted as such.
_REVIEWS = f"""
SELECT a.annotator_id, v.is_poor, own.score, (
    SELECT avg((CASE WHEN cr.is_reversed THEN cr.high - rating.value::float8 ELSE rating.value::float8 - cr.low END)
               / (cr.high - cr.low))
    FROM jsonb_each_text(r.answers -> v.item_id::text) rating
    JOIN projects_criterion cr ON cr.key = rating.key AND cr.rubric_id = b.rubric_id AND cr.id = ANY(%(criteria)s))
FROM annotate_review r
JOIN annotate_assignment a ON a.id = r.assignment_id
JOIN annotate_hit h ON h.id = a.hit_id
JOIN annotate_batch b ON b.id = h.batch_id
JOIN annotate_reviewverdict v ON v.review_id = r.id
LEFT JOIN LATERAL (
    SELECT avg({_SHARE}) AS score FROM annotate_judgment j JOIN projects_criterion cr ON cr.id = j.criterion_id
    WHERE j.assignment_id = a.id AND j.item_id = v.item_id AND cr.id = ANY(%(criteria)s) AND j.value IS NOT NULL
      AND j.is_counted) own ON true
WHERE r.state = 'done' AND a.annotator_id = ANY(%(annotators)s)
ORDER BY a.annotator_id, v.id
"""


def fetch_work_records(annotators: Sequence[Membership], scale: QualityScale) -> dict[int, WorkRecord]:
    """Return the submitted assignments, controls and spot checks of these annotators, by membership id."""
    parameters = {"annotators": [each.pk for each in annotators], "criteria": list(scale.ids)}
    records = {each.pk: WorkRecord() for each in annotators}
    with connection.cursor() as cursor:
        cursor.execute(_ASSIGNMENTS, parameters)
        for annotator, assignment, layout, seconds, is_returned in cursor:
            if is_returned:
                records[annotator].n_returned += 1
            else:
                records[annotator].n_submitted += 1
                records[annotator].assignments.append(TimedAssignment(assignment, layout, seconds))
        cursor.execute(_CONTROLS, parameters)
        for annotator, kind, item, share, answers, expected, source, candidate in cursor:
            control = Control(
                kind,
                item,
                _convert_to_score(share, scale),
                _read_json(answers),
                _read_json(expected),
                source,
                candidate,
            )
            records[annotator].controls.append(control)
        cursor.execute(_FIRST, parameters)
        for annotator, candidate, share in cursor:
            records[annotator].first_scores[candidate] = _convert_to_score(share, scale)
        cursor.execute(_REVIEWS, parameters)
        for annotator, is_poor, own, reviewer in cursor:
            records[annotator].verdicts.append(is_poor)
            # Items that either of them marked as impossible to judge have a verdict, but no pair of scores.
            if own is not None and reviewer is not None:
                scores = _convert_to_score(own, scale), _convert_to_score(reviewer, scale)
                records[annotator].reviewed.append(scores)  # type: ignore[arg-type]
    return records


# What has to be read for each candidate. Passages with several documents keep them as JSON besides their text; the CASE
# guards jsonb_array_elements, which raises an error for anything but an array.
_TEXTS = """
SELECT c.id, c.text, length(q.text), (SELECT array_agg(r.text ORDER BY r.position)
                                      FROM projects_reference r WHERE r.question_id = q.id),
       length(p.text) + coalesce((SELECT sum(length(d ->> 'text')) FROM jsonb_array_elements(
           CASE jsonb_typeof(p.documents) WHEN 'array' THEN p.documents END) d), 0), NOT pr.hides_references
FROM projects_candidate c
JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id
JOIN projects_dataset d ON d.id = p.dataset_id
JOIN projects_project pr ON pr.id = d.project_id
WHERE c.id = ANY(%s)
"""


def fetch_texts(candidates: Sequence[int]) -> dict[int, Text]:
    """Return the texts of these candidates by id."""
    with connection.cursor() as cursor:
        cursor.execute(_TEXTS, [list(candidates)])
        return {row[0]: Text(row[1], row[3] or [], row[2], int(row[4] or 0), row[5]) for row in cursor}


def _convert_to_score(share: float | None, scale: QualityScale) -> float | None:
    return None if share is None else float(_convert_to_scores(np.array(share, np.float64), scale))


def _convert_to_scores(shares: Floats, scale: QualityScale) -> Floats:
    """Return shares of the scale as scores on it; rounded, as 100 * 0.29 is a little less than 29."""
    return np.round(scale.low + scale.span * shares, 12)


def _read_json(value: Any) -> Any:
    # Django has psycopg2 return jsonb as text, because JSONField parses it. A NULL is None.
    return orjson.loads(value) if isinstance(value, str) else value
