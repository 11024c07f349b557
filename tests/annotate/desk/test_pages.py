"""The desk: every project that somebody is in, what they can do there now, what they did and earned."""

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotate import places
from annotate.batches import lifecycle
from annotate.batches.control_plan import ControlPlan
from annotate.models import Assignment, Batch, Draft, LedgerEntry
from annotate.moderation.decisions import approve_overdue
from annotate.payments import paying
from annotate.work import serving, submitting
from projects.models import Membership, Project, User
from tests.annotate.open_batches import answered, open_batch
from tests.factories import make_batch, make_corpus, make_membership, make_project, make_user
from tests.page_reader import condense, read
from tests.people import SignIn
from tests.sized_projects import claim, submit

pytestmark = pytest.mark.django_db

MOST_QUERIES = 20
DESK = "/desk/"


def read_text(client: Client, address: str = DESK) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return condense(response.content.decode())


def join_a_busy_project(user: User) -> Membership:
    """A project in which they have submitted a HIT, let one expire and have one open."""
    member = make_membership(make_project(), user)
    open_batch(member.project, n_hits=3, cents_per_hit=50)
    submit(member)
    Assignment.objects.filter(uuid=claim(member)).update(due_at=timezone.now() - timedelta(hours=1))
    with transaction.atomic():
        places.sweep(now=timezone.now())
    claim(member)
    return member


@pytest.mark.parametrize("n_projects", [1, 30])
def test_the_queries_are_as_many_for_thirty_projects_as_for_one(n_projects: int, client_of: SignIn) -> None:
    user = make_user("many")
    join_a_busy_project(user)
    make_membership(make_project(), user)  # without work: one more question is asked of all such projects
    client = client_of(user)
    read_text(client)  # the first request of a connection prepares statements
    with CaptureQueriesContext(connection) as alone:
        read_text(client)
    for n in range(n_projects - 1):
        if n % 3:
            make_membership(make_project(), user)
        else:
            join_a_busy_project(user)
    with CaptureQueriesContext(connection) as together:
        read_text(client)
    assert len(together) == len(alone) <= MOST_QUERIES


def test_thirty_projects_are_on_two_pages(client_of: SignIn) -> None:
    user = make_user("many")
    for n in range(30):
        make_membership(make_project(name=f"Study {n:02}"), user)
    client = client_of(user)
    first, second = read_text(client), read_text(client, f"{DESK}?page=2")
    assert read(first).n_listed == read(second).n_listed == 30
    shown = [name for name in (f"Study {n:02}" for n in range(30)) if name in first]
    assert shown == [f"Study {n:02}" for n in range(20)]
    assert [name for name in (f"Study {n:02}" for n in range(30)) if name in second] == [
        f"Study {n:02}" for n in range(20, 30)
    ]


def test_each_project_says_what_is_open_and_what_was_done(client_of: SignIn) -> None:
    user = make_user("busy")
    members = [join_a_busy_project(user), join_a_busy_project(user)]
    page = read_text(client_of(user))
    for member in members:
        mine = Assignment.objects.filter(annotator=member)
        for state in ("open", "expired"):
            uuid = mine.get(state=state).uuid
            assert reverse("annotate:work-show", args=[member.project.slug, uuid]) in page
    assert (
        page.count("Continue rating")
        == page.count("Time ran out on an earlier HIT")
        == page.count("It pays $0.50.")
        == 2
    )


CLEARED = {"answers": {"0": {"correctness": [None, 2]}}, "cannot": {"1": ["", 2]}, "comments": {"0": ["Hm.", 1]}}


@pytest.mark.parametrize(
    ("draft", "is_rated"),
    [
        (None, False),
        ({}, False),
        (CLEARED, False),
        ({"answers": {"0": {"correctness": [None, 2]}, "2": {"correctness": [0, 1]}}}, True),
        ({"answers": {}, "cannot": {"1": ["No sense.", 1]}}, True),
    ],
)
def test_ratings_are_said_to_be_saved_only_where_there_are_some(
    client_of: SignIn, draft: dict[str, object] | None, *, is_rated: bool
) -> None:
    member = join_a_busy_project(make_user("busy"))
    for state in ("open", "expired"):
        if draft is not None:
            Draft.objects.create(assignment=Assignment.objects.get(state=state), answers=draft)
    page = read_text(client_of(member))
    assert page.count("Your ratings are saved.") == (2 if is_rated else 0)
    assert page.count("Resume this HIT") == (0 if is_rated else 1)


def test_the_newest_of_several_expired_hits_is_offered(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    open_batch(project, n_hits=3)
    now = timezone.now()
    for hours_ago in (2, 3):
        uuid = claim(annotator)
        Assignment.objects.filter(uuid=uuid).update(
            opened_at=now - timedelta(hours=hours_ago), due_at=now - timedelta(hours=1)
        )
        with transaction.atomic():
            places.sweep(now=now)
    newest, oldest = Assignment.objects.order_by("-opened_at")
    page = read_text(client_of(annotator))
    assert str(newest.uuid) in page
    assert str(oldest.uuid) not in page


def test_work_for_named_annotators_is_offered_to_them_only(
    project: Project, annotator: Membership, other_annotator: Membership, client_of: SignIn
) -> None:
    make_corpus(project)
    make_batch(project, judgments=None, annotators=(annotator,))
    assert "Work is available." in read_text(client_of(annotator))
    refused = read_text(client_of(other_annotator))
    assert "The work available now is assigned to other annotators. Check back later for more." in refused
    assert "Start rating" not in refused
    assert serving.claim(other_annotator) == serving.NoWork(
        "The work available now is assigned to other annotators. Check back later for more."
    )


def test_the_desk_explains_why_there_is_no_work(project: Project, annotator: Membership, client_of: SignIn) -> None:
    client = client_of(annotator)
    assert "No work is available right now. Check back later." in read_text(client)
    make_corpus(project)
    batch = make_batch(project)
    assert "Work is available." in read_text(client)
    lifecycle.pause(batch=batch, actor=None)
    assert "Work is paused. Check back later." in read_text(client)
    Membership.objects.update(standing=Membership.Standing.SUSPENDED)
    assert "on hold" in read_text(client)
    Membership.objects.update(standing=Membership.Standing.REMOVED)
    assert "Your membership in this project has ended. Your work is kept." in read_text(client)
    assert "You're not in a project yet" not in read_text(client)


def test_whoever_was_removed_sees_what_they_did_and_what_is_not_yet_paid(
    project: Project, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    open_batch(project, cents_per_hit=50)
    submitting.submit(annotator=annotator, assignment_uuid=claim(annotator), sent=answered())
    Membership.objects.filter(pk=annotator.pk).update(standing=Membership.Standing.REMOVED)
    shown = read_text(client_of(annotator))
    assert "Past projects" in shown
    assert shown.count("$0.50") == 2
    approve_overdue(project, after_days=0, with_absent=True)
    paying.make_payment(project=project, actor=manager)
    shown = read_text(client_of(annotator))
    assert (shown.count("$0.50"), shown.count("$0.00")) == (1, 1)
    assert "Past projects" not in read_text(client_of(manager))
    Project.objects.update(deleted_at=Now())
    assert "You're not in a project yet" in read_text(client_of(annotator))


def test_an_imported_batch_is_no_work(project: Project, annotator: Membership, client_of: SignIn) -> None:
    open_batch(project, state=Batch.State.CLOSED, kind=Batch.Kind.IMPORTED)
    assert "No work is available" in read_text(client_of(annotator))


def test_whoever_rates_no_more_still_sees_what_they_did(project: Project, client_of: SignIn) -> None:
    member = make_membership(project, role=Membership.Role.RESEARCHER, is_annotator=True)
    open_batch(project, cents_per_hit=50)
    submitting.submit(annotator=member, assignment_uuid=claim(member), sent=answered())
    Membership.objects.filter(pk=member.pk).update(is_annotator=False)
    page = read(read_text(client_of(member), "/p/bridges/history/"))
    assert (page.number("Submitted"), page.facts["Earned"]) == (1, "$0.50 HITs, tests, bonuses and adjustments")


def test_the_pay_of_today_what_waits_and_why_and_an_hour_of_work(
    project: Project, annotator: Membership, other_annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    open_batch(project, n_hits=6, judgments=2, cents_per_hit=50)
    Project.objects.update(approve_after_days=None)
    for member in (annotator, other_annotator, other_annotator):
        submit(member)
    client = client_of(annotator)
    facts = read(read_text(client)).facts
    assert facts["Earned today (UTC)"] == "$0.50"
    assert facts["Awaiting approval"] == "$0.50 A manager reviews it first."
    assert facts["Your hourly rate"] == "shown after 10 minutes of work"
    Project.objects.update(approve_after_days=2)
    submitted_at = Assignment.objects.get(annotator=annotator).submitted_at
    assert submitted_at is not None
    assert (
        f"{submitted_at + timedelta(days=2):%-d %b %Y, %H:%M} UTC" in read(read_text(client)).facts["Awaiting approval"]
    )
    Assignment.objects.filter(annotator=annotator).update(active_seconds=900)
    LedgerEntry.objects.update(made_at=timezone.now() - timedelta(days=1))
    approve_overdue(project, after_days=0)
    facts = read(read_text(client)).facts
    assert facts["Earned today (UTC)"] == "$0.00"
    assert facts["Your hourly rate"] == "$2.00 of active time"
    assert "Awaiting approval" not in facts


def test_a_rejected_hit_was_submitted_all_the_same(project: Project, annotator: Membership, client_of: SignIn) -> None:
    open_batch(project, n_hits=3)
    submit(annotator)
    submit(annotator)
    places.reject([Assignment.objects.earliest("pk").pk], by=None, reason="Straight lines.", is_unpaid=False)
    assert read(read_text(client_of(annotator))).facts["HITs submitted"] == "2"
    history = read_text(client_of(annotator), reverse("annotate:history", args=[project.slug]))
    assert read(history).facts["Submitted"] == "2 HITs"


@pytest.mark.parametrize(
    ("rates", "facts"),
    [
        ([{"cents_per_hit": 40}], "The next HIT pays $0.40."),
        ([{"cents_per_hit": 40}, {"cents_per_hit": 60}], "The next HIT pays $0.40 to $0.60."),
        ([{"cents_per_item": 5, "hit_size": 10}], "The next HIT pays up to $0.50, depending on its length."),
        ([{"cents_per_hit": 0, "cents_per_item": 0}], "The next HIT is unpaid. It takes about"),
    ],
)
def test_the_pay_of_the_next_hit_is_shown_before_the_start(
    project: Project, annotator: Membership, client_of: SignIn, rates: list[dict[str, int]], facts: str
) -> None:
    for rate in rates:
        open_batch(project, **rate)
    open_batch(project, state=Batch.State.PAUSED, cents_per_hit=900)
    assert facts in read_text(client_of(annotator))


def test_an_open_hit_without_pay_says_so_only_to_those_who_may_earn(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    open_batch(project, cents_per_hit=0, cents_per_item=0)
    claim(annotator)
    assert "unpaid" not in read_text(client_of(annotator))
    open_batch(project, state=Batch.State.PAUSED, cents_per_hit=900)
    assert "This HIT is unpaid. It takes about" in read_text(client_of(annotator))


def test_how_long_a_hit_takes_goes_by_ones_own_pace(
    project: Project, annotator: Membership, other_annotator: Membership, client_of: SignIn
) -> None:
    open_batch(project, n_hits=4, judgments=2, hit_size=3)
    for member in (annotator, other_annotator):
        submit(member)
    Assignment.objects.filter(annotator=other_annotator).update(active_seconds=3000)
    client = client_of(annotator)
    estimate = "HIT takes about 1 minute, estimated from the length of the texts."
    assert f"A {estimate}" in read_text(client)
    Assignment.objects.filter(annotator=annotator).update(active_seconds=240)
    assert "You usually take about 4 minutes." in read_text(client)
    assert estimate not in read_text(client)
    Assignment.objects.filter(annotator=annotator).update(has_odd_times=True)
    assert estimate in read_text(client)
    claim(annotator)  # the same is told of the HIT that is open
    assert f"This {estimate}" in read_text(client)
    Assignment.objects.submitted().filter(annotator=annotator).update(has_odd_times=False)
    assert "You usually take about 4 minutes." in read_text(client)


def test_the_hit_submitted_last_can_be_changed_from_the_desk(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    open_batch(project, n_hits=3)
    submit(annotator)
    client = client_of(annotator)
    words = "Edit your last HIT"
    assert words not in read_text(client)
    Project.objects.update(revision_minutes=20)
    last = Assignment.objects.get(annotator=annotator)
    page = read_text(client)
    assert words in page
    assert reverse("annotate:revision", args=[project.slug, last.uuid]) in page
    Batch.objects.update(control_plan=ControlPlan(repeats=2, repeats_every=3).as_json())
    assert words not in read_text(client)
    Batch.objects.update(control_plan={})
    Assignment.objects.update(submitted_at=timezone.now() - timedelta(minutes=21))
    assert words not in read_text(client)
