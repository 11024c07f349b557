"""Practice with feedback: whether a project offers it, with or without a required test."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef
from django.db.models.functions import JSONObject

from annotate.attempts.gradable_items import ItemSpec, find_quality_criteria, is_gradable, read_spec
from annotate.models import Attempt, QualificationItem, QualificationTest
from projects.models import Criterion, Membership
from projects.rubric.rubrics import describe_on_page

PRACTICE = QualificationItem.Purpose.PRACTICE


@dataclass(frozen=True)
class Practice:
    """The practice offered to an annotator: its number of answers, and whether one is begun or was completed."""

    n_items: int
    is_begun: bool
    is_done: bool


def list_practice_items(test: QualificationTest) -> list[QualificationItem]:
    """Return the practice items in order, without those that no longer fit the test's rubric."""
    criteria = find_quality_criteria(test.rubric)
    items = test.items.filter(purpose=PRACTICE, retired_at=None).order_by("position", "pk")
    return [item for item in items if is_gradable(read_spec(item), criteria)]


def find_practice(annotator: Membership) -> Practice | None:
    return find_practices([annotator]).get(annotator.pk)


def find_practices(annotators: Iterable[Membership]) -> dict[int, Practice]:
    """Return the practice offered to each annotator by membership id, with two queries however many there are.

    Practice is independent of the test: it is offered while the test is a draft, open or closed.
    """
    people = list(annotators)
    sizes = _count_items({each.project_id for each in people})
    if not sizes:
        return {}
    tried: dict[int, set[str]] = {}
    attempts = Attempt.objects.filter(annotator__in=people, purpose=PRACTICE)
    for pk, state in attempts.values_list("annotator_id", "state"):
        tried.setdefault(pk, set()).add(state)
    return {
        each.pk: Practice(
            sizes[each.project_id],
            is_begun=Attempt.State.OPEN in tried.get(each.pk, ()),
            is_done=Attempt.State.PASSED in tried.get(each.pk, ()),
        )
        for each in people
        if each.project_id in sizes
    }


def _count_items(projects: set[int]) -> Counter[int]:
    """Return the number of practice items by project."""
    # Whether an item can be graded is decided in Python, by the same rule as everywhere. The criteria come along with
    # each item as JSON, which makes it one query for all projects of a desk.
    criteria = Criterion.objects.filter(rubric=OuterRef("test__rubric"), used_for_quality=True)
    columns = criteria.values(column=JSONObject(**{name: name for name in ("key", "name", "kind", "low", "high")}))
    items = QualificationItem.objects.filter(test__project__in=projects, purpose=PRACTICE, retired_at=None)
    rows = items.annotate(criteria=ArraySubquery(columns)).values_list(
        "test__project_id", "question", "expected", "tolerance", "criteria"
    )
    return Counter(
        project
        for project, question, expected, tolerance, criteria in rows
        if is_gradable(
            ItemSpec(question=question, answer="", expected=expected, tolerance=tolerance),
            [describe_on_page(Criterion(**each)) for each in criteria],
        )
    )
