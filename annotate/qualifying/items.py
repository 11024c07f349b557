"""The items of a qualification test: added from candidates with known scores or as specified, edited, retired."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.db import transaction
from django.db.models import Avg, Count, F, Max, QuerySet, StdDev
from django.utils import timezone

from annotate.models import Attempt, Judgment, QualificationItem, QualificationTest
from measures.rubric import ScaleKind, check_value, say_number
from projects import log
from projects.errors import Refused
from projects.models import Candidate, Criterion, Membership, Passage, Project, Rubric
from projects.rubrics import CriterionOnPage, criteria_of

Purpose = QualificationItem.Purpose
MOST_ITEMS = 500
MOST_REFERENCES = 20


@dataclass(frozen=True, kw_only=True)
class ItemSpec:
    """All that an item says: what is read for it, the answer, what that should be rated, by how much, and why."""

    question: str
    answer: str
    expected: Mapping[str, tuple[float, float]]
    purpose: str = Purpose.TEST
    passage_title: str = ""
    passage_text: str = ""
    references: Sequence[Mapping[str, str]] = field(default=())
    tolerance: float = 0.0
    explanation: str = ""
    candidate_id: int | None = None


@dataclass(frozen=True)
class Fault:
    """What is wrong with one part of an item: the part's name, or `expected` with the key of the criterion."""

    part: str
    reason: str
    key: str = ""


def spec_of(item: QualificationItem) -> ItemSpec:
    return ItemSpec(
        question=item.question,
        answer=item.answer,
        expected={key: (low, high) for key, (low, high) in item.expected.items()},
        purpose=item.purpose,
        passage_title=item.passage_title,
        passage_text=item.passage_text,
        references=item.references,
        tolerance=item.tolerance,
        explanation=item.explanation,
        candidate_id=item.candidate_id,
    )


def quality_criteria(rubric: Rubric) -> list[CriterionOnPage]:
    """The criteria by which annotators are checked, in order."""
    keys = set(Criterion.objects.filter(rubric=rubric, used_for_quality=True).values_list("key", flat=True))
    return [criterion for criterion in criteria_of(rubric) if criterion.key in keys]


def faults_of(spec: ItemSpec, criteria: Sequence[CriterionOnPage]) -> list[Fault]:
    """Hold an item against the criteria used for quality: each has a range of right answers on its scale."""
    faults = []
    if not spec.question.strip():
        faults.append(Fault("question", "is empty"))
    if spec.tolerance < 0:
        faults.append(Fault("tolerance", "cannot lie below 0"))
    if len(spec.references) > MOST_REFERENCES:
        faults.append(Fault("references", f"are more than {MOST_REFERENCES}"))
    for criterion in criteria:
        if criterion.key not in spec.expected:
            faults.append(Fault("expected", f"says nothing of “{criterion.name}”", criterion.key))
            continue
        low, high = spec.expected[criterion.key]
        wrong = check_value(criterion.scale, low) or check_value(criterion.scale, high)
        if wrong is None and low > high:
            wrong = f"{say_number(low)} to {say_number(high)} is no range: the smaller number comes first."
        if wrong:
            faults.append(Fault("expected", wrong, criterion.key))
    return faults


@transaction.atomic
def add_items(
    *, test: QualificationTest, actor: Membership | None, specs: Sequence[ItemSpec], how: str
) -> list[QualificationItem]:
    """Add items at the end, all or none. Raises Refused, with what is wrong with which; locks the test."""
    test = lock_test(test)
    criteria = quality_criteria(test.rubric)
    wrong = [
        f"Item {n}: {fault.part} {fault.reason}"
        for n, spec in enumerate(specs, start=1)
        for fault in faults_of(spec, criteria)
    ]
    if wrong:
        raise Refused(wrong[0], details=wrong[1:20])
    if not specs:
        raise Refused("No item was chosen.")
    n_before = test.items.filter(retired_at=None).count()
    if n_before + len(specs) > MOST_ITEMS:
        raise Refused(f"A test has at most {MOST_ITEMS} items; this one would have {n_before + len(specs)}.")
    last = test.items.aggregate(last=Max("position"))["last"]
    first = 0 if last is None else last + 1
    items = QualificationItem.objects.bulk_create(
        QualificationItem(test=test, position=position, **_columns(spec))
        for position, spec in enumerate(specs, start=first)
    )
    log.record(test.project, actor, "add qualification items", test, after={"n_items": len(items), "how": how})
    return items


@transaction.atomic
def edit_item(*, item: QualificationItem, actor: Membership | None, spec: ItemSpec) -> QualificationItem:
    """Change an item. One that an attempt has shown stays as it was and retires; a new one takes its place.

    Raises Refused for an item that cannot be, or that is retired.
    """
    test = lock_test(item.test)
    item = QualificationItem.objects.select_for_update(no_key=True).get(pk=item.pk)
    if item.retired_at is not None:
        raise Refused("This item is retired, so it stays as it was.")
    wrong = [f"{fault.part} {fault.reason}" for fault in faults_of(spec, quality_criteria(test.rubric))]
    if wrong:
        raise Refused(wrong[0], details=wrong[1:])
    before = _told(item)
    spec = replace(spec, candidate_id=item.candidate_id)
    if was_shown(item):
        _check_pool(test, without=item, and_with=spec.purpose)
        QualificationItem.objects.filter(pk=item.pk).update(retired_at=timezone.now())
        item = QualificationItem.objects.create(test=test, position=item.position, **_columns(spec))
    else:
        _check_pool(test, without=item, and_with=spec.purpose)
        for name, value in _columns(spec).items():
            setattr(item, name, value)
        item.save()
    log.record(test.project, actor, "edit qualification item", item, before=before, after=_told(item))
    return item


@transaction.atomic
def retire_item(*, item: QualificationItem, actor: Membership | None) -> None:
    """Take an item out of later attempts; those that have it keep it. Raises Refused where an open test needs it."""
    test = lock_test(item.test)
    _check_pool(test, without=item)
    if QualificationItem.objects.filter(pk=item.pk, retired_at=None).update(retired_at=timezone.now()):
        log.record(test.project, actor, "retire qualification item", item, before=_told(item))


def was_shown(item: QualificationItem) -> bool:
    return Attempt.objects.filter(test=item.test_id, layout__contains=[item.pk]).exists()


def lock_test(test: QualificationTest) -> QualificationTest:
    return (
        QualificationTest.objects.select_related("project", "rubric")
        .select_for_update(no_key=True, of=("self",))
        .get(pk=test.pk)
    )


def known_scores(project: Project, rubric: Rubric) -> "QuerySet[Any, Any]":
    """Candidates with counted judgments by the rubric's first criterion for quality: their number, mean and spread."""
    criteria = quality_criteria(rubric)
    return (
        Judgment.objects.filter(
            candidate__dataset__project=project,
            candidate__withdrawn_at=None,
            candidate__question__passage__withdrawn_at=None,
            criterion__key=criteria[0].key if criteria else "",
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
    """Make items of candidates whose score is known: the mean of their counted judgments, on the nearest point.

    Halfway between two points both are right. Raises Refused where a score by one of the criteria is missing.
    """
    criteria = quality_criteria(test.rubric)
    candidates = list(
        Candidate.objects.of(test.project)
        .filter(pk__in=candidate_ids)
        .select_related("question__passage")
        .prefetch_related("question__references")
        .order_by("question__passage_id", "question_id", "pk")
    )
    means: dict[int, dict[str, float]] = {}
    rows = Judgment.objects.filter(candidate__in=candidates, is_counted=True, value__isnull=False).order_by()
    for candidate_id, key, mean in rows.values_list("candidate_id", "criterion__key").annotate(mean=Avg("value")):
        means.setdefault(candidate_id, {})[key] = mean
    specs = [
        _from_candidate(candidate, means.get(candidate.pk, {}), criteria, tolerance, purpose)
        for candidate in candidates
    ]
    return add_items(test=test, actor=actor, specs=specs, how="candidates")


def expected_range(criterion: CriterionOnPage, mean: float) -> tuple[float, float]:
    """The right answers for a known mean: the nearest point, both where it lies halfway; on a slider the mean."""
    if criterion.scale.kind is ScaleKind.CONTINUOUS:
        return (round(mean, 2), round(mean, 2))
    exact = Decimal(repr(round(mean, 9)))
    up = exact.quantize(Decimal(1), ROUND_HALF_UP)
    return (float(up - 1), float(up)) if up - exact == Decimal("0.5") else (float(up), float(up))


def _from_candidate(
    candidate: Candidate,
    means: Mapping[str, float],
    criteria: Sequence[CriterionOnPage],
    tolerance: float,
    purpose: str,
) -> ItemSpec:
    missing = [criterion.name for criterion in criteria if criterion.key not in means]
    if missing:
        raise Refused(f"“{candidate.external_id}” has no judgment of “{missing[0]}”, so its right value is not known.")
    passage = candidate.question.passage
    return ItemSpec(
        question=candidate.question.text,
        answer=candidate.text,
        expected={criterion.key: expected_range(criterion, means[criterion.key]) for criterion in criteria},
        purpose=purpose,
        passage_title=passage.title,
        passage_text=_whole_text(passage),
        references=[{"text": each.text, "opinion": each.opinion} for each in candidate.question.references.all()],
        tolerance=tolerance,
        candidate_id=candidate.pk,
    )


def _whole_text(passage: Passage) -> str:
    documents = [f"{each.get('title', '')}\n{each.get('text', '')}".strip() for each in passage.documents or []]
    return "\n\n".join(filter(None, [passage.text, *documents]))


def _check_pool(test: QualificationTest, *, without: QualificationItem, and_with: str = "") -> None:
    """An open test always has the items that an attempt takes."""
    if test.state != QualificationTest.State.OPEN or without.purpose != Purpose.TEST or and_with == Purpose.TEST:
        return
    n_left = test.items.filter(purpose=Purpose.TEST, retired_at=None).exclude(pk=without.pk).count()
    if n_left < (test.n_items or 1):
        raise Refused(
            "The open test needs this item: an attempt takes "
            f"{test.n_items or 1}, and {n_left} would be left. Add another first, or close the test."
        )


def _columns(spec: ItemSpec) -> dict[str, Any]:
    columns = {key: value for key, value in asdict(spec).items() if key != "candidate_id"}
    return columns | {
        "expected": {key: [float(low), float(high)] for key, (low, high) in spec.expected.items()},
        "references": [{"text": each["text"], "opinion": each.get("opinion", "")} for each in spec.references],
        "candidate_id": spec.candidate_id,
    }


def _told(item: QualificationItem) -> dict[str, Any]:
    return {"position": item.position, "purpose": item.purpose, "expected": item.expected, "tolerance": item.tolerance}
