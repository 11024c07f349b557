"""The stages on the overview: how far, how fast, and for managers what they pay."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotate.batches import lifecycle
from annotate.batches.control_plan import ControlPlan
from annotate.models import Assignment, Attempt, Batch, Hit, Item, LedgerEntry, Panel, QualificationTest
from projects.models import Membership, Project
from results.overview.overview import make_overview
from results.overview.timeline import StageLine
from tests.annotate.open_batches import open_batch
from tests.annotate.panels.samples import make_panel, open_link
from tests.annotate.payments.paid_work import earn, paid_batch, submitted
from tests.factories import make_membership
from tests.page_reader import Rows, condense, read
from tests.people import SignIn

pytestmark = pytest.mark.django_db


@pytest.fixture
def priceless(project: Project) -> Project:
    """A project that pays nothing."""
    Project.objects.update(cents_per_hit=0, cents_per_item=0)
    project.refresh_from_db()
    return project


def read_stages(client: Client, project: Project) -> Rows:
    return read(client.get(project.get_absolute_url()).content.decode()).rows("Stages")


def stage(project: Project, label: str) -> StageLine:
    course = make_overview(project, can_manage=True).timeline
    return next(each for each in course.stages if each.label == label)


def test_a_stage_is_shown_from_its_first_open_batch_on(project: Project) -> None:
    batch = open_batch(project, n_hits=2)
    Batch.objects.update(state=Batch.State.DRAFT)
    assert make_overview(project, can_manage=True).timeline.stages == ()
    Batch.objects.update(state=Batch.State.OPEN)
    assert stage(project, "Full collection").progress.n_wanted == 2  # type: ignore[union-attr]
    batch.refresh_from_db()
    lifecycle.close(batch=batch, actor=None)
    lifecycle.archive(batch=batch, actor=None)
    assert stage(project, "Full collection").speed is None


def test_stage_by_stage_with_pace(
    priceless: Project, manager: Membership, annotator: Membership, client_of: SignIn
) -> None:
    trial = open_batch(priceless, n_hits=2, kind=Batch.Kind.TRIAL)
    full = [open_batch(priceless, n_hits=3), open_batch(priceless, n_hits=1)]
    for n in (1, 2):
        submitted(annotator, trial, n)
    submitted(annotator, full[0], 1)
    submitted(annotator, full[1], 1)
    LedgerEntry.objects.all().delete()
    Assignment.objects.filter(hit__batch=full[0]).update(opened_at=timezone.now() - timedelta(hours=4))
    Assignment.objects.filter(hit__batch=trial).update(submitted_at=timezone.now() - timedelta(hours=30))
    first, second = read_stages(client_of(manager), priceless)
    assert (first["Stage"], first["Assignments submitted"], first["HITs completed"], first["Status"]) == (
        *("Trial", "100 % 2 of 2", "2 of 2"),
        "complete",
    )
    assert (second["Stage"], second["Assignments submitted"], second["HITs completed"]) == (
        *("Full collection", "50 % 2 of 4", "2 of 4"),
    )
    assert second["Status"] == "2 in 4.0 hours 4.0 hours left at this pace"
    assert set(first) == {"Stage", "Assignments submitted", "HITs completed", "Status"}
    # The only annotator has rated this HIT, so that no one can take it again.
    Hit.objects.filter(batch=full[0], places_done=1).update(places_wanted=2, places_open=1)
    second = read_stages(client_of(manager), priceless)[1]
    assert second["Status"] == "2 in 4.0 hours 4.0 hours left at this pace, without what no one can take"


def test_nothing_came_in_for_a_day(project: Project, annotator: Membership) -> None:
    submitted(annotator, open_batch(project, n_hits=2))
    Assignment.objects.update(submitted_at=timezone.now() - timedelta(hours=25))
    speed = stage(project, "Full collection").speed
    assert speed is not None
    assert (speed.n_recent, speed.hours_left) == (0, None)


def test_money_by_stage_is_for_managers(
    project: Project, manager: Membership, researcher: Membership, annotator: Membership, client_of: SignIn
) -> None:
    batch = paid_batch(project, n_hits=3, cents=40, cents_per_item=2)
    submitted(annotator, batch, 1)
    earn(annotator, 500, kind="bonus")
    n_items = Item.objects.filter(hit__batch=batch).count()
    Batch.objects.update(n_items=n_items)
    (row,) = read_stages(client_of(manager), project)
    per_hit = 40 + 2 * n_items // 3
    assert row["Earned"] == f"${per_hit / 100:.2f}"
    assert row["Estimated remaining"] == f"about ${2 * per_hit / 100:.2f}"
    # Known answers among the items of a HIT are paid as these are.
    Batch.objects.update(control_plan=ControlPlan(known_per_hit=3).as_json())
    (with_controls,) = read_stages(client_of(manager), project)
    assert with_controls["Estimated remaining"] == f"about ${2 * (per_hit + 3 * 2) / 100:.2f}"
    page = client_of(manager).get(project.get_absolute_url()).content.decode()
    assert f"${(500 + per_hit) / 100:.2f} earned in total" in page
    assert "$" not in client_of(researcher).get(project.get_absolute_url()).content.decode()
    assert set(read_stages(client_of(researcher), project)[0]) == {
        "Stage",
        "Assignments submitted",
        "HITs completed",
        "Status",
    }


def test_what_a_platform_pays_is_not_named_as_what_the_project_will_owe(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    """Nobody can know who will take the rest, unless the project pays nobody or the batch names its annotators."""
    batch, client = paid_batch(project, n_hits=2, cents=40), client_of(manager)

    def remaining() -> str:
        return read_stages(client, project)[0]["Estimated remaining"]

    assert remaining() == "about $0.80"
    own = make_panel(manager, paid_by=Panel.Payer.PROJECT)
    assert remaining() == "about $0.80"
    panel = make_panel(manager, platform=Panel.Platform.PROLIFIC)
    assert remaining() == "Prolific pays"
    open_link(panel, "5f" * 12, session="6a" * 12)
    assert remaining() == "Prolific pays"
    open_link(own, "ada")
    assert remaining() == "up to $0.80 less what Prolific pays"
    make_panel(manager, platform=Panel.Platform.SONA)
    assert remaining() == "up to $0.80 less what the platform pays"
    Batch.objects.filter(pk=batch.pk).update(has_named_annotators=True)
    assert remaining() == "about $0.80"
    Membership.objects.filter(is_paid_elsewhere=False, is_participant=True).update(standing="removed")
    open_batch(project, n_hits=1)
    assert remaining() == "about $0.80 the platform pays the rest"
    assert "What platforms pay is not included" not in client.get(project.get_absolute_url()).text
    Panel.objects.update(ended_at=timezone.now(), reward_cents=150)
    assert "What platforms pay is not included" in client.get(project.get_absolute_url()).text
    assert remaining() != "about $0.80 the platform pays the rest"


def test_what_is_done_for_credit_is_not_said_to_be_paid(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    batch, client = paid_batch(project, n_hits=2, cents=40), client_of(manager)
    panel = make_panel(manager, platform=Panel.Platform.SONA)

    def remaining() -> str:
        return read_stages(client, project)[0]["Estimated remaining"]

    assert remaining() == "for credit on SONA"
    open_link(make_panel(manager, paid_by=Panel.Payer.PROJECT), "ada")
    assert remaining() == "up to $0.80 less what is done for credit on SONA"
    Batch.objects.filter(pk=batch.pk).update(has_named_annotators=True)
    Membership.objects.filter(is_paid_elsewhere=False, is_participant=True).update(standing="removed")
    open_batch(project, n_hits=1)
    assert remaining() == "about $0.80 the rest is done for credit on SONA"
    Panel.objects.filter(pk=panel.pk).update(reward_cents=150)
    assert remaining() == "about $0.80 SONA pays the rest"


def test_pay_under_the_floor_is_an_alert(
    project: Project, manager: Membership, researcher: Membership, annotator: Membership, client_of: SignIn
) -> None:
    Project.objects.update(hourly_floor_cents=1_000)
    submitted(annotator, paid_batch(project, cents=100), seconds=1_200.0)
    says = "The average hourly rate is $3.00, below the project’s minimum of $10.00."
    assert says in condense(client_of(manager).get(project.get_absolute_url()).content.decode())
    assert says not in condense(client_of(researcher).get(project.get_absolute_url()).content.decode())
    Project.objects.update(hourly_floor_cents=250)
    assert "below the project’s minimum" not in client_of(manager).get(project.get_absolute_url()).content.decode()


def test_the_qualification_is_a_stage_once_its_test_is_open(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    rubric = project.rubrics.get()
    test = QualificationTest.objects.create(project=project, rubric=rubric)
    assert read_stages(client_of(manager), project) == []
    QualificationTest.objects.update(state="open")
    assert read_stages(client_of(manager), project)[0]["Assignments submitted"] == "nobody has finished the test"
    for states in (("failed", "passed"), ("failed",), ("passed",)):
        person = make_membership(project)
        for number, state in enumerate(states, start=1):
            Attempt.objects.create(
                test=test, annotator=person, n=number, state=state, rubric=rubric, layout=[], finished_at=timezone.now()
            )
    (row,) = read_stages(client_of(manager), project)
    assert (row["Stage"], row["Assignments submitted"]) == ("Qualification", "2 of 3 people passed")
    assert row["Status"] == "open"
