"""Designing a qualification test: create, configure, open and close it, and move it to a new version of the rubric."""

import secrets
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotate.attempts.gradable_items import find_faults, find_quality_criteria, read_spec
from annotate.models import Attempt, Qualification, QualificationItem, QualificationTest
from annotate.qualification.items import MOST_ITEMS, lock_test, remove_ratings
from projects import log
from projects.errors import Refused
from projects.language.amounts import plural
from projects.models import SCALE_FIELDS, Act, Instructions, Membership, Project, Rubric
from projects.rubric import rubrics

State = QualificationTest.State
OnNewRubric = QualificationTest.OnNewRubric
SETTINGS = (
    *("n_items", "pass_share", "max_attempts", "wait_hours", "time_limit_minutes", "feedback", "valid_days"),
    *("cents", "seed"),
)
"""The settings that `change_settings` accepts."""
RANGES = {
    "n_items": (1, MOST_ITEMS),
    "max_attempts": (1, 100),
    "wait_hours": (0, 24 * 365),
    "time_limit_minutes": (1, 60 * 24 * 14),
    "valid_days": (1, 3650),
    "cents": (0, 100_000),
    "seed": (0, 2**31 - 1),
}
"""The minimum and maximum of each setting that is a whole number."""


def bounds(name: str) -> dict[str, Any]:
    """Return the minimum and maximum of a setting, as fields of forms and of the API take them."""
    low, high = RANGES[name]
    return {"min_value": low, "max_value": high}


def find_test(project: Project) -> QualificationTest | None:
    """Return the project's test with its rubric, or None."""
    return QualificationTest.objects.select_related("rubric", "project").filter(project=project).first()


@transaction.atomic
def make_test(*, project: Project, actor: Membership | None) -> QualificationTest:
    """Return the project's test, created as a draft if there is none. Raises Refused without a rubric."""
    rubric = rubrics.current_rubric(project)
    if rubric is None:
        raise Refused("This project has no rubric yet. Choose one under Task › Rubric, then create the test.")
    test, is_new = QualificationTest.objects.get_or_create(
        project=project,
        defaults={"rubric": rubric, "instructions": _find_instructions(project), "seed": secrets.randbelow(2**31)},
    )
    if is_new:
        log.record(project, actor, Act.MAKE_QUALIFICATION_TEST, test, after={"rubric": rubric.version})
    return test


@transaction.atomic
def change_settings(*, test: QualificationTest, actor: Membership | None, values: Mapping[str, Any]) -> bool:
    """Change the test's settings; return False if nothing changes. Raises Refused if the pool is too small for them."""
    # Locked as in every act on the test or its items, so that the pool can't shrink between the check and the write.
    test = lock_test(test)
    unknown = values.keys() - set(SETTINGS)
    if unknown:
        raise ValueError(f"{unknown} are not settings of a test")
    before = {name: getattr(test, name) for name in values if getattr(test, name) != values[name]}
    if not before:
        return False
    for name in before:
        setattr(test, name, values[name])
    if test.state == State.OPEN:
        _check_pool(test)
    test.save(update_fields=list(before))
    after = {name: values[name] for name in before}
    log.record(test.project, actor, Act.CHANGE_QUALIFICATION_TEST, test, before=before, after=after)
    return True


@transaction.atomic
def open_test(*, test: QualificationTest, actor: Membership | None) -> None:
    """Open the test: from now on, work that requires a qualification is only for those who have it.

    Freezes the rubric. Raises Refused if the items don't make a test. Opening an open test changes nothing.
    """
    test = lock_test(test)
    if test.state == State.OPEN:
        return
    why_not = why_not_open(test)
    if why_not:
        raise Refused(why_not[0], details=why_not[1:])
    rubrics.freeze(test.rubric)
    _set_state(test, State.OPEN, actor)


@transaction.atomic
def close_test(*, test: QualificationTest, actor: Membership | None) -> None:
    """Close the test, so that it is no longer required. Open attempts can be finished."""
    test = lock_test(test)
    if test.state == State.CLOSED:
        return
    _set_state(test, State.CLOSED, actor)


@transaction.atomic
def move_to_rubric(*, test: QualificationTest, actor: Membership | None, on_new_rubric: str) -> int:
    """Move the test to the project's latest rubric: everyone retakes it, or qualified people stay qualified.

    Open attempts under the old version end; their answers are kept, and they don't count as used. Correct ratings on a
    scale that has changed are removed; returns from how many items. Raises Refused if there is no newer version, or if
    an open test has items that don't fit it.
    """
    test = lock_test(test)
    newest = rubrics.current_rubric(test.project)
    if newest is None or newest.pk == test.rubric_id:
        raise Refused("The test already uses the latest version of the rubric.")
    rescaled = _find_rescaled(test, newest)
    if rescaled and test.state == State.OPEN:
        keys: set[str] = set().union(*(keys for _, keys in rescaled))
        names = " and ".join(f"“{criterion.name}”" for criterion in newest.criteria.filter(key__in=keys))
        n_items = f"{len(rescaled)} {plural(len(rescaled), 'item', 'items')}"
        raise Refused(
            f"The scale or direction of {names} has changed, so the correct ratings of {n_items} no longer hold. "
            "Pause the batches that require the test, close it, update it, and set them again; then open both again."
        )
    before, old_id = test.rubric.version, test.rubric_id
    # Read before it is replaced: under KEEP, qualifications of any earlier version are valid, else only those of the
    # last.
    had_kept = test.on_new_rubric == OnNewRubric.KEEP
    test.rubric, test.on_new_rubric, test.instructions = (
        newest,
        OnNewRubric(on_new_rubric),
        _find_instructions(test.project),
    )
    if test.state == State.OPEN:
        why_not = why_not_open(test)
        if why_not:
            why = f"Close the test and correct its items first. {why_not[0]}"
            raise Refused(why, details=why_not[1:])
        rubrics.freeze(newest)
    test.save(update_fields=["rubric", "on_new_rubric", "instructions"])
    for item, keys in rescaled:
        remove_ratings(item, keys)
    _end_open_attempts(test)
    if test.on_new_rubric == OnNewRubric.KEEP:
        _carry_over(test, None if had_kept else old_id)
    after: dict[str, Any] = {"rubric": newest.version, "on_new_rubric": test.on_new_rubric}
    if rescaled:
        after["n_items_without_rating"] = len(rescaled)
    log.record(test.project, actor, Act.MOVE_QUALIFICATION_TEST, test, before={"rubric": before}, after=after)
    return len(rescaled)


def why_not_open(test: QualificationTest) -> list[str]:
    """Return sentences that explain why the test can't be opened; an empty list if it can."""
    criteria = find_quality_criteria(test.rubric)
    if not criteria:
        return ["The rubric has no criterion for checking annotators, so nothing can be graded."]
    items = list(test.items.filter(retired_at=None))
    wanted = [item for item in items if item.purpose == QualificationItem.Purpose.TEST]
    if not wanted:
        return ["The test has no items yet."]
    if test.n_items is not None and len(wanted) < test.n_items:
        return [f"An attempt needs {test.n_items} items, but the test has {len(wanted)}."]
    return [
        f"Item {number}: {fault.part} {fault.reason}"
        for number, item in enumerate(items, start=1)
        for fault in find_faults(read_spec(item), criteria)
    ]


def has_newer_rubric(test: QualificationTest) -> bool:
    """Return whether the project's latest rubric is newer than the test's."""
    newest = rubrics.current_rubric(test.project)
    return newest is not None and newest.pk != test.rubric_id


def _find_rescaled(test: QualificationTest, newest: Rubric) -> list[tuple[QualificationItem, set[str]]]:
    """Return the items with the keys of their correct ratings that are for another scale than the newest rubric's.

    A rating on a criterion that the test's rubric lacks is from an earlier one, whose scale nobody knows any more.
    """
    before, after = _list_scales(test.rubric), _list_scales(newest)
    changed = {key for key, scale in after.items() if before.get(key) != scale}
    found = [(item, changed & item.expected.keys()) for item in test.items.filter(retired_at=None)]
    return [(item, keys) for item, keys in found if keys]


def _list_scales(rubric: Rubric) -> dict[str, list[Any]]:
    return {key: scale for key, *scale in rubric.criteria.values_list("key", *SCALE_FIELDS)}


def _check_pool(test: QualificationTest) -> None:
    n_pool = test.items.filter(retired_at=None, purpose=QualificationItem.Purpose.TEST).count()
    if test.n_items is not None and n_pool < test.n_items:
        raise Refused(f"An attempt can’t have {test.n_items} items, because the open test has {n_pool}.")


def _set_state(test: QualificationTest, state: State, actor: Membership | None) -> None:
    before, test.state = test.state, state
    if state == State.OPEN:
        test.opened_at = timezone.now()
    test.save(update_fields=["state", "opened_at"])
    act = Act.OPEN_QUALIFICATION_TEST if state == State.OPEN else Act.CLOSE_QUALIFICATION_TEST
    log.record(test.project, actor, act, test, before={"state": before}, after={"state": str(state)})


def _end_open_attempts(test: QualificationTest) -> None:
    attempts = Attempt.objects.filter(test=test, state=Attempt.State.OPEN).exclude(rubric=test.rubric_id)
    # Locked in order of id before the update, which by itself locks in any order and could deadlock with a submit.
    ids = list(attempts.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
    Attempt.objects.filter(pk__in=ids).update(state=Attempt.State.EXPIRED, finished_at=timezone.now())


def _carry_over(test: QualificationTest, old_rubric_id: int | None) -> None:
    """Move current qualifications to the new version; people who already had to retake the test still do."""
    rows = Qualification.objects.filter(annotator__project=test.project_id, is_qualified=True)
    ids = list(rows.order_by("pk").select_for_update(no_key=True, of=("self",)).values_list("pk", flat=True))
    rows = Qualification.objects.filter(pk__in=ids)
    is_valid = Q(until=None) | Q(until__gt=timezone.now())
    # Whoever had not retaken the test under the version before has to do so still, instead of slipping through.
    if old_rubric_id is not None:
        rows.exclude(rubric=old_rubric_id).update(is_qualified=False)
        is_valid &= Q(rubric=old_rubric_id)
    rows.filter(is_valid).update(rubric=test.rubric_id)


def _find_instructions(project: Project) -> Instructions | None:
    return project.instructions.order_by("-version").first()
