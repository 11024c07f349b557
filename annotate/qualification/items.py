"""The items of a qualification test: add, edit and retire them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from annotate.attempts.gradable_items import Fault, ItemSpec, find_faults, find_quality_criteria, read_spec, shown_key
from annotate.models import Attempt, QualificationItem, QualificationTest
from projects import log
from projects.errors import Refused
from projects.language.names import shorten_name
from projects.models import Act, Criterion, Membership, Rubric
from projects.rubric.rubrics import CriterionOnPage

Purpose = QualificationItem.Purpose
MOST_ITEMS = 500
"""Items of a test: far more than one needs, and few enough to read them all when an attempt begins."""


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
