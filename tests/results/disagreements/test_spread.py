"""How far the ratings of a candidate lie apart."""

import pytest

from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.models import Batch, Judgment
from projects.models import Project
from results.disagreements.spread import QUARTERS, fetch_items, measure_spread

pytestmark = pytest.mark.django_db


def test_items_are_counted_by_how_far_their_ratings_lie_apart(project: Project, trial: Batch) -> None:
    scope = Scope(project=project, criterion=criteria_in_use(project, trial)[0], batch=trial)
    spread = measure_spread(scope)
    assert spread.n_items == 3
    assert spread.by_quarter == [
        (QUARTERS[0], 1),
        (QUARTERS[1], 1),
        (QUARTERS[2], 0),
        (QUARTERS[3], 0),
        (QUARTERS[4], 1),
    ]
    assert spread.mean_sd == pytest.approx((0 + 0.57735 + 2.3094) / 3, abs=1e-4)
    assert [(item.gap, [rating.value for rating in item.ratings]) for item in fetch_items(scope, spread.worst)] == [
        (4, [1, 1, 5]),
        (1, [3, 3, 4]),
    ]


def test_what_does_not_count_is_shown_and_enters_no_figure(project: Project, trial: Batch) -> None:
    Judgment.objects.filter(value=5).update(is_counted=False, not_counted_reason="set aside")
    scope = Scope(project=project, criterion=criteria_in_use(project, trial)[0], batch=trial)
    spread = measure_spread(scope)
    assert [item.gap for item in fetch_items(scope, spread.worst)] == [1]
    assert spread.by_quarter[0] == (QUARTERS[0], 2)
