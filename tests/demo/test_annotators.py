from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from django.db.models import F
from django.utils import timezone

from annotate.models import Assignment, Draft, Hit, Item, Judgment, Remark
from demo.annotators import CAREFUL, HASTY, NOISY, Reader, SimulatedAnnotator, Temperament, hire
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch

EXACT = Temperament("exact", Reader(error=0.0))


def worth(item: Item) -> float:
    """Fifths by the item's position: 1, 2, 3, 4, 5, 1, 2 … on a scale of five points."""
    return (item.position % 5) / 4


def hire_one(project: Project, temperament: Temperament = EXACT, seed: int = 1) -> SimulatedAnnotator:
    return hire(project, [temperament], worth=worth, seed=seed)[0]


def list_values(annotator: SimulatedAnnotator) -> list[float | None]:
    mine = Judgment.objects.filter(annotator=annotator.membership)
    return list(mine.order_by("item__hit__number", "item__position").values_list("value", flat=True))


def test_simulated_annotators_are_marked_and_cannot_sign_in(project: Project) -> None:
    membership = hire_one(project).membership
    assert membership.kind == Membership.Kind.SIMULATED
    assert membership.user is None
    assert membership.is_annotator
    assert not membership.can_read
    assert "simulated" in (membership.imported_name or "")
    assert membership.pseudonym.startswith("simulated"), "pages and files show the pseudonym alone"


def test_hiring_the_same_people_twice_adds_nobody(project: Project) -> None:
    first = hire(project, [CAREFUL, HASTY], worth=worth, seed=1)
    again = hire(project, [CAREFUL, HASTY], worth=worth, seed=1)
    assert [one.membership for one in first] == [one.membership for one in again]


def test_work_is_submitted_and_counted_until_nothing_is_left(project: Project) -> None:
    batch = open_batch(project, n_hits=3, n_items=5)
    annotator = hire_one(project)
    while annotator.work_once():
        pass
    assert annotator.n_submitted == 3
    assert list_values(annotator) == [1, 2, 3, 4, 5] * 3
    assert not Hit.objects.filter(batch=batch).exclude(places_done=F("places_wanted")).exists()
    assert not annotator.work_once()


def test_answers_meet_their_items_whatever_the_shown_order(project: Project) -> None:
    open_batch(project, n_hits=6, n_items=7)
    annotator = hire_one(project)
    while annotator.work_once():
        pass
    layouts = Assignment.objects.values_list("layout", flat=True)
    assert any(layout != sorted(layout) for layout in layouts)
    assert list_values(annotator) == [1, 2, 3, 4, 5, 1, 2] * 6


def test_seconds_are_spent_and_believed(project: Project) -> None:
    open_batch(project, n_hits=1, n_items=10)
    assert hire_one(project, CAREFUL).work_once()
    done = Assignment.objects.get()
    assert not done.has_odd_times
    assert done.active_seconds is not None
    assert done.wall_seconds is not None
    assert 30 < done.active_seconds < done.wall_seconds
    assert len(done.item_seconds or []) == 10


def test_work_is_dated_by_the_clock_one_hit_after_the_other(project: Project) -> None:
    open_batch(project, n_hits=8)
    annotator = hire_one(project, replace(CAREFUL, return_share=0.2))
    annotator.clock = start = timezone.now() - timedelta(days=3)
    while annotator.work_once():
        pass
    done = list(Assignment.objects.order_by("id"))
    assert done[0].opened_at == start
    assert all(after.opened_at > (before.ended_at or start) for before, after in pairwise(done))
    submitted = [one for one in done if one.state == Assignment.State.SUBMITTED]
    assert len(submitted) > 1
    assert all(one.submitted_at == one.ended_at for one in submitted)
    assert all((one.wall_seconds or 0) > (one.active_seconds or 0) for one in submitted)


def test_work_is_never_dated_in_the_future(project: Project) -> None:
    open_batch(project, n_hits=8)
    annotator = hire_one(project, CAREFUL)
    annotator.clock = timezone.now() - timedelta(minutes=1)
    while annotator.work_once():
        pass
    assert not Assignment.objects.filter(ended_at__gt=timezone.now()).exists()


def test_hasty_annotators_are_faster_than_careful_ones(project: Project) -> None:
    open_batch(project, n_hits=1, n_items=10, judgments=2)
    for annotator in hire(project, [CAREFUL, HASTY], worth=worth, seed=4):
        assert annotator.work_once()
    careful, hasty = Assignment.objects.order_by("annotator").values_list("active_seconds", flat=True)
    assert (hasty or 0) < (careful or 0) / 2


def test_some_give_a_hit_back_and_it_is_free_again(project: Project) -> None:
    batch = open_batch(project, n_hits=1)
    returning = hire_one(project, replace(EXACT, return_share=1.0))
    assert returning.work_once()
    assert (returning.n_returned, returning.n_submitted) == (1, 0)
    returned = Assignment.objects.get()
    assert returned.state == Assignment.State.RETURNED
    assert returned.return_reason
    assert batch.hits.get().places_open == 1


def test_some_comment_flag_and_cannot_judge(project: Project) -> None:
    open_batch(project, n_hits=2, n_items=4)
    talker = hire_one(project, replace(EXACT, comment_share=1.0, flag_share=1.0))
    assert talker.work_once()
    assert Remark.objects.filter(is_flagged=True).exclude(comment="").count() == 4
    talker.temperament = replace(EXACT, cannot_share=1.0)
    assert talker.work_once()
    assert Remark.objects.exclude(cannot_judge_reason="").count() == 2, "of what is at most half right"
    assert Judgment.objects.filter(value=None).count() == 2


def test_begun_work_stays_open_with_its_draft(project: Project) -> None:
    open_batch(project, n_hits=1, n_items=10)
    annotator = hire_one(project)
    assert annotator.begin(share=0.4)
    assert Assignment.objects.get().state == Assignment.State.OPEN
    assert len(Draft.objects.get().answers["answers"]) == 4
    assert annotator.work_once(), "the next time the same HIT is finished"
    assert Assignment.objects.get().state == Assignment.State.SUBMITTED


@pytest.mark.parametrize(("low", "high", "kind"), [(1, 5, "ordinal"), (1, 7, "ordinal"), (0, 100, "continuous")])
def test_ratings_lie_on_whatever_scale_the_criterion_has(project: Project, low: int, high: int, kind: str) -> None:
    project.rubrics.get().criteria.update(low=low, high=high, kind=kind)
    open_batch(project, n_hits=2, n_items=10)
    annotator = hire_one(project, NOISY, seed=9)
    while annotator.work_once():
        pass
    values = np.array([value for value in list_values(annotator) if value is not None])
    assert values.min() >= low
    assert values.max() <= high
    assert len(set(values)) > 3
