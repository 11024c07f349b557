"""What is kept of large projects while their judgments stay the same."""

from pathlib import Path

import pytest
from django.core.cache import caches

from annotate.data.withdrawing import withdraw_candidate
from annotate.frames import kept
from annotate.frames.criteria_in_use import criteria_in_use
from annotate.frames.stages import Stage
from annotate.models import Batch
from annotate.moderation import members
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.reviews import adjudication
from annotate.reviews.adjudication import Differences
from projects import log
from projects.importing import Kind
from projects.models import Act, Candidate, Membership, Project
from projects.web import lists
from results.overview.overview import count_data
from results.overview.progress_chart import progress_by_day
from results.scope.excluded import count_judgments
from results.scope.human_sources import count_by_source
from tests.annotate.imports.import_steps import import_text, rows, write_csv
from tests.people import SignIn

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "LEAST_WANTED", 0)
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


def test_kept_counts_show_the_next_import_withdrawal_and_removal(
    trial: Batch, project: Project, manager: Membership, tmp_path: Path
) -> None:
    def count() -> tuple[int, dict[str, tuple[int, int]], int]:
        judgments = count_judgments(project, Stage.TRIAL)
        return count_data(project).candidates, count_by_source(project), judgments.n_counted

    first, days = count(), progress_by_day(project)
    assert first == (4, {"model-a": (4, 0)}, 12)
    assert (len(days), days[0].so_far) == (1, 12)
    people = [{**row, "candidate": row["reference"], "source": "people"} for row in rows(6)[::3]]
    import_text(write_csv(people).decode(), Kind.CANDIDATES, project=project, actor=manager, folder=tmp_path)
    assert count() == (6, {**first[1], "people": (2, 2)}, 12)
    candidate = Candidate.objects.filter(source="people")[0]
    withdraw_candidate(project=project, actor=manager, candidate=candidate, why="Twice")
    assert count()[1]["people"] == (1, 1)
    member = Membership.objects.filter(assignments__isnull=False).order_by("pk")[0]
    members.remove(target=member, actor=manager, why="Clicked through", exclusion=Exclusion(scope=ExclusionScope.ALL))
    assert (count()[2], progress_by_day(project)[-1].so_far) == (8, 8)
