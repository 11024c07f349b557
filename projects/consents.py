"""Who has agreed to a project's consent, for its managers."""

from dataclasses import dataclass

from django.db.models import Count, Q

from projects.models import ConsentAcceptance, Project
from projects.revising import current_consent


@dataclass(frozen=True)
class Counts:
    """People who have agreed to the newest text, to an earlier one only, and those who have withdrawn."""

    n_agreed: int = 0
    n_earlier: int = 0
    n_withdrawn: int = 0


def counts_of(project: Project) -> Counts:
    """Count people, not texts: each stands in one of the three, or in none."""
    people = list(
        ConsentAcceptance.objects.filter(consent__project=project)
        .order_by()
        .values("membership")
        .annotate(
            n_newest=Count("pk", filter=Q(withdrawn_at=None, consent=current_consent(project))),
            n_holding=Count("pk", filter=Q(withdrawn_at=None)),
        )
        .values_list("n_newest", "n_holding")
    )
    return Counts(
        n_agreed=sum(bool(newest) for newest, _ in people),
        n_earlier=sum(not newest and bool(holding) for newest, holding in people),
        n_withdrawn=sum(not holding for _, holding in people),
    )
