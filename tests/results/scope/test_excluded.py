"""What agreement leaves out and why: with what enters it is all there is."""

import pytest

from annotate.data import withdrawing
from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.frames.rating_patterns import fetch_rating_patterns
from annotate.models import Judgment
from annotate.moderation import decisions, members
from annotate.moderation.members import Exclusion
from annotate.moderation.work_filter import WorkFilter
from projects.models import Candidate, Membership, Project
from results.scope.excluded import REASON_NOTES, count_inclusion
from tests.annotate.open_batches import open_batch
from tests.annotate.submitted_work import claim, rate, send
from tests.factories import make_membership
from tests.page_reader import read
from tests.people import SignIn

pytestmark = pytest.mark.django_db


@pytest.fixture
def left_out(project: Project, annotator: Membership, other_annotator: Membership, manager: Membership) -> Scope:
    """Six HITs of three items, each rated by two; then something of every kind left out."""
    open_batch(project, n_hits=6, judgments=2)
    rate(annotator, 6)
    first = rate(other_annotator, 5)[0]
    send(claim(other_annotator), cannot={0: "No sense"})
    third = make_membership(project)
    decisions.set_aside(project=project, actor=manager, assignment=first, place=0, is_counted=False, why="A slip.")
    second = WorkFilter(uuids=(str(other_annotator.assignments.order_by("pk")[1].uuid),))
    decisions.reject(project=project, actor=manager, chosen=second, reason="Poor.")
    rate(third)
    members.remove(
        target=third, actor=manager, why="Poor.", exclusion=Exclusion(scope=members.ExclusionScope.ALL, reopens=False)
    )
    fifth = other_annotator.assignments.order_by("pk")[4]
    candidate = Candidate.objects.filter(items__in=fifth.layout).order_by("pk")[0]
    withdrawing.withdraw_candidate(project=project, actor=manager, candidate=candidate, why="Cut off.")
    return Scope(project=project, criterion=criteria_in_use(project)[0])


def test_what_enters_and_what_does_not_are_all_there_is(left_out: Scope) -> None:
    entering = count_inclusion(left_out)
    assert dict(entering.left_out) == {
        "cannot be judged": 1,
        "rejected": 3,
        "removed": 3,
        "set aside": 1,
        "withdrawn": 2,
    }
    assert entering.n_total == Judgment.objects.count() == 39
    ratings = fetch_rating_patterns(left_out)
    assert entering.n_included == sum(len(units.ratings) * units.n_units for units in ratings.units)
    assert set(dict(entering.left_out)) <= set(REASON_NOTES)


def test_the_agreement_page_says_how_many_and_why(left_out: Scope, manager: Membership, client_of: SignIn) -> None:
    screen = read(client_of(manager).get("/p/bridges/agreement/").content.decode())
    assert screen.number("Judgments included") == 29
    assert screen.number("Excluded: removed") == 3
    assert "removed annotator" in screen.facts["Excluded: removed"]
    assert screen.number("Judgments in total") == 39


def test_the_export_page_says_how_many_and_why(left_out: Scope, manager: Membership, client_of: SignIn) -> None:
    screen = read(client_of(manager).get("/p/bridges/export/").content.decode())
    assert (screen.number("Counted"), screen.number("Rows in total")) == (30, 39)
    assert {name: screen.number(f"Not counted: {name}") for name in ("rejected", "removed", "set aside", "withdrawn")}
    assert "rejected work" in screen.facts["Not counted: rejected"]


def test_judgments_that_are_not_blind_are_named_where_they_are_left_out(project: Project, manager: Membership) -> None:
    open_batch(project, n_hits=1)
    Membership.objects.filter(pk=manager.pk).update(is_annotator=True)
    manager.is_annotator = True
    rate(manager)
    criterion = criteria_in_use(project)[0]
    blind = count_inclusion(Scope(project=project, criterion=criterion, is_blind_only=True))
    assert (blind.n_included, blind.left_out) == (0, (("not blind", 3),))
    assert count_inclusion(Scope(project=project, criterion=criterion)).n_included == 3
