"""Practice with feedback: whether a project offers it, with a test that is asked for or without one."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Q

from annotate.models import Attempt, QualificationItem, QualificationTest
from projects.models import Membership

PRACTICE = QualificationItem.Purpose.PRACTICE


@dataclass(frozen=True)
class Practice:
    """So many answers to try one's hand at; whether a practice is begun, and whether they have been through one."""

    n_items: int
    is_begun: bool
    is_done: bool


def practice_for(annotator: Membership) -> Practice | None:
    return practices_for([annotator]).get(annotator.pk)


def practices_for(annotators: Iterable[Membership]) -> dict[int, Practice]:
    """What each annotator may practise, by the id of the membership: two queries however many there are.

    The practice stands by itself: it is offered while the test is open, closed or still being made.
    """
    people = list(annotators)
    sizes = dict(
        QualificationTest.objects.filter(project__in={each.project_id for each in people})
        .annotate(n=Count("items", filter=Q(items__purpose=PRACTICE, items__retired_at=None)))
        .filter(n__gt=0)
        .values_list("project_id", "n")
    )
    if not sizes:
        return {}
    tried: dict[int, set[str]] = {}
    attempts = Attempt.objects.filter(annotator__in=people, purpose=PRACTICE)
    for pk, state in attempts.values_list("annotator_id", "state"):
        tried.setdefault(pk, set()).add(state)
    return {
        each.pk: Practice(
            sizes[each.project_id],
            is_begun=Attempt.State.OPEN in tried.get(each.pk, ()),
            is_done=Attempt.State.PASSED in tried.get(each.pk, ()),
        )
        for each in people
        if each.project_id in sizes
    }
