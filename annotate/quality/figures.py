"""The figures of each annotator, computed from the data with the pure functions of `measures.quality`."""

from collections.abc import Collection, Iterable, Mapping

import numpy as np
import pandas as pd

from annotate.models import Item
from annotate.quality.evidence import Control, QualityScale, Scores, Text, WorkRecord
from measures.columns import ANNOTATOR, UNIT, VALUE
from measures.grading import Expected, grade
from measures.outcome import Undefined
from measures.patterns import Floats, Ints
from measures.quality.degraded import Degraded, degraded_test
from measures.quality.figures import Figures
from measures.quality.habits import Pace, pace, scale_use
from measures.quality.others import AlphaEffect, Others, against_others, alpha_effects, others_means
from measures.quality.repeats import Repeats, repeats
from measures.quality.shares import Share, compute_share
from measures.quality.texts import FeatureCorrelation, TextFeatures, correlate_with_features, measure_text
from measures.quality.thresholds import Thresholds

POINT_PARTS = 10
"""On a slider, a tenth of the scale counts as one point, much as on a scale of ten points."""


class PreparedScores:
    """All scores of the project, prepared once: others' means, and alpha without each annotator."""

    def __init__(self, scores: Scores, scale: QualityScale) -> None:
        self.scores = scores
        self.scale = scale
        self.plain, self.trusted = others_means(scores.unit, scores.annotator, scores.score)
        frame = pd.DataFrame({UNIT: scores.unit, ANNOTATOR: scores.annotator, VALUE: scores.score})
        self.alpha = alpha_effects(frame, level=scale.level)
        # Rows sorted by annotator, and where each one's begin: a search over all rows for each of thousands of
        # annotators would take quadratic time.
        self._number = {pk: number for number, pk in enumerate(scores.annotators)}
        self._order = np.argsort(scores.annotator, kind="stable")
        self._starts = np.searchsorted(scores.annotator[self._order], np.arange(len(scores.annotators) + 1))

    def find_rows(self, annotator_id: int) -> Ints:
        number = self._number.get(annotator_id)
        if number is None:
            return np.zeros(0, np.int64)
        return self._order[self._starts[number] : self._starts[number + 1]]

    def find_alpha(self, annotator_id: int) -> AlphaEffect | Undefined:
        number = self._number.get(annotator_id)
        return Undefined(reason="nothing rated yet") if number is None else self.alpha[number]

    def find_candidates(self, annotator_ids: Iterable[int]) -> set[int]:
        return {
            int(pk) for each in annotator_ids for pk in self.scores.candidates[self.scores.unit[self.find_rows(each)]]
        }


def compute_figures(
    annotator_id: int, comparison: PreparedScores, record: WorkRecord, texts: dict[int, Text], thresholds: Thresholds
) -> Figures:
    """Return all figures of one annotator."""
    scores, scale = comparison.scores, comparison.scale
    rows = _sort_by_submission(comparison.find_rows(annotator_id), scores, record)
    own = scores.score[rows]
    candidates = scores.candidates[scores.unit[rows]]
    # Lengths and word overlap are computed once for both indicators that use them.
    features = [measure_text(texts[int(pk)].candidate, texts[int(pk)].references) for pk in candidates]
    # First scores replace revised ones here, so that no revision of an original makes a check pass.
    by_candidate = dict(zip(candidates.tolist(), own.tolist(), strict=True)) | record.first_scores
    taken = record.n_submitted + record.n_returned
    return Figures(
        n_judged=len(rows),
        known_answers=_compute_known_answers(record.controls, scale.keys),
        repeats=_compute_repeats(record.controls, by_candidate, scale),
        degraded=_test_degraded(record.controls, by_candidate, own, thresholds),
        others=against_others(own, comparison.plain[rows], comparison.trusted[rows], groups=scores.passage[rows]),
        alpha=comparison.find_alpha(annotator_id),
        scale=scale_use(own, low=scale.low, high=scale.high, is_slider=scale.is_slider),
        pace=_compute_pace(rows, scores, record, texts),
        overlap=correlate_with_features(own, {"overlap": np.array([each.overlap for each in features])}),
        length=_correlate_with_length(own, features),
        returned=compute_share(record.n_returned, taken, nothing="no HIT taken yet"),
        poor=_compute_poor(record),
        reviewers=_compare_with_reviewers(record),
    )


def _sort_by_submission(rows: Ints, scores: Scores, record: WorkRecord) -> Ints:
    """Return the rows in the order of submission, then in the order in which the page showed the items."""
    place = {
        (assignment.assignment_id, item): (number, shown)
        for number, assignment in enumerate(record.assignments)
        for shown, item in enumerate(assignment.layout)
    }
    last = (len(record.assignments), 0)
    keys = [place.get((int(scores.assignment[row]), int(scores.item[row])), last) for row in rows]
    return rows[sorted(range(len(rows)), key=keys.__getitem__)] if len(rows) else rows


def _compute_known_answers(controls: Iterable[Control], keys: Collection[str]) -> Share | Undefined:
    # A control made when other criteria were used for quality has no range for today's, so it can't be graded.
    known = [
        each for each in controls if each.kind == Item.Control.KNOWN_ANSWER and set(each.expected or ()) & set(keys)
    ]
    n_correct = sum(_is_correct(each, keys) for each in known)
    return compute_share(n_correct, len(known), nothing="no known-answer item rated yet")


def _is_correct(control: Control, keys: Collection[str]) -> bool:
    ranges = {key: (low, high) for key, (low, high) in (control.expected or {}).items() if key in keys}
    return grade([control.answers], [Expected(ranges=ranges)], list(ranges)).is_right[0]


def _pair_with_originals(
    controls: Iterable[Control], kind: str, by_candidate: Mapping[int, float | None]
) -> tuple[Floats, Floats]:
    """Return the scores of the controls of a kind, and the annotator's scores of their originals.

    The original is a control itself (a reference shown as an item) or an ordinary item, found by its candidate.
    """
    everything = list(controls)
    by_item = {each.item_id: each.score for each in everything if each.score is not None}
    pairs = []
    for each in everything:
        if each.kind != kind or each.made_from_id is None:
            continue
        source = by_item.get(each.made_from_id)
        if source is None and each.made_from_candidate_id is not None:
            source = by_candidate.get(each.made_from_candidate_id)
        if source is not None and each.score is not None:
            pairs.append((each.score, source))
    table = np.array(pairs, np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _compute_repeats(
    controls: list[Control], by_candidate: Mapping[int, float | None], scale: QualityScale
) -> Repeats | Undefined:
    again, first = _pair_with_originals(controls, Item.Control.REPEAT, by_candidate)
    return repeats(first, again, point=scale.span / POINT_PARTS if scale.is_slider else 1.0)


def _test_degraded(
    controls: list[Control], by_candidate: Mapping[int, float | None], own: Floats, thresholds: Thresholds
) -> Degraded | Undefined:
    degraded, source = _pair_with_originals(controls, Item.Control.DEGRADED, by_candidate)
    return degraded_test(degraded, source, test=thresholds.degraded_test, ordinary=own, level=thresholds.degraded_level)


def _compute_pace(rows: Ints, scores: Scores, record: WorkRecord, texts: dict[int, Text]) -> Pace | Undefined:
    taken = {
        (assignment.assignment_id, item): (seconds, len(assignment.layout))
        for assignment in record.assignments
        if assignment.seconds
        for item, seconds in zip(assignment.layout, assignment.seconds, strict=True)
    }
    found = []
    for row in rows:
        # NaN marks an item without a time, which the median leaves out.
        seconds, n_items = taken.get((int(scores.assignment[row]), int(scores.item[row])), (np.nan, 1))
        text = texts[int(scores.candidates[scores.unit[row]])]
        found.append((seconds, len(text.candidate), text.n_to_read(n_items)))
    table = np.array(found, np.float64).reshape(-1, 3)
    return pace(table[:, 0], table[:, 1], table[:, 2])


def _correlate_with_length(own: Floats, features: list[TextFeatures]) -> FeatureCorrelation | Undefined:
    names = ("length", "nearness", "first_length", "first_nearness")
    return correlate_with_features(own, {name: np.array([getattr(each, name) for each in features]) for name in names})


def _compute_poor(record: WorkRecord) -> Share | Undefined:
    return compute_share(sum(record.verdicts), len(record.verdicts), nothing="no item reviewed yet")


def _compare_with_reviewers(record: WorkRecord) -> Others | Undefined:
    if not record.reviewed:
        return Undefined(reason="no item reviewed yet")
    table = np.array(record.reviewed, np.float64)
    return against_others(table[:, 0], table[:, 1])
