"""The commands that act on annotators and approve work, and the shortfall that a batch page lists."""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotate.batches.shortfalls import find_shortfall
from annotate.data import withdrawing
from annotate.models import Assignment, Batch, Notice
from annotate.moderation import decisions, members
from annotate.moderation.members import Exclusion, ExclusionScope
from projects.models import Candidate, LogEntry, Membership, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.submitted_work import assert_sound, rate
from tests.factories import make_project
from tests.people import SignIn

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(project: Project) -> Batch:
    return open_batch(project, n_hits=3, judgments=1, cents_per_hit=40)


def run(name: str, *arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command(name, *arguments, "--project", "bridges", "--json", stdout=out)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def test_an_annotator_is_removed_and_restored_by_command(batch: Batch, annotator: Membership) -> None:
    rate(annotator, 2)
    removal = ("standing", annotator.pseudonym, "remove", "--why", "Poor.", "--exclude", "all", "--reopen")
    expected = {
        "annotator": annotator.pseudonym,
        "act": "remove",
        "assignments_excluded": 2,
        "judgments_excluded": 6,
        "places_opened": 2,
        "closed_batches": [],
    }
    assert run(*removal, "--dry-run") == expected
    assert LogEntry.objects.count() == 0
    assert run(*removal) == expected
    back = run("standing", annotator.pseudonym, "restore", "--why", "A mistake.")
    assert (back["assignments_counted"], back["assignments_surplus"]) == (2, 0)
    run("standing", annotator.pseudonym, "suspend", "--why", "To be looked at.")
    annotator.refresh_from_db()
    assert annotator.standing == "suspended"
    run("standing", annotator.pseudonym, "warn", "--why", "Please read.")
    assert Notice.objects.get().text == "Please read."
    assert LogEntry.objects.filter(actor=None).count() == 4
    assert_sound()


@pytest.mark.parametrize(
    ("scope", "n"), [("none", 0), ("batch:{n}", 2), ("since:2020-01-01", 2), ("since:2999-01-01", 0)]
)
def test_what_a_removal_leaves_out(batch: Batch, annotator: Membership, scope: str, n: int) -> None:
    rate(annotator, 2)
    exclude = scope.format(n=batch.number)
    done = run("standing", annotator.pseudonym, "remove", "--why", "Poor.", "--exclude", exclude)
    assert (done["assignments_excluded"], done["places_opened"]) == (n, 0)
    assert_sound()


@pytest.mark.parametrize("wrong", ["some", "all:1", "batch", "batch:x", "since:soon"])
def test_a_wrong_scope_is_wrong_use(batch: Batch, annotator: Membership, wrong: str) -> None:
    with pytest.raises(CommandError, match=wrong.partition(":")[2] or wrong):
        run("standing", annotator.pseudonym, "remove", "--why", "Poor.", "--exclude", wrong)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("warn", "--exclude", "all"), "--exclude requires remove, not warn"),
        (("suspend", "--reopen"), "--reopen requires remove"),
        (("restore", "--reopen-batches"), "--reopen-batches requires remove"),
        (("remove", "--without-work"), "--without-work requires restore"),
        (("remove", "--reopen"), "--reopen requires --exclude"),
        (("remove", "--exclude", "none", "--reopen"), "--reopen requires --exclude"),
        (("remove", "--exclude", "all", "--reopen-batches"), "--reopen-batches requires --reopen"),
        (("dismiss",), "invalid choice"),
    ],
)
def test_what_would_be_passed_over_is_wrong_use(
    batch: Batch, annotator: Membership, arguments: tuple[str, ...], message: str
) -> None:
    rate(annotator)
    with pytest.raises(CommandError, match=message) as caught:
        run("standing", annotator.pseudonym, *arguments, "--why", "Poor.")
    assert caught.value.returncode in (1, 2)
    annotator.refresh_from_db()
    assert (annotator.standing, LogEntry.objects.count()) == ("active", 0)


def test_the_access_alone_can_be_restored_by_command(batch: Batch, annotator: Membership) -> None:
    rate(annotator)
    run("standing", annotator.pseudonym, "remove", "--why", "Poor.", "--exclude", "all", "--reopen")
    alone = ("standing", annotator.pseudonym, "restore", "--why", "A mistake.", "--without-work")
    for options in (("--dry-run",), ()):
        done = run(*alone, *options)
        assert (done["assignments_counted"], done["assignments_surplus"]) == (0, 0)
    annotator.refresh_from_db()
    assert annotator.standing == "active"
    assert Assignment.objects.get().mark == "excluded"


@pytest.mark.parametrize("act", ["warn", "suspend", "remove", "restore"])
@pytest.mark.parametrize("why", ["", "   "])
def test_no_act_goes_without_a_reason(batch: Batch, annotator: Membership, act: str, why: str) -> None:
    with pytest.raises(CommandError):
        run("standing", annotator.pseudonym, act, "--why", why)
    assert LogEntry.objects.count() == 0


def test_whoever_is_not_there_is_refused(batch: Batch, annotator: Membership) -> None:
    with pytest.raises(CommandError, match="No member"):
        run("standing", "a-nobody22", "remove", "--why", "Poor.")
    with pytest.raises(CommandError, match="no batch 99999"):
        run("standing", annotator.pseudonym, "remove", "--why", "Poor.", "--exclude", "batch:99999")
    elsewhere = Batch.objects.create(project=make_project("elsewhere"), rubric=batch.rubric, number=7, name="7")
    with pytest.raises(CommandError, match="no batch 7"):
        run("standing", annotator.pseudonym, "remove", "--why", "Poor.", "--exclude", f"batch:{elsewhere.number}")


def test_work_is_approved_by_command(batch: Batch, annotator: Membership) -> None:
    old, new = rate(annotator, 2)
    Assignment.objects.filter(pk=old.pk).update(submitted_at=timezone.now() - timedelta(days=9))
    assert run("approve", "--older-than", "7", "--dry-run") == {"assignments_waiting": 1, "cents": 40}
    assert run("approve", "--older-than", "7") == {"assignments_approved": 1}
    new.refresh_from_db()
    assert new.state == "submitted"
    assert run("approve") == {"assignments_approved": 1}
    lines = LogEntry.objects.filter(act="approve work").order_by("pk")
    assert [(line.actor, line.why) for line in lines] == [(None, "Submitted more than 7 days ago."), (None, "")]


def test_the_command_names_the_work_of_inactive_annotators_that_it_leaves(
    batch: Batch, annotator: Membership, other_annotator: Membership
) -> None:
    rate(annotator)
    rate(other_annotator, 2)
    Membership.objects.filter(pk=other_annotator.pk).update(standing=Membership.Standing.REMOVED)
    left_out = {"left_out_of_inactive_annotators": 2, "included_by": "--include-inactive"}
    assert run("approve", "--dry-run") == {"assignments_waiting": 1, "cents": 40, **left_out}
    assert run("approve") == {"assignments_approved": 1, **left_out}
    assert not Assignment.objects.filter(annotator=other_annotator, state="approved").exists()
    assert run("approve", "--include-inactive", "--dry-run") == {"assignments_waiting": 2, "cents": 80}
    assert run("approve", "--include-inactive") == {"assignments_approved": 2}
    assert LogEntry.objects.latest("pk").after == {"assignments": 2, "with_absent": True}


@pytest.mark.parametrize("days", ["-1", "36501", "99999999999999999999"])
def test_a_number_of_days_that_is_none_approves_nothing(batch: Batch, annotator: Membership, days: str) -> None:
    (work,) = rate(annotator)
    for options in ((), ("--dry-run",)):
        with pytest.raises(CommandError, match="number of days"):
            run("approve", "--older-than", days, *options)
    assert run("approve", "--older-than", "36500", "--dry-run")["assignments_waiting"] == 0
    work.refresh_from_db()
    assert work.state == "submitted"


def test_a_batch_lists_what_it_will_not_get_by_itself(
    project: Project, batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    assert not find_shortfall(batch)
    first, second, third = rate(annotator, 3)
    decisions.set_aside(project=project, actor=manager, assignment=first, place=0, is_counted=False, why="A slip.")
    Assignment.objects.filter(pk__in=[first.pk, third.pk]).update(submitted_at=timezone.now() - timedelta(days=3))
    since = Exclusion(scope=ExclusionScope.SINCE, since=timezone.now() - timedelta(days=1), reopens=False)
    members.remove(target=annotator, actor=manager, why="Straight lines.", exclusion=since)
    found = find_shortfall(batch)
    assert (found.n_assignments, found.n_set_aside, found.n_withdrawn) == (1, 1, 0)
    assert {(each.uuid, each.is_whole, each.n_judgments) for each in found.missing} == {
        (str(first.uuid), False, 1),
        (str(second.uuid), True, 3),
    }
    candidate = Candidate.objects.filter(items__in=third.layout).order_by("pk")[0]
    withdrawing.withdraw_candidate(project=project, actor=manager, candidate=candidate, why="Cut off.")
    page = client_of(manager).get(f"/p/bridges/batches/{batch.number}/").content.decode()
    assert "Straight lines." in page
    assert f"/p/bridges/submitted/{second.uuid}/" in page
    assert "1 candidate" in page
    assert_sound()
