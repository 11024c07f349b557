"""Items from rated candidates, with scores from counted judgments, including imported ones."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.db.models import Avg, Count, F, QuerySet, StdDev

from annotate.attempts.gradable_items import ItemSpec, find_quality_criteria
from annotate.models import Judgment, QualificationItem, QualificationTest
from annotate.qualification.items import Purpose, add_items
from measures.rubric import ScaleKind
from projects.errors import Refused
from projects.models import Candidate, Criterion, Membership, Passage, Project, Rubric
from projects.rubric.rubrics import CriterionOnPage


def list_known_scores(project: Project, rubric: Rubric) -> "QuerySet[Any, Any]":
    """Return candidates with counted judgments on the rubric's first criterion for quality: number, mean and SD."""
    return (
        Judgment.objects.filter(
            criterion__in=_find_comparable(find_quality_criteria(rubric)[:1]),
            candidate__dataset__project=project,
            candidate__withdrawn_at=None,
            candidate__question__passage__withdrawn_at=None,
            is_counted=True,
            value__isnull=False,
        )
        .order_by()
        .values("candidate_id", text=F("candidate__text"), question=F("candidate__question__text"))
        .annotate(n=Count("pk"), mean=Avg("value"), sd=StdDev("value", sample=True))
    )


def add_candidates(
    *,
    test: QualificationTest,
    actor: Membership | None,
    candidate_ids: Sequence[int],
    tolerance: float = 0.0,
    purpose: str = Purpose.TEST,
) -> list[QualificationItem]:
    """Create items from rated candidates; the correct rating is the point nearest the mean of their judgments.

    Halfway between two points, both are correct. Raises Refused if a score on one of the criteria is missing.
    """
    criteria = find_quality_criteria(test.rubric)
    candidates = list(
        Candidate.objects.in_project(test.project)
        .filter(pk__in=candidate_ids)
        .select_related("question__passage")
        .prefetch_related("question__references")
        .order_by("question__passage_id", "question_id", "pk")
    )
    means: dict[int, dict[str, float]] = {}
    rows = Judgment.objects.filter(
        criterion__in=_find_comparable(criteria), candidate__in=candidates, is_counted=True, value__isnull=False
    )
    # The model's ordering would enter the GROUP BY.
    rows = rows.order_by()
    for candidate_id, key, mean in rows.values_list("candidate_id", "criterion__key").annotate(mean=Avg("value")):
        means.setdefault(candidate_id, {})[key] = mean
    specs = [
        _make_spec(candidate, means.get(candidate.pk, {}), criteria, tolerance, purpose) for candidate in candidates
    ]
    return add_items(test=test, actor=actor, specs=specs, how="candidates")


def find_expected_range(criterion: CriterionOnPage, mean: float) -> tuple[float, float]:
    """Return the correct ratings for a known mean: the nearest point, both points halfway; on a slider the mean."""
    # On a slider nobody hits the mean exactly; the tolerance of the item decides how near is correct.
    if criterion.scale.kind is ScaleKind.CONTINUOUS:
        return (round(mean, 2), round(mean, 2))
    # In decimals, because a mean such as 3.4999999999999996 is meant to be 3.5 and has two correct points.
    exact = Decimal(repr(round(mean, 9)))
    up = exact.quantize(Decimal(1), ROUND_HALF_UP)
    return (float(up - 1), float(up)) if up - exact == Decimal("0.5") else (float(up), float(up))


def _find_comparable(criteria: Sequence[CriterionOnPage]) -> list[int]:
    return list(Criterion.objects.comparable_to([each.id for each in criteria]).values_list("pk", flat=True))


def _make_spec(
    candidate: Candidate,
    means: Mapping[str, float],
    criteria: Sequence[CriterionOnPage],
    tolerance: float,
    purpose: str,
) -> ItemSpec:
    missing = [criterion.name for criterion in criteria if criterion.key not in means]
    if missing:
        raise Refused(f"“{candidate.external_id}” has no judgment of “{missing[0]}”, so its correct rating is unknown.")
    passage = candidate.question.passage
    return ItemSpec(
        question=candidate.question.text,
        answer=candidate.text,
        expected={criterion.key: find_expected_range(criterion, means[criterion.key]) for criterion in criteria},
        purpose=purpose,
        passage_title=passage.title,
        passage_text=_join_texts(passage),
        references=[{"text": each.text, "opinion": each.opinion} for each in candidate.question.references.all()],
        tolerance=tolerance,
        candidate_id=candidate.pk,
    )


def _join_texts(passage: Passage) -> str:
    documents = [f"{each.get('title', '')}\n{each.get('text', '')}".strip() for each in passage.documents or []]
    return "\n\n".join(filter(None, [passage.text, *documents]))
