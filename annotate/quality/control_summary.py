"""How many annotators and HITs passed quality control, of all: the table that a report on a collection needs."""

from collections import Counter
from dataclasses import dataclass

import orjson
from django.db import connection

from annotate.models import AnnotatorFigures, Item
from annotate.models.conditions import is_identified, is_left_in, was_submitted
from annotate.quality.evidence import find_quality_scale
from annotate.quality.figure_formats import VERDICTS
from annotate.quality.monitoring import read_thresholds
from measures.grading import Expected, grade
from measures.quality.degraded import DegradedTest, Verdict
from projects.models import Project

NO_PAIRS = "none"
"""The outcome of annotators who have rated no degraded answer together with its original."""
_LABELS = {**VERDICTS, NO_PAIRS: "no degraded answers rated"}

_SUBMITTED = f"""
SELECT a.annotator_id, count(*) FROM annotate_assignment a
JOIN projects_membership m ON m.id = a.annotator_id
WHERE a.annotator_id = ANY(%s) AND {is_identified("m")} AND {was_submitted("a")} GROUP BY 1
"""

# The ratings of known answers, by HIT and annotator, also those of removed annotators and of rejected HITs: without
# these, nearly everybody left would have passed. Not those that were set aside because the control was wrong. They were
# never revised: judgments of controls keep their first value.
_KNOWN = f"""
SELECT j.annotator_id, j.assignment_id, jsonb_object_agg(cr.key, j.value), i.expected
FROM (
    -- Two parts, as there is an index of the counted judgments of an annotator, and one of those that don't count.
    SELECT j.* FROM annotate_judgment j
    WHERE j.criterion_id = ANY(%(criteria)s) AND j.candidate_id IS NULL AND j.is_counted
    UNION ALL SELECT j.* FROM annotate_judgment j
    WHERE j.criterion_id = ANY(%(criteria)s) AND j.candidate_id IS NULL AND NOT j.is_counted
      AND j.not_counted_reason <> 'set aside' AND {is_left_in("j")}) j
JOIN projects_criterion cr ON cr.id = j.criterion_id
JOIN annotate_item i ON i.id = j.item_id AND i.control = '{Item.Control.KNOWN_ANSWER}'
JOIN projects_membership m ON m.id = j.annotator_id
WHERE m.project_id = %(project)s AND {is_identified("m")}
GROUP BY j.annotator_id, j.assignment_id, i.id
"""


@dataclass(frozen=True)
class OutcomeLine:
    """The annotators with one outcome of the degraded test, and the HITs that they submitted."""

    outcome: str
    n_annotators: int
    n_hits: int

    @property
    def label(self) -> str:
        return _LABELS[self.outcome]


@dataclass(frozen=True, kw_only=True)
class KnownAnswers:
    """Ratings of known answers, HITs that had any, and annotators who rated any: how many are correct, of all."""

    n_ratings: int
    n_correct: int
    n_hits: int
    n_hits_all_correct: int
    n_annotators: int
    n_annotators_good: int
    good_share: float


@dataclass(frozen=True)
class ControlSummary:
    """Outcomes of quality control over all annotators who have submitted a HIT."""

    test: DegradedTest
    lines: list[OutcomeLine]
    known: KnownAnswers

    @property
    def n_annotators(self) -> int:
        return sum(line.n_annotators for line in self.lines)

    @property
    def n_hits(self) -> int:
        return sum(line.n_hits for line in self.lines)


def summarise_controls(project: Project) -> ControlSummary:
    """Return how many annotators and HITs passed the degraded test and the known answers.

    A HIT passes the degraded test with its annotator, as in QAScore. Verdicts are those of the stored figures.
    """
    thresholds = read_thresholds(project)
    members = project.find_ids().members
    with connection.cursor() as cursor:
        cursor.execute(_SUBMITTED, [members])
        n_submitted: dict[int, int] = dict(cursor.fetchall())
    verdicts = dict(
        AnnotatorFigures.objects.filter(annotator__in=n_submitted).values_list("pk", "figures__degraded__verdict")
    )
    annotators: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    for annotator, n in n_submitted.items():
        outcome = verdicts.get(annotator) or NO_PAIRS
        annotators[outcome] += 1
        hits[outcome] += n
    outcomes = (*(each.value for each in Verdict), NO_PAIRS)
    lines = [OutcomeLine(outcome, annotators[outcome], hits[outcome]) for outcome in outcomes]
    return ControlSummary(thresholds.degraded_test, lines, _summarise_known(project, thresholds.known_good))


def _summarise_known(project: Project, good_share: float) -> KnownAnswers:
    scale = find_quality_scale(project)
    hits: Counter[tuple[int, bool]] = Counter()
    annotators: Counter[tuple[int, bool]] = Counter()
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN, {"project": project.pk, "criteria": list(scale.ids) if scale else []})
        for annotator, assignment, answers, expected in cursor.fetchall():
            ranges = {key: (low, high) for key, (low, high) in (orjson.loads(expected or "{}") or {}).items()}
            keys = [key for key in ranges if scale and key in scale.keys]
            # A control made when other criteria were used for quality can't be graded.
            if not keys:
                continue
            is_right = grade([orjson.loads(answers)], [Expected(ranges=ranges)], keys).is_right[0]
            hits[assignment, is_right] += 1
            annotators[annotator, is_right] += 1
    of_hits, of_annotators = ({pk for pk, _ in each} for each in (hits, annotators))
    return KnownAnswers(
        n_ratings=hits.total(),
        n_correct=sum(n for (_, is_right), n in hits.items() if is_right),
        n_hits=len(of_hits),
        n_hits_all_correct=sum(not hits[pk, False] for pk in of_hits),
        n_annotators=len(of_annotators),
        n_annotators_good=sum(
            annotators[pk, True] >= good_share * (annotators[pk, True] + annotators[pk, False]) for pk in of_annotators
        ),
        good_share=good_share,
    )
