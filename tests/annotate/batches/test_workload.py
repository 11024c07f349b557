"""The work that is to be priced, and what a project's work so far says about it."""

import pytest

from annotate.batches.control_plan import ControlPlan
from annotate.batches.costs import price_batch
from annotate.batches.workload import Texts, Work, find_supply_of_new, measure_basis
from annotate.models import Assignment
from measures.outcome import Undefined
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.results.judged_batches import judge
from tests.sized_projects import submit


@pytest.mark.parametrize(
    ("n_assignments", "n_judgments", "sizes"),
    [(4, 10, {2: 2, 3: 2}), (3, 9, {3: 3}), (2, 1, {0: 1, 1: 1}), (0, 0, {})],
)
def test_work_of_which_only_the_mean_size_is_known_has_the_sizes_next_to_it(
    n_assignments: int, n_judgments: int, sizes: dict[int, int]
) -> None:
    work = Work.of_mean_size(n_assignments, n_judgments, Texts())
    assert {size: n for size, n in work.sizes.items() if n} == sizes
    assert (work.n_assignments, work.n_judgments) == (n_assignments, n_judgments)


@pytest.mark.django_db
def test_what_had_to_be_done_again_is_expected_again(project: Project, annotator: Membership) -> None:
    batch = open_batch(project, n_hits=5, judgments=2, cents_per_hit=40)
    assert isinstance(measure_basis(project).redone.share, Undefined)
    assert price_batch(batch).again.n_hits == 0
    for _ in range(4):
        submit(annotator)
    first = Assignment.objects.earliest("pk")
    Assignment.objects.filter(pk=first.pk).update(state="rejected", holds_place=False, is_unpaid=True)
    redone = measure_basis(project).redone
    assert not isinstance(redone.share, Undefined)
    assert (redone.share.n_yes, redone.share.n, redone.paid_share) == (1, 4, 0)
    cost = price_batch(batch)
    # A quarter again, of which a quarter again: a third. None of it was paid.
    assert cost.again.n_hits == pytest.approx(cost.ordinary.n_hits / 3)
    assert (cost.again.cents, cost.pay_cents) == (0, cost.ordinary.cents)


@pytest.mark.django_db
def test_only_those_who_rate_here_can_be_asked_about_known_candidates(project: Project, annotator: Membership) -> None:
    """Imported annotators have had the candidates that their file judged, and are asked about none."""
    candidates = make_candidates(make_question(make_passage(make_dataset(project))), 3)
    imported = [make_membership(project, kind="imported", user=None, imported_name=name) for name in ("Ann", "Bob")]
    judge(project, {each: dict.fromkeys(imported, 3) for each in candidates}, kind="imported")
    supply = find_supply_of_new(project, [], ControlPlan(known_per_hit=1, known_hit_every=6))
    assert (supply.known_passages, supply.known_per_passage) == (1, 3)
