"""Tables of the sample-size planner: what a width of the interval requires, and the planned widths."""

from collections.abc import Mapping, Sequence
from typing import Any

from projects.language.amounts import CURRENCY
from projects.models import Project
from projects.tables.tables import Column, Missing, Table, Value
from results.agreement.precision import Choice

Figures = Mapping[str, Any]


def tabulate_plan(
    project: Project, figures: Figures, choices: Sequence[Choice], *, criterion: str, width: float
) -> list[Table]:
    """Return the candidates, HITs and costs of each number of judgments, and every size with its width."""
    plan = figures["plan"]
    trial = plan["trial"]
    counts = f"n = {trial['n_units']:,} candidates with {trial['n_ratings']:,} ratings"
    basis = f"criterion: {criterion.rstrip('. ')}; from {counts}"
    return [_tabulate_choices(project, choices, basis, width), _tabulate_widths(plan, basis)]


def _tabulate_choices(project: Project, choices: Sequence[Choice], basis: str, width: float) -> Table:
    pay = [Column("pay", f"Pay ({CURRENCY})", "number", 2)] if project.is_paid else []
    fee = [Column("fee", f"Fee ({CURRENCY})", "number", 2)] if project.is_paid and project.fee_share else []
    cost = [Column("cost", f"Cost ({CURRENCY})", "number", 2)] if project.is_paid else []
    columns = [
        Column("judgments", "Judgments per candidate", "count"),
        Column("basis", "Basis", hint="plan-basis"),
        Column("candidates", "Candidates", "count"),
        Column("ratings", "Judgments", "count"),
        Column("hits", "HITs", "count"),
        Column("hours", "Work (hours)", "number", 1),
        *pay,
        *fee,
        *cost,
    ]
    rows: list[list[Value]] = []
    for choice in choices:
        head: list[Value] = [choice.n_judgments, choice.basis]
        if choice.cost is None:
            rows.append([*head, *[Missing(choice.undefined)] * (len(columns) - len(head))])
            continue
        cents = {"pay": choice.cost.pay_cents, "fee": choice.cost.fee_cents, "cost": choice.cost.cents}
        money = [cents[column.key] / 100 for column in (*pay, *fee, *cost)]
        rows.append([*head, choice.n_units, choice.n_ratings, choice.n_hits, choice.cost.hours, *money])
    caption = f"Requirements for a 95 % interval of Krippendorff's alpha of width {width:g} ({basis})."
    return Table("requirements", f"Requirements for a CI width of {width:g}", columns, rows, caption)


def _tabulate_widths(plan: Figures, basis: str) -> Table:
    columns = [
        Column("judgments", "Judgments per candidate", "count"),
        Column("candidates", "Candidates", "count"),
        Column("width", "Width of the 95 % CI", "number", hint="ci-width"),
        Column("alpha", "Alpha", "number", hint="planned-alpha"),
    ]
    rows: list[list[Value]] = [
        [each["n_judgments"], each["n_units"], each["width"], each["alpha"]] for each in plan["widths"]
    ]
    level = plan["trial"]["level"]
    caption = (
        f"Width of the interval of Krippendorff's alpha ({level}) by study size ({basis}; {_describe_method(plan)})."
    )
    return Table("simulation", "Planned widths", columns, rows, caption, n_keys=2, label="planned-widths")


def _describe_method(plan: Figures) -> str:
    if is_of_studies(plan):
        return f"{plan['n_studies']:,} studies each"
    over = "passages" if plan["by_group"] else "candidates"
    return f"95 % intervals by the jackknife with Student's t over {over}, mean of {plan['n_draws']:,} draws of ratings"


def is_of_studies(plan: Figures) -> bool:
    """Return whether an earlier version computed the plan, by the spread of alpha in simulated studies."""
    return "n_studies" in plan
