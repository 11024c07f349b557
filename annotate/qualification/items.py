"""The items of a qualification test: add, edit and retire them, and find their errors."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from annotate.models import Attempt, QualificationItem, QualificationTest
from measures.rubric import check_value, format_number
from projects import log
from projects.errors import Refused
from projects.language.names import shorten_name
from projects.models import Act, Criterion, Membership, Rubric
from projects.rubric.rubrics import CriterionOnPage, describe_on_page

Purpose = QualificationItem.Purpose
MOST_ITEMS = 500
"""Items of a test: far more than one needs, and few enough to read them all when an attempt begins."""
MOST_REFERENCES = 20


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
            wrong = f"{format_number(low)} to {format_number(high)} is not a range. Put the smaller number first."
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


@transaction.atomic
def add_items(
    *, test: QualificationTest, actor: Membership | None, specs: Sequence[ItemSpec], how: str
) -> list[QualificationItem]:
    """Append items, all or none. Raises Refused with the errors of each; locks the test."""
    test = lock_test(test)
    criteria = find_quality_criteria(test.rubric)
    wrong = [
        f"Item {n}: {fault.part} {fault.reason}"
        for n, spec in enumerate(specs, start=1)
        for fault in _find_faults_of_new(spec, test.rubric, criteria)
    ]
    if wrong:
        raise Refused(wrong[0], details=wrong[1:20])
    if not specs:
        raise Refused("No item is selected.")
    live = list(test.items.filter(retired_at=None))
    _check_new(specs, live)
    n_before = len(live)
    if n_before + len(specs) > MOST_ITEMS:
        raise Refused(f"A test has at most {MOST_ITEMS} items; this one would have {n_before + len(specs)}.")
    last = test.items.aggregate(last=Max("position"))["last"]
    first = 0 if last is None else last + 1
    items = QualificationItem.objects.bulk_create(
        QualificationItem(test=test, position=position, **_make_columns(spec))
        for position, spec in enumerate(specs, start=first)
    )
    log.record(test.project, actor, Act.ADD_QUALIFICATION_ITEMS, test, after={"n_items": len(items), "how": how})
    return items


def _find_faults_of_new(spec: ItemSpec, rubric: Rubric, criteria: Sequence[CriterionOnPage]) -> list[Fault]:
    """Return the errors of an item that is about to be stored, which names criteria of the rubric only.

    A stored item also has ratings on criteria of earlier rubrics.
    """
    known = set(Criterion.objects.filter(rubric=rubric).values_list("key", flat=True))
    return find_faults(spec, criteria) + [
        Fault("expected", f"names “{shorten_name(key, 60)}”, which is no criterion of the test")
        for key in spec.expected
        if key not in known
    ]


def _check_new(specs: Sequence[ItemSpec], live: Iterable[QualificationItem]) -> None:
    """Raise Refused if an answer occurs twice: its ratings could differ, or practice would reveal the test's."""
    known = {shown_key(read_spec(item)) for item in live}
    wrong = []
    for n, spec in enumerate(specs, start=1):
        if shown_key(spec) in known:
            if len(specs) > 1:
                wrong.append(f"Item {n}: the test already has this answer to this question.")
            else:
                wrong.append("The test already has this answer to this question.")
        known.add(shown_key(spec))
    if wrong:
        raise Refused(wrong[0], details=wrong[1:20])


@transaction.atomic
def edit_item(*, item: QualificationItem, actor: Membership | None, spec: ItemSpec) -> QualificationItem:
    """Edit an item and return it. One that an attempt has shown is retired unchanged, and a new one replaces it.

    Raises Refused for an invalid or a retired item.
    """
    test = lock_test(item.test)
    item = QualificationItem.objects.select_for_update(no_key=True).get(pk=item.pk)
    if item.retired_at is not None:
        raise Refused("This item is retired, so it can’t be changed.")
    faults = _find_faults_of_new(spec, test.rubric, find_quality_criteria(test.rubric))
    wrong = [f"{fault.part} {fault.reason}" for fault in faults]
    if wrong:
        raise Refused(wrong[0], details=wrong[1:])
    before = _describe_for_log(item)
    spec = replace(spec, candidate_id=item.candidate_id)
    _check_pool(test, without=item, and_with=spec.purpose)
    _check_new([spec], test.items.filter(retired_at=None).exclude(pk=item.pk))
    item = _replace(item, _make_columns(spec))
    log.record(test.project, actor, Act.EDIT_QUALIFICATION_ITEM, item, before=before, after=_describe_for_log(item))
    return item


@transaction.atomic
def retire_item(*, item: QualificationItem, actor: Membership | None) -> None:
    """Exclude an item from later attempts; those that have it keep it. Raises Refused if an open test needs it."""
    test = lock_test(item.test)
    _check_pool(test, without=item)
    if QualificationItem.objects.filter(pk=item.pk, retired_at=None).update(retired_at=timezone.now()):
        log.record(test.project, actor, Act.RETIRE_QUALIFICATION_ITEM, item, before=_describe_for_log(item))


def remove_ratings(item: QualificationItem, keys: Collection[str]) -> None:
    """Remove the correct ratings of an item on some criteria, so that they have to be set again; the test is locked."""
    kept = {key: ends for key, ends in item.expected.items() if key not in keys}
    _replace(item, _make_columns(read_spec(item)) | {"expected": kept})


def _replace(item: QualificationItem, columns: Mapping[str, Any]) -> QualificationItem:
    """Store the new content of an item and return it; one that an attempt has shown is retired in favour of another."""
    # Attempts refer to items by id and show their results with today's text: one that was shown must stay as it was.
    if was_shown(item):
        QualificationItem.objects.filter(pk=item.pk).update(retired_at=timezone.now())
        return QualificationItem.objects.create(test=item.test, position=item.position, **columns)
    for name, value in columns.items():
        setattr(item, name, value)
    item.save()
    return item


def was_shown(item: QualificationItem) -> bool:
    """Return whether any attempt, open or ended, has the item."""
    return Attempt.objects.filter(test=item.test_id, layout__contains=[item.pk]).exists()


def lock_test(test: QualificationTest) -> QualificationTest:
    """Lock the test until the transaction ends, and return it as it is stored."""
    return (
        QualificationTest.objects.select_related("project", "rubric")
        .select_for_update(no_key=True, of=("self",))
        .get(pk=test.pk)
    )


def _check_pool(test: QualificationTest, *, without: QualificationItem, and_with: str = "") -> None:
    """Raise Refused if an open test would have fewer items than an attempt needs."""
    if test.state != QualificationTest.State.OPEN or without.purpose != Purpose.TEST or and_with == Purpose.TEST:
        return
    n_left = test.items.filter(purpose=Purpose.TEST, retired_at=None).exclude(pk=without.pk).count()
    if n_left < (test.n_items or 1):
        raise Refused(
            f"The open test needs this item: an attempt has {test.n_items or 1} items, and only {n_left} would "
            "be left. Add another item first, or close the test."
        )


def _make_columns(spec: ItemSpec) -> dict[str, Any]:
    # Plain lists and dicts of numbers and texts, as JSON stores them.
    columns = {key: value for key, value in asdict(spec).items() if key != "candidate_id"}
    return columns | {
        "expected": {key: [float(low), float(high)] for key, (low, high) in spec.expected.items()},
        "references": [{"text": each["text"], "opinion": each.get("opinion", "")} for each in spec.references],
        "candidate_id": spec.candidate_id,
    }


def _describe_for_log(item: QualificationItem) -> dict[str, Any]:
    return {"position": item.position, "purpose": item.purpose, "expected": item.expected, "tolerance": item.tolerance}
