"""What an item of the test asks and accepts, and whether attempts can be graded by it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from annotate.models import QualificationItem
from measures.rubric import check_value, format_plain_number
from projects.models import Criterion, Rubric
from projects.rubric.rubrics import CriterionOnPage, describe_on_page

Purpose = QualificationItem.Purpose
MOST_REFERENCES = 20
"""More than anybody reads before rating one answer."""


@dataclass(frozen=True, kw_only=True)
class ItemSpec:
    """The content of an item: passage, question, references, answer, correct ratings, tolerance and explanation."""

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
    """An error in one part of an item: the part's name, or `expected` with the key of the criterion."""

    part: str
    reason: str
    key: str = ""


def read_spec(item: QualificationItem) -> ItemSpec:
    """Return the content of a stored item."""
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


def find_quality_criteria(rubric: Rubric) -> list[CriterionOnPage]:
    """Return the criteria used to check annotators, in order."""
    rows = Criterion.objects.filter(rubric=rubric, used_for_quality=True).order_by("position")
    return [describe_on_page(criterion) for criterion in rows]


def find_faults(spec: ItemSpec, criteria: Sequence[CriterionOnPage]) -> list[Fault]:
    """Return the errors of an item: each criterion used for checking needs a range of correct ratings on its scale."""
    faults = []
    if not spec.question.strip():
        faults.append(Fault("question", "is empty"))
    if spec.tolerance < 0:
        faults.append(Fault("tolerance", "must not be below 0"))
    if len(spec.references) > MOST_REFERENCES:
        faults.append(Fault("references", f"are more than {MOST_REFERENCES}"))
    for criterion in criteria:
        if criterion.key not in spec.expected:
            faults.append(Fault("expected", f"gives no rating for “{criterion.name}”", criterion.key))
            continue
        low, high = spec.expected[criterion.key]
        wrong = check_value(criterion.scale, low) or check_value(criterion.scale, high)
        if wrong is None and low > high:
            ends = f"{format_plain_number(low)} to {format_plain_number(high)}"
            wrong = f"{ends} is not a range. Put the smaller number first."
        if wrong:
            faults.append(Fault("expected", wrong, criterion.key))
    # Checked last, because it needs ranges that are on their scales. The field that makes the item pointless gets the
    # error.
    if criteria and not faults and all(_accepts_every_rating(criterion, spec) for criterion in criteria):
        part, key = ("tolerance", "") if spec.tolerance else ("expected", criteria[0].key)
        faults.append(Fault(part, "makes every rating correct, so the item tests nothing", key))
    return faults


def is_gradable(spec: ItemSpec, criteria: Sequence[CriterionOnPage]) -> bool:
    """Return whether an item can be graded by these criteria: there are some, and the item has no errors."""
    return bool(criteria) and not find_faults(spec, criteria)


def _accepts_every_rating(criterion: CriterionOnPage, spec: ItemSpec) -> bool:
    low, high = spec.expected[criterion.key]
    return low - spec.tolerance <= criterion.scale.low and high + spec.tolerance >= criterion.scale.high


def shown_key(spec: ItemSpec) -> tuple[str, ...]:
    """Return what annotators see of an item, by which duplicates are found."""
    return (spec.passage_title, spec.passage_text, spec.question, spec.answer)
