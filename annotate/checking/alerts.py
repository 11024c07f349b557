"""What waits for a person: open findings, and reviews that are not done."""

from dataclasses import dataclass

from annotate.models import Finding, Review
from projects.models import Project


@dataclass(frozen=True)
class Alerts:
    """How much waits in the two queues of quality."""

    n_findings: int = 0
    n_serious: int = 0
    n_reviews: int = 0

    def __bool__(self) -> bool:
        return bool(self.n_findings or self.n_reviews)


def alerts_of(project: Project) -> Alerts:
    weights = Finding.objects.filter(annotator__project=project, state=Finding.State.OPEN)
    found = list(weights.values_list("evidence__is_serious", flat=True))
    reviews = Review.objects.filter(assignment__annotator__project=project).exclude(state=Review.State.DONE)
    return Alerts(len(found), sum(bool(each) for each in found), reviews.count())
