"""What is unfinished in a project: HITs that annotators have begun, panels that let people in, and pay that is due."""

from dataclasses import dataclass

from annotate.models import Assignment, Batch
from annotate.payments.ledger import list_balances
from projects.models import Project


@dataclass(frozen=True)
class UnfinishedWork:
    """Counts; `unpaid_cents` is what `n_unpaid` annotators have earned and were not paid, by this project itself."""

    n_batches: int
    n_hits: int
    n_undecided: int
    n_panels: int
    unpaid_cents: int
    n_unpaid: int

    def __bool__(self) -> bool:
        return any((self.n_batches, self.n_hits, self.n_undecided, self.n_panels, self.n_unpaid))


def find_unfinished_work(project: Project) -> UnfinishedWork:
    unpaid = [each.sums.unpaid for each in list_balances(project) if each.sums.unpaid > 0]
    return UnfinishedWork(
        n_batches=project.batches.filter(state=Batch.State.OPEN).count(),
        n_hits=Assignment.objects.open().filter(annotator__project=project).count(),
        n_undecided=Assignment.objects.filter(hit__batch__project=project, state=Assignment.State.SUBMITTED)
        .exclude(hit__batch__kind=Batch.Kind.IMPORTED)
        .count(),
        n_panels=project.panels.filter(ended_at=None).count(),
        unpaid_cents=sum(unpaid),
        n_unpaid=len(unpaid),
    )
