"""What is kept of large projects while their judgments stay the same."""

import pytest
from django.core.cache import caches

from annotate.frames import kept
from annotate.frames.criteria_in_use import criteria_in_use
from annotate.models import Batch
from annotate.reviews import adjudication
from annotate.reviews.adjudication import Differences
from projects import log
from projects.models import Act, Candidate, Membership, Project
from projects.web import lists
from tests.people import SignIn

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "LEAST_SUBMITTED", 0)
    monkeypatch.setattr(lists, "LONG", 0)
    caches["kept"].clear()


def test_something_is_computed_once_until_an_act_changes_the_results(project: Project, manager: Membership) -> None:
    calls: list[str] = []

    def compute() -> int:
        calls.append("computed")
        return len(calls)

    assert [kept.keep(project, "a", [1], compute), kept.keep(project, "a", [1], compute)] == [1, 1]
    assert kept.keep(project, "a", [2], compute) == 2, "other settings"
    log.record(project, manager, Act.WARN, manager)
    assert kept.keep(project, "a", [1], compute) == 1, "no figure rests on a warning"
    log.record(project, manager, Act.SPLIT_PASSAGES, after={})
    assert kept.keep(project, "a", [1], compute) == 3


def test_a_kept_order_is_read_by_the_page_and_shows_the_next_change(
    trial: Batch, project: Project, owner: Membership, client_of: SignIn
) -> None:
    (criterion,) = criteria_in_use(project)
    found = Differences(project, criterion, state="waiting")
    first, second = found[0:2]
    assert (len(found), first.spread, second.spread) == (2, 4, 1)
    assert [row.candidate_id for row in found[1:2]] == [second.candidate_id]
    assert found.order[5:9] == []
    candidate = Candidate.objects.get(pk=first.candidate_id)
    adjudication.adjudicate(project=project, actor=owner, candidate=candidate, criterion=criterion, value=3)
    assert [row.candidate_id for row in Differences(project, criterion, state="waiting")[0:2]] == [second.candidate_id]
    client = client_of(owner)
    means = [row.mean for row in client.get("/p/bridges/scores/?sort=-mean").context["page"].object_list]
    assert (len(means), means) == (4, sorted(means, reverse=True))
    (passage,) = client.get("/p/bridges/scores/disagreements/?by=passages").context["page"].object_list
    assert (passage.n, passage.widest) == (3, 4)


def test_rows_found_by_their_keys_come_in_the_order_of_their_list(
    trial: Batch, project: Project, owner: Membership, client_of: SignIn
) -> None:
    page = client_of(owner).get("/p/bridges/data/candidates/?sort=-id").context["page"]
    names = [row.external_id for row in page.object_list]
    assert names == sorted(names, reverse=True)
    assert (len(names), page.paginator.count) == (4, 4)
