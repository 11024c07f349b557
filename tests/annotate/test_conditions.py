"""The names of SQL conditions: what they let through, and that nothing but an alias goes into them."""

import inspect
from collections.abc import Callable

import pytest
from django.db import connection

from annotate.models import Assignment, Batch, Hit, Item, conditions

CONDITIONS = [
    function for name, function in inspect.getmembers(conditions, inspect.isfunction) if not name.startswith("_")
]

SUBMITTED = {"submitted", "approved", "rejected"}


def accepted(condition: Callable[[str], str], column: str, values: list[str]) -> set[str]:
    """The values of a column for which the condition holds."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT x.{column} FROM unnest(%s) AS x ({column}) WHERE {condition('x')}", [values])
        return {row[0] for row in cursor.fetchall()}


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.__name__)
@pytest.mark.parametrize("wrong", ["", "a.state", "a b", "a;", "1a", "a--", "“a”"])
def test_nothing_but_an_identifier_is_an_alias(condition: Callable[..., str], wrong: str) -> None:
    names = list(inspect.signature(condition).parameters)
    with pytest.raises(ValueError, match="alias"):
        condition(**{name: wrong if n == 0 else "x" for n, name in enumerate(names)})


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("condition", "column", "values", "held"),
    [
        (conditions.is_submitted, "state", Assignment.State.values, {"submitted", "approved"}),
        (conditions.was_submitted, "state", Assignment.State.values, SUBMITTED),
        (conditions.was_finished, "state", Assignment.State.values, {*SUBMITTED, "returned"}),
        (
            conditions.counts_toward_caps,
            "state",
            Assignment.State.values,
            {"open", "submitted", "approved", "rejected"},
        ),
        (conditions.is_marked_counted, "mark", Assignment.Mark.values, {"counted", "late"}),
        (conditions.is_work, "purpose", Hit.Purpose.values, {"work"}),
        (conditions.is_item, "control", Item.Control.values, {"none"}),
        (conditions.is_collected, "kind", Batch.Kind.values, {"trial", "full"}),
        (conditions.uses_trial, "use_of_trial", ["", *Batch.UseOfTrial.values], {"count"}),
    ],
)
def test_a_condition_holds_for_the_values_that_it_means(
    condition: Callable[[str], str], column: str, values: list[str], held: set[str]
) -> None:
    assert accepted(condition, column, values) == held
