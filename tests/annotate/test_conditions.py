"""The names of SQL conditions: what they let through, and that nothing but an alias goes into them."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection

from annotate.models import Assignment, Batch, Hit, Item, PanelSession, conditions
from projects.models import Membership

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
        (conditions.is_member, "standing", Membership.Standing.values, {"active", "suspended"}),
        (conditions.rates_here, "kind", Membership.Kind.values, {"person", "simulated"}),
        (conditions.is_under_way, "state", Batch.State.values, {"open", "paused"}),
        (conditions.is_let_in, "access", PanelSession.Access.values, {"open", "own", "trusted"}),
        (conditions.uses_trial, "use_of_trial", ["", *Batch.UseOfTrial.values], {"count"}),
    ],
)
def test_a_condition_holds_for_the_values_that_it_means(
    condition: Callable[[str], str], column: str, values: list[str], held: set[str]
) -> None:
    assert accepted(condition, column, values) == held


NAMED = re.compile(
    r"[.]state (?:IN \('submitted', 'approved'|NOT IN \('returned')|[.]mark IN \('counted'|[.]purpose = 'work'"
    r"|[.]control = 'none'|[.]kind <> '(?:imported|unknown)'|[.]standing <> 'removed'|\b(?:i|p)[.]retired_at IS NULL"
    r"|[.]kind (?:NOT )?IN \('(?:person|imported)'|[.]standing = 'active'|[.]access <> 'held'"
    r"|b[.]state IN \('open', 'paused'\)"
)
"""Texts that a condition has a name for. Of items `retired_at` is one: sets are retired too."""


def test_statements_use_the_names_and_not_the_texts() -> None:
    own = Path(inspect.getfile(conditions))
    root = own.parents[2]
    written = [
        f"{path.relative_to(root)}: {found[0]}"
        for app in ("annotate", "results")
        for path in sorted((root / app).rglob("*.py"))
        if path != own and "migrations" not in path.parts
        for found in NAMED.finditer(path.read_text(encoding="utf-8"))
    ]
    assert written == []
