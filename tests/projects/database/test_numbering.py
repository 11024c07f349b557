"""Numbers in a project: each once, in order, never given again."""

import pytest

from annotate.models import Batch, Import, OverlapPlan
from projects.database.numbering import next_number
from projects.models import Project
from tests.factories import make_project

pytestmark = pytest.mark.django_db


def test_numbers_count_up_for_each_project_and_each_table(project: Project) -> None:
    assert [next_number(project, Batch), next_number(project, Batch)] == [1, 2]
    assert next_number(project, Import) == 1
    assert next_number(make_project(slug="other"), Batch) == 1


def test_the_number_of_a_deleted_row_is_not_given_again(project: Project) -> None:
    plan = _make_plan(project, next_number(project, OverlapPlan))
    plan.delete()
    assert next_number(project, OverlapPlan) == plan.number + 1


def test_rows_older_than_the_counter_are_counted(project: Project) -> None:
    old = _make_plan(project, 41)
    assert next_number(project, OverlapPlan) == 42
    OverlapPlan.objects.filter(pk=old.pk).update(number=77)
    assert next_number(project, OverlapPlan) == 78


def _make_plan(project: Project, number: int) -> OverlapPlan:
    return OverlapPlan.objects.create(project=project, number=number, name="A plan", rules=[])
