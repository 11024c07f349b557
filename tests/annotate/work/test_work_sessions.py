"""Sessions of work: the goal that annotators set themselves, and the hint to take a break."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone

from annotate.models import Assignment
from annotate.work.work_sessions import find_work_session, list_hints
from projects.models import Membership, Project, User
from tests.annotate.open_batches import open_batch
from tests.factories import make_membership, make_project
from tests.page_reader import condense
from tests.people import SignIn
from tests.sized_projects import claim, submit

pytestmark = pytest.mark.django_db

RATED = {f"a{n}-correctness": "4" for n in range(3)}
ACCOUNT = "/account/"
BREAK = "minutes without a break"


def work(annotator: Membership, *, minutes: list[float], pause: float = 1) -> None:
    """Submit a HIT for each length, with a pause between; the last was submitted just now."""
    at = timezone.now()
    for length in minutes:
        submit(annotator)
        newest = Assignment.objects.filter(annotator=annotator).latest("pk")
        Assignment.objects.filter(pk=newest.pk).update(active_seconds=length * 60)
    mine = Assignment.objects.filter(annotator__user=annotator.user, active_seconds__isnull=False)
    for assignment in mine.order_by("-pk")[: len(minutes)]:
        spent = timedelta(seconds=assignment.active_seconds or 0)
        Assignment.objects.filter(pk=assignment.pk).update(submitted_at=at, opened_at=at - spent)
        at -= spent + timedelta(minutes=pause)


def test_a_session_ends_with_a_break(project: Project, annotator: Membership) -> None:
    assert annotator.user is not None
    open_batch(project, n_hits=8)
    assert find_work_session(annotator.user).n_hits == 0
    work(annotator, minutes=[10, 20, 5])
    session = find_work_session(annotator.user)
    assert (session.n_hits, session.seconds, session.last_seconds) == (3, 35 * 60, 5 * 60)
    Assignment.objects.order_by("pk").filter(active_seconds=600).update(
        submitted_at=timezone.now() - timedelta(minutes=25 + 1 + 11)
    )
    assert find_work_session(annotator.user).n_hits == 2
    Assignment.objects.update(submitted_at=timezone.now() - timedelta(minutes=11))
    assert find_work_session(annotator.user).n_hits == 0


def test_a_session_counts_all_projects_of_a_person_and_nobody_elses(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    assert annotator.user is not None
    other_project = make_membership(make_project(), annotator.user)
    for each in (project, other_project.project):
        open_batch(each, n_hits=3, judgments=2)
    work(annotator, minutes=[4])
    work(other_project, minutes=[3])
    work(other_annotator, minutes=[30])
    assert find_work_session(annotator.user).n_hits == 2


@pytest.mark.parametrize(
    ("minutes", "is_due"),
    [([20, 20], False), ([20, 20, 6], True), ([20, 20, 6, 5], False), ([50, 20, 21], True), ([46, 10], False)],
)
def test_a_break_is_suggested_once_every_45_minutes(
    project: Project, annotator: Membership, minutes: list[float], is_due: bool
) -> None:
    assert annotator.user is not None
    open_batch(project, n_hits=8)
    work(annotator, minutes=minutes)
    assert find_work_session(annotator.user).is_break_due == is_due
    assert bool(list_hints(annotator.user)) == is_due


def test_pauses_are_no_work_and_breaks_start_again(project: Project, annotator: Membership) -> None:
    assert annotator.user is not None
    open_batch(project, n_hits=8)
    work(annotator, minutes=[20, 20, 20], pause=11)
    assert list_hints(annotator.user) == []


def test_time_that_was_not_measured_is_the_time_that_the_hit_was_open(project: Project, annotator: Membership) -> None:
    assert annotator.user is not None
    open_batch(project, n_hits=3)
    work(annotator, minutes=[12])
    Assignment.objects.update(active_seconds=None)
    assert find_work_session(annotator.user).seconds == pytest.approx(12 * 60, abs=1)
    Assignment.objects.update(opened_at=timezone.now() - timedelta(days=3))
    assert find_work_session(annotator.user).seconds == 3600


def test_no_hit_took_longer_than_it_was_open(project: Project, annotator: Membership) -> None:
    """What the page measured comes from a form, and may contradict itself."""
    assert annotator.user is not None
    open_batch(project, n_hits=3)
    work(annotator, minutes=[12])
    Assignment.objects.update(active_seconds=3600)
    assert find_work_session(annotator.user).seconds == pytest.approx(12 * 60, abs=1)
    Assignment.objects.update(active_seconds=60, has_odd_times=True)
    assert find_work_session(annotator.user).seconds == pytest.approx(12 * 60, abs=1)


def submit_page(client: Client, annotator: Membership) -> str:
    answer = client.post(f"/p/bridges/work/{claim(annotator)}/", RATED, follow=True)
    assert answer.status_code == 200
    return condense(answer.content.decode())


def test_the_next_hit_shows_the_hint_unless_it_is_turned_off(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    open_batch(project, n_hits=8)
    client = client_of(annotator)
    work(annotator, minutes=[44.9])
    uuid = claim(annotator)
    Assignment.objects.filter(uuid=uuid).update(opened_at=timezone.now() - timedelta(minutes=2))
    page = submit_page(client, annotator)
    assert f"about 47 {BREAK}" in page
    assert BREAK not in submit_page(client, annotator)
    client.post(ACCOUNT, {"form": "work", "session_goal": ""})
    long_ago = F("submitted_at") - timedelta(minutes=45)
    Assignment.objects.submitted().update(active_seconds=44.9 * 60, opened_at=long_ago)
    assert BREAK not in submit_page(client, annotator)


def test_a_goal_is_set_in_the_account_and_shown(project: Project, annotator: Membership, client_of: SignIn) -> None:
    open_batch(project, n_hits=8)
    client = client_of(annotator)
    assert "This session" not in client.get("/desk/").content.decode()
    assert client.post(ACCOUNT, {"form": "work", "session_goal": "2", "suggests_breaks": "on"}).status_code == 302
    user = User.objects.get(memberships=annotator)
    assert (user.session_goal, user.suggests_breaks, user.first_name) == (2, True, annotator.user.first_name)  # type: ignore[union-attr]
    assert "your goal" not in submit_page(client, annotator)
    assert "This session: 1 of 2 HITs." in condense(client.get("/desk/").content.decode())
    assert "reached your goal: 2 HITs in this session." in submit_page(client, annotator)
    assert "your goal" not in submit_page(client, annotator)


@pytest.mark.parametrize("goal", ["-1", "501", "many", "1.5"])
def test_an_impossible_goal_is_refused(annotator: Membership, client_of: SignIn, goal: str) -> None:
    answer = client_of(annotator).post(ACCOUNT, {"form": "work", "session_goal": goal, "suggests_breaks": "on"})
    assert answer.status_code == 200
    assert "field--error" in answer.content.decode()
    assert User.objects.get(memberships=annotator).session_goal == 0


def test_the_two_forms_of_the_account_leave_each_other_alone(annotator: Membership, client_of: SignIn) -> None:
    client = client_of(annotator)
    client.post(ACCOUNT, {"form": "work", "session_goal": "7"})
    client.post(ACCOUNT, {"first_name": "Anna", "last_name": "", "email": ""})
    user = User.objects.get(memberships=annotator)
    assert (user.first_name, user.session_goal, user.suggests_breaks) == ("Anna", 7, False)


def test_only_annotators_have_a_goal(researcher: Membership, client_of: SignIn) -> None:
    assert "Goal for a session" not in client_of(researcher).get(ACCOUNT).content.decode()
