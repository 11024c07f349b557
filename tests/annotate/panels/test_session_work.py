"""The work of a participant's session: its minutes or HITs, reserved places, HITs whose time ran out, excluded work."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.db.models import F
from django.utils import timezone

from annotate import places
from annotate.batches import lifecycle
from annotate.models import (
    Assignment,
    Batch,
    Hit,
    Judgment,
    Panel,
    PanelParticipant,
    PanelSession,
    Reservation,
)
from annotate.moderation import members
from annotate.moderation.members import Exclusion
from annotate.onboarding import erasing
from annotate.panels import sessions
from annotate.work import serving, submitting
from projects.models import Membership, Project
from tests.annotate.open_batches import add_hit, answered, open_batch
from tests.annotate.panels.samples import (
    check_sums,
    make_panel,
    member_of,
    open_link,
    rate,
    session_id,
    session_of,
    show_session,
)
from tests.annotate.qualification.factories import make_test
from tests.annotate.surveys.samples import make_survey

pytestmark = pytest.mark.django_db


def test_minutes_instead_of_hits(project: Project, manager: Membership) -> None:
    panel = make_panel(manager, hits_per_session=None, minutes_per_session=5)
    open_batch(project, n_hits=4)
    client, _ = open_link(panel, "pia")
    member = member_of(panel, "pia")
    members.warn(target=member, actor=manager, text="Please read to the end.")
    assert "Please read to the end." in show_session(client, project)  # there is no desk to read it on
    members.suspend(target=member, actor=manager, why="To be looked at.")
    assert "on hold" in show_session(client, project)
    members.restore(target=member, actor=manager, why="All is well.")
    for _ in range(2):
        assert "Start rating" in show_session(client, project)
        rate(member)
        Assignment.objects.submitted().update(active_seconds=151, opened_at=F("submitted_at") - timedelta(minutes=3))
    assert "CODE-completed" in show_session(client, project)
    assert not Reservation.objects.exists()
    check_sums()


@pytest.mark.parametrize("has_odd_times", [False, True])
def test_minutes_that_a_form_claims_are_not_longer_than_the_hit_was_open(
    project: Project, manager: Membership, has_odd_times: bool
) -> None:
    panel = make_panel(manager, hits_per_session=None, minutes_per_session=5)
    open_batch(project, n_hits=4)
    client, _ = open_link(panel, "pia")
    uuid = serving.claim(member_of(panel, "pia"))
    assert isinstance(uuid, UUID)
    sent = answered(seconds=[3600.0, 0.0, 0.0], has_odd_times=has_odd_times)
    submitting.submit(annotator=member_of(panel, "pia"), assignment_uuid=uuid, sent=sent)
    Assignment.objects.filter(uuid=uuid).update(has_odd_times=has_odd_times)
    assert "Start rating" in show_session(client, project)
    assert not session_of(panel, "pia").code


def test_a_removal_a_lapse_and_an_archived_batch_open_reserved_places(
    project: Project, manager: Membership, owner: Membership
) -> None:
    panel = make_panel(manager, hits_per_session=2)
    batch = open_batch(project, n_hits=2, judgments=5)
    for name in ("ada", "ben", "cem", "dana", "ed"):
        open_link(panel, name)
    members.remove(target=member_of(panel, "ada"), actor=manager, why="Two accounts.", exclusion=Exclusion())
    assert Reservation.objects.count() == 8
    ben = member_of(panel, "ben")
    assert ben.user is not None
    erasing.erase(user=ben.user, removes_work=True)
    assert set(PanelParticipant.objects.values_list("external_id", flat=True)) == {"ada", "cem", "dana", "ed"}
    Reservation.objects.filter(annotator=member_of(panel, "cem")).update(until=timezone.now() - timedelta(hours=1))
    assert places.release_overdue() == 2
    check_sums()
    lifecycle.close(batch=batch, actor=manager)
    client, _ = open_link(panel, "dana")
    assert "CODE-nothing_left" in show_session(client, project)
    assert Reservation.objects.count() == 2  # of the one who has not looked again
    lifecycle.archive(batch=batch, actor=manager)
    assert not Reservation.objects.exists()
    check_sums()


def test_no_two_reserved_hits_share_a_candidate(project: Project, manager: Membership) -> None:
    """Nobody judges an answer twice, also where two HITs that are reserved together show it."""
    panel = make_panel(manager, hits_per_session=3)
    batch = open_batch(project, n_hits=2)
    first = Hit.objects.filter(batch=batch).earliest("pk")
    add_hit(batch, [item.candidate for item in first.items.all() if item.candidate], 2)
    open_link(panel, "pia")
    reserved = set(Reservation.objects.values_list("hit", flat=True))
    assert len(reserved) == 2
    assert PanelParticipant.objects.get().n_hits_due == 2
    for _ in range(2):
        rate(member_of(panel, "pia"))
    check_sums()


def expire_open_hit(member: Membership) -> UUID:
    """Begin a HIT, and let its time limit lapse."""
    uuid = serving.claim(member)
    assert isinstance(uuid, UUID)
    Assignment.objects.filter(uuid=uuid).update(due_at=timezone.now() - timedelta(hours=1))
    assert places.sweep() == 1
    return uuid


@pytest.mark.parametrize("length", [{"hits_per_session": 1}, {"hits_per_session": None, "minutes_per_session": 1}])
def test_a_hit_whose_time_ran_out_is_still_the_sessions_work(
    project: Project, manager: Membership, length: dict[str, int | None]
) -> None:
    panel = make_panel(manager, **length)
    open_batch(project, n_hits=1)
    client, _ = open_link(panel, "pia")
    member = member_of(panel, "pia")
    uuid = expire_open_hit(member)
    # A test that the batch does not ask for is no step of this session.
    make_test(project)
    page = show_session(client, project)
    assert f"/work/{uuid}/" in page
    assert "Time ran out on an earlier HIT." in page
    assert "CODE" not in page
    submitting.submit(annotator=member, assignment_uuid=uuid, sent=answered())
    Assignment.objects.update(active_seconds=60)
    assert "CODE-completed" in show_session(client, project)
    check_sums()


def test_a_hit_whose_time_ran_out_is_replaced_only_when_its_place_is_gone(
    project: Project, manager: Membership
) -> None:
    panel = make_panel(manager)
    open_batch(project, n_hits=1)
    client, _ = open_link(panel, "pia")
    member = member_of(panel, "pia")
    uuid = expire_open_hit(member)
    open_batch(project, n_hits=1)
    assert f"/work/{uuid}/" in show_session(client, project)
    assert not Reservation.objects.exists()
    open_link(panel, "ada")
    rate(member_of(panel, "ada"))
    page = show_session(client, project)
    assert "Start rating" in page
    assert f"/work/{uuid}/" in page
    assert Reservation.objects.get().annotator == member
    lifecycle.close(batch=Batch.objects.latest("pk"), actor=manager)
    # Nothing is left but the HIT itself, which is kept and not counted: still, they did what they were asked.
    page = show_session(client, project)
    assert f"/work/{uuid}/" in page
    assert "CODE" not in page
    submitting.submit(annotator=member, assignment_uuid=uuid, sent=answered())
    assert Assignment.objects.get(uuid=uuid).mark == "surplus"
    assert "CODE-completed" in show_session(client, project)
    check_sums()


def test_a_timed_out_session_links_the_hit_that_can_still_be_submitted(project: Project, manager: Membership) -> None:
    panel = make_panel(manager)
    open_batch(project, n_hits=1)
    client, _ = open_link(panel, "pia")
    uuid = expire_open_hit(member_of(panel, "pia"))
    PanelSession.objects.update(due_at=timezone.now() - timedelta(hours=1))
    assert sessions.end_overdue() == 1
    page = show_session(client, project)
    assert "Time&#x27;s up" in page or "Time's up" in page
    assert f"/work/{uuid}/" in page
    submitting.submit(annotator=member_of(panel, "pia"), assignment_uuid=uuid, sent=answered())
    assert "CODE-completed" in show_session(client, project)
    check_sums()


def test_a_survey_comes_after_a_full_set_also_beside_a_hit_whose_time_ran_out(
    project: Project, manager: Membership
) -> None:
    panel = make_panel(manager)
    open_batch(project, n_hits=1)
    client, _ = open_link(panel, "pia")
    expire_open_hit(member_of(panel, "pia"))
    open_link(panel, "ada")
    open_batch(project, n_hits=1)
    show_session(client, project)
    rate(member_of(panel, "pia"))
    make_survey(manager, moment="after")
    assert client.get(f"/p/{project.slug}/session/")["Location"] == f"/p/{project.slug}/survey/after/"


def test_hits_that_a_participant_returned_stay_due(project: Project, manager: Membership) -> None:
    """Nobody gets a code for less than they were asked by returning the rest, nor by coming again."""
    panel = make_panel(manager, hits_per_session=3)
    open_batch(project, n_hits=3)
    client, _ = open_link(panel, "pia")
    member = member_of(panel, "pia")
    rate(member)
    for _ in range(2):
        uuid = serving.claim(member)
        assert isinstance(uuid, UUID)
        submitting.return_hit(annotator=member, assignment_uuid=uuid, reason="")
    waiting = "You returned a HIT, and no other is free"
    page = show_session(client, project)
    assert waiting in page
    assert "CODE" not in page
    assert "Start rating" not in page
    assert PanelParticipant.objects.get().n_hits_due == 3
    open_link(panel, "pia", client, session=session_id("pia-again"))
    assert PanelSession.objects.count() == 2
    page = show_session(client, project)
    assert waiting in page
    assert "CODE" not in page
    check_sums()
    open_batch(project, n_hits=2)
    assert "Start rating" in show_session(client, project)
    for _ in range(2):
        rate(member)
    assert "CODE-completed" in show_session(client, project)
    check_sums()


def test_places_that_the_project_takes_away_are_no_longer_due(project: Project, manager: Membership) -> None:
    panel = make_panel(manager, hits_per_session=3)
    batch = open_batch(project, n_hits=3)
    client, _ = open_link(panel, "pia")
    rate(member_of(panel, "pia"))
    lifecycle.close(batch=batch, actor=manager)
    assert "CODE-completed" in show_session(client, project)
    check_sums()


@pytest.mark.parametrize("state", ["returned", "timed_out"])
def test_work_excluded_with_an_earlier_session_counts_again_when_a_later_one_is_finished(
    project: Project, manager: Membership, state: str
) -> None:
    panel = make_panel(manager, hits_per_session=3, counts_unfinished=False)
    open_batch(project, n_hits=3)
    client, _ = open_link(panel, "pia")
    member = member_of(panel, "pia")
    for _ in range(3):
        rate(member)
    assert sessions.record(session_of(panel, "pia"), state)
    assert not Judgment.objects.filter(is_counted=True).exists()
    open_link(panel, "pia", client, session=session_id("pia-again"))
    assert "CODE-completed" in show_session(client, project)
    assert session_of(panel, "pia").state == "finished"
    assert Judgment.objects.filter(is_counted=True).count() == 9
    check_sums()


def test_work_excluded_with_an_earlier_session_counts_again_when_its_code_is_given_again(
    project: Project, manager: Membership
) -> None:
    """The first session was finished, then returned: a new one gets the same code at once, and its work counts."""
    panel = make_panel(manager, counts_unfinished=False)
    open_batch(project, n_hits=1)
    client, _ = open_link(panel, "pia")
    rate(member_of(panel, "pia"))
    assert "CODE-completed" in show_session(client, project)
    assert sessions.record(session_of(panel, "pia"), "returned")
    assert not Judgment.objects.filter(is_counted=True).exists()
    open_link(panel, "pia", client, session=session_id("pia-again"))
    assert session_of(panel, "pia").state == "finished"
    assert Judgment.objects.filter(is_counted=True).count() == 3
    check_sums()


def test_a_session_that_was_never_joined_does_not_work(project: Project, manager: Membership) -> None:
    """A manager lets in whoever was turned away from a second panel, who has not come back to it yet."""
    first, second = (make_panel(manager, platform=Panel.Platform.CONNECT) for _ in range(2))
    open_batch(project, n_hits=2)
    open_link(first, "pia")
    open_link(second, "pia", session=session_id("other"))
    sessions.let_in(session_of(second, "pia"), actor=manager)
    serving.claim(member_of(first, "pia"))
    assert session_of(first, "pia").state == "working"
    assert session_of(second, "pia").state == "arrived"


def test_panels_are_joined_in_the_order_of_the_databases_clock(
    project: Project, manager: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (make_panel(manager, platform=Panel.Platform.CONNECT) for _ in range(2))
    open_batch(project, n_hits=2)
    open_link(first, "pia")
    open_link(second, "pia", session=session_id("other"))
    an_hour_ago = timezone.now() - timedelta(hours=1)
    monkeypatch.setattr(timezone, "now", lambda: an_hour_ago)
    sessions.join(session_of(second, "pia").participant)
    assert sessions.has_joined_another(session_of(first, "pia").participant)
