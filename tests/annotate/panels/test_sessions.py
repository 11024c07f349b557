"""A participant's session, from the consent to the code, and what the platform says of it afterwards."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from annotate.batches import lifecycle
from annotate.models import (
    Assignment,
    Batch,
    Hit,
    Judgment,
    LedgerEntry,
    Panel,
    PanelParticipant,
    PanelSession,
)
from annotate.moderation import members
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.panels import sessions
from annotate.qualification import granting
from annotate.work import serving, submitting
from projects.errors import Refused
from projects.models import Membership, Project
from tests.annotate.open_batches import answered, open_batch
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
from tests.annotate.qualification.factories import make_test, take
from tests.factories import make_consent

pytestmark = pytest.mark.django_db


def test_the_code_comes_with_the_last_hit_and_stays(project: Project, manager: Membership) -> None:
    """Two HITs: no code before the second is saved, the same one ever after, and a way back as often as wanted."""
    consent = make_consent(project)
    panel = make_panel(manager, hits_per_session=2, has_own_codes=True, code_completed="")
    open_batch(project, n_hits=4, consent=consent, cents_per_hit=40)
    client, _ = open_link(panel, "pia")
    member = member_of(panel, "pia")
    assert "I agree" in show_session(client, project)
    client.post(f"/p/{project.slug}/consent/", {"act": "agree", "version": consent.version, "next": "work"})
    assert "Continue rating" in show_session(client, project)
    assert session_of(panel, "pia").state == "working"
    rate(member)
    assert "code" not in show_session(client, project).lower().replace("session-code", "").replace("<code", "")
    assert "/session/" in client.get(f"/p/{project.slug}/session/return/")["Location"]
    rate(member)
    page = show_session(client, project)
    session = session_of(panel, "pia")
    assert (session.state, session.outcome, len(session.code)) == ("finished", "completed", 12)
    assert session.code in page
    lifecycle.close(batch=Batch.objects.get(), actor=manager)
    assert session.code in show_session(client, project)
    for _ in range(2):
        back = client.get(f"/p/{project.slug}/session/return/")
        assert back["Location"] == f"https://panel.example/done?cc={session.code}&who=pia"
    assert not LedgerEntry.objects.exists()  # the platform pays
    assert "$" not in client.get(f"/p/{project.slug}/history/").text
    check_sums()


def test_who_passes_the_test_goes_on_without_a_desk(project: Project, manager: Membership) -> None:
    panel = make_panel(manager)
    open_batch(project, n_hits=1, requires_qualification=True)
    make_test(project)
    client, _ = open_link(panel, "ada")
    client.post(f"/p/{project.slug}/instructions/1/read/", {"next": "test"})
    attempt = take(member_of(panel, "ada"))
    result = client.get(f"/p/{project.slug}/qualification/attempts/{attempt.uuid}/result/").text
    assert ">Continue</a>" in result
    assert "Back to your desk" not in result


def test_who_does_not_agree_fails_or_finds_nothing_gets_another_code(project: Project, manager: Membership) -> None:
    consent = make_consent(project)
    panel = make_panel(manager)
    batch = open_batch(project, n_hits=1, judgments=2, consent=consent, requires_qualification=True)
    make_test(project, max_attempts=1)
    declining, _ = open_link(panel, "ada")
    failing, _ = open_link(panel, "ben")
    late, _ = open_link(panel, "cem")
    assert "CODE-nothing_left" in show_session(late, project)
    assert session_of(panel, "cem").state == "screened_out"
    declined = declining.post(f"/p/{project.slug}/consent/", {"act": "decline", "version": 1}, follow=True).text
    assert "CODE-no_consent" in declined
    assert Hit.objects.get().places_open == 1
    ben = member_of(panel, "ben")
    failing.post(f"/p/{project.slug}/consent/", {"act": "agree", "version": consent.version, "next": "work"})
    assert isinstance(serving.claim(ben), serving.NoWork)
    assert "CODE" not in show_session(failing, project)
    # The test comes after the instructions, whatever page it is begun from.
    begun = failing.post(f"/p/{project.slug}/qualification/attempts/", {"purpose": "test"})
    assert begun["Location"] == f"/p/{project.slug}/instructions/1/read/?next=test"
    read = failing.post(begun["Location"], {"next": "test"})
    assert read["Location"] == f"/p/{project.slug}/qualification/"
    attempt = take(ben, n_right=0)
    result = failing.get(f"/p/{project.slug}/qualification/attempts/{attempt.uuid}/result/").text
    assert f'href="/p/{project.slug}/session/"' in result
    assert "contact a project manager" not in result
    assert "CODE-failed_check" in show_session(failing, project)
    assert Hit.objects.get().places_open == 2
    # Whoever takes the last places does fewer HITs, and is done with them.
    other = make_panel(manager, hits_per_session=5)
    Batch.objects.filter(pk=batch.pk).update(requires_qualification=False, consent=None)
    few, _ = open_link(other, "dana")
    assert PanelParticipant.objects.get(external_id="dana").n_hits_due == 1
    few.post(f"/p/{project.slug}/consent/", {"act": "agree", "version": consent.version, "next": "work"})
    rate(member_of(other, "dana"))
    assert "CODE-completed" in show_session(few, project)
    check_sums()


def fail_test(project: Project, manager: Membership) -> tuple[Panel, Client, Membership]:
    """A participant who has used up the attempts at the test, and has seen the code for it."""
    panel = make_panel(manager)
    open_batch(project, n_hits=1, requires_qualification=True)
    make_test(project, max_attempts=1)
    client, _ = open_link(panel, "ben")
    ben = member_of(panel, "ben")
    client.post(f"/p/{project.slug}/instructions/1/read/", {"next": "test"})
    take(ben, n_right=0)
    page = show_session(client, project)
    assert "CODE-failed_check" in page
    assert "You can't take part in this study" in page
    return panel, client, ben


def test_a_session_goes_on_once_a_manager_qualifies_who_had_failed(project: Project, manager: Membership) -> None:
    panel, client, ben = fail_test(project, manager)
    assert Hit.objects.get().places_open == 1
    granting.grant(annotator=ben, actor=manager, why="The key was wrong.")
    page = show_session(client, project)
    assert "Start rating" in page
    assert "CODE" not in page
    session = session_of(panel, "ben")
    assert (session.state, session.outcome, session.code, session.ended_at) == ("arrived", "", "", None)
    assert Hit.objects.get().places_open == 0
    check_sums()
    rate(ben)
    assert "CODE-completed" in show_session(client, project)
    check_sums()


def test_a_qualification_comes_too_late_for_the_last_place(project: Project, manager: Membership) -> None:
    panel, client, ben = fail_test(project, manager)
    open_link(panel, "ada")
    granting.grant(annotator=ben, actor=manager, why="The key was wrong.")
    assert "CODE-nothing_left" in show_session(client, project)
    check_sums()


def end_for_good(session: PanelSession, why: str) -> None:
    """Let the time of a session pass, or let the platform have spoken of it."""
    if why == "time":
        PanelSession.objects.filter(pk=session.pk).update(due_at=timezone.now() - timedelta(minutes=1))
    else:
        sessions.record(session, "submitted", at=timezone.now())


@pytest.mark.parametrize("why", ["time", "platform"])
def test_a_session_that_is_over_tells_who_was_qualified_since_what_to_do(
    project: Project, manager: Membership, why: str
) -> None:
    panel, client, ben = fail_test(project, manager)
    end_for_good(session_of(panel, "ben"), why)
    granting.grant(annotator=ben, actor=manager, why="The key was wrong.")
    page = show_session(client, project)
    assert "A project manager has qualified you since." in page
    assert "You can't take part" not in page
    assert "used all your attempts" not in page
    assert "CODE-failed_check" in page
    # As it says, a new session on the platform leads to the work.
    open_link(panel, "ben", client, session=session_id("new"))
    assert "Start rating" in show_session(client, project)
    check_sums()


def answer_consent(client: Client, project: Project, act: str) -> None:
    client.post(f"/p/{project.slug}/consent/", {"act": act, "version": 1, "next": "work"}, follow=True)


def test_a_session_goes_on_for_who_agrees_after_all(project: Project, manager: Membership) -> None:
    text, panel = make_consent(project), make_panel(manager)
    open_batch(project, n_hits=1, consent=text)
    client, _ = open_link(panel, "ada")
    answer_consent(client, project, "decline")
    page = show_session(client, project)
    assert "You didn't agree" in page
    assert "CODE-no_consent" in page
    answer_consent(client, project, "agree")
    page = show_session(client, project)
    assert "Start rating" in page
    assert "CODE" not in page
    rate(member_of(panel, "ada"))
    assert "CODE-completed" in show_session(client, project)
    check_sums()


@pytest.mark.parametrize("why", ["time", "platform"])
def test_a_session_that_is_over_tells_who_agrees_after_all_what_to_do(
    project: Project, manager: Membership, why: str
) -> None:
    text, panel = make_consent(project), make_panel(manager)
    open_batch(project, n_hits=1, consent=text)
    client, _ = open_link(panel, "ada")
    answer_consent(client, project, "decline")
    end_for_good(session_of(panel, "ada"), why)
    answer_consent(client, project, "agree")
    page = show_session(client, project)
    assert "You agreed after this session had ended." in page
    assert "Open the study again from the platform." in page
    assert "You didn't agree" not in page
    assert "CODE-no_consent" in page
    open_link(panel, "ada", client, session=session_id("new"))
    assert "Start rating" in show_session(client, project)
    check_sums()


@pytest.mark.parametrize("removes_work", [True, False])
@pytest.mark.parametrize("n_done", [0, 1, 2])
def test_who_leaves_reads_that_they_left(
    project: Project, manager: Membership, n_done: int, *, removes_work: bool
) -> None:
    text = make_consent(project)
    panel = make_panel(manager, hits_per_session=2)
    open_batch(project, n_hits=2, consent=text)
    client, _ = open_link(panel, "pia")
    client.post(f"/p/{project.slug}/consent/", {"act": "agree", "version": text.version, "next": "work"})
    for _ in range(n_done):
        rate(member_of(panel, "pia"))
    show_session(client, project)
    sent = {"work": "out" if removes_work else "keep", "is_meant": "on"}
    client.post(f"/p/{project.slug}/consent/withdraw/", sent)
    show_session(client, project)  # the message of the act itself is shown once
    page = show_session(client, project)
    assert "You've left this study" in page
    assert "You didn't agree" not in page
    assert f"CODE-{'completed' if n_done == 2 else 'no_consent'}" in page
    said = {
        "The ratings you submitted are saved.": n_done and not removes_work,
        "The ratings you submitted are removed and no longer count.": n_done and removes_work,
        "Nothing more is asked of you.": not n_done,
    }
    assert {sentence for sentence in said if sentence in page} == {each for each, is_true in said.items() if is_true}
    assert "Your ratings are saved." not in page
    check_sums()


@pytest.mark.parametrize("state", ["returned", "timed_out"])
@pytest.mark.parametrize("counts", [True, False])
def test_places_open_again_and_late_work_is_late(
    project: Project, manager: Membership, state: str, counts: bool
) -> None:
    """Three places: one rated, one open, one reserved. The session is returned, or its time is over."""
    panel = make_panel(manager, hits_per_session=3, counts_unfinished=counts)
    open_batch(project, n_hits=3)
    client, _ = open_link(panel, "pia")
    member, session = member_of(panel, "pia"), session_of(panel, "pia")
    rate(member)
    uuid = serving.claim(member)
    assert isinstance(uuid, UUID)
    if state == "returned":
        assert sessions.record(session, state, actor=manager)
    else:
        PanelSession.objects.update(due_at=timezone.now() - timedelta(hours=1))
        assert sessions.end_overdue() == 1
    assert not sessions.record(session_of(panel, "pia"), state)
    assert sum(Hit.objects.values_list("places_open", flat=True)) == (2 if counts else 3)
    assert Judgment.objects.filter(is_counted=True).count() == (3 if counts else 0)
    assert "CODE" not in show_session(client, project)
    assert isinstance(serving.claim(member), serving.NoWork)
    check_sums()
    if state == "timed_out":
        submitting.submit(annotator=member, assignment_uuid=uuid, sent=answered())
        assert Assignment.objects.get(uuid=uuid).mark == "late"
        assert "CODE" not in show_session(client, project)  # two of three
    returned = "The platform has told us that you returned it"
    assert (returned in show_session(client, project)) == (state == "returned")
    # The platform takes it all the same: what is still free counts again.
    assert sessions.record(session_of(panel, "pia"), "approved")
    assert returned not in show_session(client, project)
    assert Judgment.objects.filter(is_counted=True).count() == (6 if state == "timed_out" else 3)
    with pytest.raises(Refused, match="approved can’t become returned"):
        sessions.record(session_of(panel, "pia"), "returned")
    check_sums()


def test_work_of_a_removed_participant_does_not_come_back_when_the_platform_approves_it(
    project: Project, manager: Membership
) -> None:
    panel = make_panel(manager, hits_per_session=3, counts_unfinished=False)
    open_batch(project, n_hits=3)
    open_link(panel, "pia")
    member = member_of(panel, "pia")
    rate(member)
    PanelSession.objects.update(due_at=timezone.now() - timedelta(hours=1))
    assert sessions.end_overdue() == 1
    members.remove(target=member, actor=manager, why="Careless.", exclusion=Exclusion(scope=ExclusionScope.ALL))
    assert sessions.record(session_of(panel, "pia"), "approved")
    assert not Judgment.objects.filter(is_counted=True).exists()
    check_sums()
    members.restore(target=member, actor=manager, why="It was somebody else.")
    assert Judgment.objects.filter(is_counted=True).exists()
    check_sums()


def test_events_are_ordered_by_the_platforms_time(project: Project, manager: Membership) -> None:
    """Doubled and late messages change nothing, and nothing moves against the table."""
    panel = make_panel(manager)
    open_batch(project)
    open_link(panel, "pia")
    rate(member_of(panel, "pia"))
    then = timezone.now()
    session = sessions.end(session_of(panel, "pia"), "completed")  # type: ignore[arg-type]
    told = [("submitted", 2), ("returned", 1), ("submitted", 3), ("approved", 4), ("approved", 4), ("submitted", 0)]
    moved = [sessions.record(session, state, at=then + timedelta(minutes=minute)) for state, minute in told]
    assert moved == [True, False, False, True, False, False]
    assert session_of(panel, "pia").state == "approved"
    assert set(sessions.MOVES) == set(PanelSession.State)
    assert all(before not in sessions.MOVES[before] for before in sessions.MOVES)
    check_sums()


def test_what_is_over_meanwhile_does_not_time_out(project: Project, manager: Membership) -> None:
    """A session is completed, or finished, between the moment it is found overdue and its lock."""
    panel = make_panel(manager)
    open_batch(project)
    open_link(panel, "pia")
    overdue = session_of(panel, "pia")
    rate(member_of(panel, "pia"))
    PanelSession.objects.update(due_at=timezone.now() - timedelta(hours=1))
    assert sessions.end_overdue() == 1
    assert session_of(panel, "pia").code == "CODE-completed"
    assert not sessions._end_overdue(overdue)
    assert session_of(panel, "pia").state == "finished"
