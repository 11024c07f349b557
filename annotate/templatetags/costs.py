"""The expected cost of work as a table, with its assumptions and the warning about the hourly rate."""

from typing import Any

from django import template

from annotate.batches.costs import Cost
from measures.outcome import Undefined
from projects.models import Project

register = template.Library()


@register.inclusion_tag("annotate/batches/_cost.html")
def expected_cost(cost: Cost, project: Project, *, is_pay_prorated: bool = False) -> dict[str, Any]:
    """Draw the HITs, pay and hours of a cost; the sentences below say what each number is based on."""
    share = cost.redone.share
    return {
        "cost": cost,
        "pace": cost.pace,
        "redone": None if isinstance(share, Undefined) else share,
        "is_paid": bool(cost.pay_cents),
        "is_pay_prorated": is_pay_prorated,
        "floor_cents": project.hourly_floor_cents,
        "is_under": cost.is_under(project.hourly_floor_cents),
        "may_be_under": cost.may_be_under(project.hourly_floor_cents),
    }
