"""A candidate as people judged it: every rating with its annotator, comment and duration, and the aggregated scores."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, QuerySet

from annotate.frames.criteria_in_use import name_scale
from annotate.frames.stages import default_stage, left_out
from annotate.models import Adjudication, Batch, Judgment, Remark
from annotate.models.assignment import TAKEN_OUT
from measures.columns import UNIT, VALUE
from measures.rubric import has_order
from projects.models import Candidate, Project
from projects.rubric.rubrics import describe_on_page


@dataclass(frozen=True)
class ItemScore:
    """The aggregated score of an item on one criterion and scale, from the judgments that are included.

    Points that are categories without an order have no mean, median and deviation, but a number of ratings each.
    """

    criterion: str
    scale: str
    n: int
    mean: float
    median: float
    sd: float | None
    has_order: bool
    counts: list[tuple[float, str, int]]
    """Each category that was chosen with its name and how often, the most frequent first; empty where the points have
    an order."""
    adjudication: Adjudication | None


@dataclass(frozen=True)
class Rating:
    """The rating of an item by one annotator on one criterion. Removed work of withdrawn annotators is not shown."""

    pk: int
    criterion_key: str
    criterion: str
    scale: str
    pseudonym: str
    kind: str
    value: float | None
    turned: float | None
    """The value, turned round where the criterion is reversed: more is better."""
    has_order: bool
    """Whether the points of the criterion have a mean."""
    label: str
    """The name of the category, if its point has one; empty where the points have an order."""
    is_counted: bool
    why_not: str
    is_blind: bool
    batch: int
    stage: str
    hit: int
    seconds: float | None
    """Active time on the whole item, all criteria together."""
    at: datetime | None
    remark: Remark | None


def find_candidates(project: Project) -> QuerySet[Candidate]:
    """Return the project's candidates, with what an item's page shows of them fetched along."""
    rows = Candidate.objects.in_project(project).select_related("question__passage__dataset", "dataset")
    return rows.prefetch_related("question__references")


def fetch_ratings(
    ids: Sequence[int], *, criteria: Sequence[int] | None = None, batch: Batch | None = None
) -> dict[int, list[Rating]]:
    """Return the ratings of candidates by id, counted or not: by criterion, the lowest first."""
    # An ordinary item may be shown again in another HIT, as the undegraded original of a control. Such a judgment
    # checks the annotator and is no rating of the candidate.
    judgments = Judgment.objects.filter(
        item__candidate__in=ids, item__control="none", assignment__hit=F("item__hit")
    ).exclude(not_counted_reason=TAKEN_OUT)
    if criteria is not None:
        judgments = judgments.filter(criterion__in=criteria)
    if batch is not None:
        judgments = judgments.filter(assignment__hit__batch=batch)
    judgments = judgments.select_related("annotator", "assignment__hit__batch", "criterion")
    found: dict[int, list[Rating]] = {each: [] for each in ids}
    remarks = _fetch_remarks(ids)
    # Lowest first within a criterion, so that the reader sees the spread.
    for judgment in judgments.order_by("criterion__key", "value", "annotator__pseudonym", "pk"):
        assert judgment.candidate_id is not None
        found[judgment.candidate_id].append(_make_rating(judgment, remarks))
    return found


def fetch_scores(project: Project, candidate: Candidate, ratings: Sequence[Rating]) -> list[ItemScore]:
    """Return the aggregated scores of an item in the project's stage, from each annotator's newest counted rating."""
    import pandas as pd

    from measures.gold_scores import gold_scores

    apart = set(Batch.objects.filter(pk__in=left_out(project, default_stage(project))).values_list("number", flat=True))
    # In the order of ids a later rating of the same annotator replaces the earlier one under an older rubric.
    newest = {
        (rating.criterion_key, rating.scale, rating.pseudonym): rating
        for rating in sorted(ratings, key=lambda each: each.pk)
        if rating.is_counted and rating.turned is not None and rating.batch not in apart
    }
    # Scores on different scales are never pooled.
    rows = [((each.criterion_key, each.scale), each.turned) for each in newest.values()]
    figures = gold_scores(pd.DataFrame(rows, columns=[UNIT, VALUE]).astype({VALUE: float})).to_dict("index")
    names = {(rating.criterion_key, rating.scale): rating for rating in ratings}
    # Of categories the values as they were chosen: turned round, they would be other categories.
    chosen = {
        part: Counter(
            (each.value, each.label)
            for each in newest.values()
            if each.value is not None and (each.criterion_key, each.scale) == part
        )
        for part in names
        if not names[part].has_order
    }
    adjudications = {
        (row.criterion.key, name_scale(row.criterion)): row
        for row in Adjudication.objects.filter(candidate=candidate)
        .select_related("criterion", "adjudicator")
        .order_by("pk")
    }
    return [
        ItemScore(
            criterion=names[part].criterion,
            scale=part[1],
            n=figures[part]["n"],
            mean=figures[part]["mean"],
            median=figures[part]["median"],
            sd=figures[part]["sd"] if figures[part]["n"] > 1 else None,
            has_order=names[part].has_order,
            counts=sorted(
                ((value, label, n) for (value, label), n in chosen.get(part, Counter()).items()),
                key=lambda each: (-each[2], each[0]),
            ),
            adjudication=adjudications.get(part),
        )
        for part in sorted(names)
        if part in figures
    ]


def _turn_value(judgment: Judgment) -> float | None:
    criterion = judgment.criterion
    if judgment.value is None or not criterion.is_reversed:
        return judgment.value
    return criterion.low + criterion.high - judgment.value


def _make_rating(judgment: Judgment, remarks: dict[tuple[int, int], Remark]) -> Rating:
    assignment, hit, criterion = judgment.assignment, judgment.assignment.hit, judgment.criterion
    is_ordered = has_order(criterion.level, criterion.low, criterion.high)
    return Rating(
        pk=judgment.pk,
        criterion_key=judgment.criterion.key,
        criterion=judgment.criterion.name,
        scale=name_scale(judgment.criterion),
        pseudonym=judgment.annotator.pseudonym,
        kind=judgment.annotator.kind,
        value=judgment.value,
        turned=_turn_value(judgment),
        has_order=is_ordered,
        label="" if is_ordered else _find_label(judgment),
        is_counted=judgment.is_counted,
        why_not=judgment.not_counted_reason,
        is_blind=not assignment.not_blind,
        batch=hit.batch.number,
        stage=hit.batch.get_kind_display(),
        hit=hit.number,
        seconds=_find_seconds(assignment.layout, assignment.item_seconds, judgment.item_id),
        # Imported judgments have no times of ours.
        at=None if hit.batch.kind == Batch.Kind.IMPORTED else judgment.judged_at or assignment.submitted_at,
        remark=remarks.get((judgment.assignment_id, judgment.item_id)),
    )


def _find_label(judgment: Judgment) -> str:
    points = describe_on_page(judgment.criterion).points
    return next((str(each["label"]) for each in points if each["value"] == judgment.value), "")


def _fetch_remarks(ids: Sequence[int]) -> dict[tuple[int, int], Remark]:
    rows = Remark.objects.filter(item__candidate__in=ids)
    return {(remark.assignment_id, remark.item_id): remark for remark in rows}


def _find_seconds(layout: Sequence[int], seconds: Sequence[float] | None, item_id: int) -> float | None:
    # Seconds are stored in the order of the layout; imported work has neither.
    if not seconds or item_id not in layout or len(seconds) != len(layout):
        return None
    return seconds[layout.index(item_id)]
