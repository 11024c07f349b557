"""A participant's session, from the consent to the code, and what the platform says of it afterwards."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone

from annotate import places
from annotate.batches import lifecycle
from annotate.integrity import verifying
from annotate.models import (
    Assignment,
    Batch,
    Hit,
    Judgment,
    LedgerEntry,
    Panel,
    PanelParticipant,
    PanelSession,
    Reservation,
)
from annotate.moderation import members
from annotate.moderation.members import Exclusion, Scope
from annotate.onboarding import erasing
from annotate.panels import sessions
from annotate.qualification import admission
from annotate.work import serving, submitting
from projects.errors import Refused
from projects.models import Membership, Project
from tests.annotate.open_batches import add_hit, answered, assert_equation, open_batch
from tests.annotate.panels.samples import make_panel, member_of, open_link, rate, session_id, session_of
from tests.annotate.qualification.factories import make_test, take
from tests.annotate.surveys.samples import make_survey
from tests.factories import make_consent
from tests.page_reader import condense, read
from tests.people import SignIn

pytestmark = pytest.mark.django_db


def show(client: Client, project: Project) -> str:
    return client.get(f"/p/{project.slug}/session/", follow=True).text


def check() -> None:
    assert_equation()
    assert verifying.verify() == []


def test_recording_a_status_by_hand_is_confirmed_and_says_if_the_session_is_in_progress(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    panel = make_panel(manager)
    open_batch(project, n_hits=2)
    client, _ = open_link(panel, "pia")
    page = f"/p/{project.slug}/panels/{panel.number}/"
    text = client_of(manager).get(page).text
    assert f'data-confirm="Record “{{choice}}” for {member_of(panel, "pia").pseudonym}?"' in text
    assert "The session is in progress, and ends without a completion code." in text
    rate(member_of(panel, "pia"))
    assert "CODE-completed" in show(client, project)
    assert "ends without a completion code" not in client_of(manager).get(page).text


def test_a_row_of_the_panel_has_the_hits_of_its_own_session(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    """Not the participant's: the second session has nothing to do but the rest, and a third gets the code at once."""
    panel = make_panel(manager, hits_per_session=2)
    open_batch(project, n_hits=4)
    client, _ = open_link(panel, "pia")
    rate(member_of(panel, "pia"))
    # The test is one transaction, whose clock stands still.
    hour = timedelta(hours=1)
    for n in (2, 3):
        Assignment.objects.update(submitted_at=F("submitted_at") - hour)
        PanelSession.objects.update(arrived_at=F("arrived_at") - hour)
        open_link(panel, "pia", client, session=session_id(f"pia-{n}"))
        if n == 2:
            rate(member_of(panel, "pia"))
        show(client, project)
    page = read(client_of(manager).get(f"/p/{project.slug}/panels/{panel.number}/").text)
    rows = page.rows("List of sessions")
    assert [(row["Status"].split()[0], row["HITs"]) for row in rows] == [
        ("finished", "0 2 in earlier sessions"),
        ("finished", "1 of 1 1 in earlier sessions"),
        ("returned", "1 of 2"),
    ]


def test_sessions_that_were_not_let_in_are_counted_apart(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    """Anybody can make up a session of a known participant: it has arrived nowhere."""
    panel = make_panel(manager)
    open_batch(project, n_hits=4)
    open_link(panel, "pia")
    assert open_link(panel, "pia", session=session_id("made-up"))[1].status_code == 403
    browser = client_of(manager)
    page = f"/p/{project.slug}/panels/"
    listed = read(browser.get(page).text).rows("Panels")[0]
    assert (listed["Sessions"], listed["In progress"]) == ("1", "1")
    assert "1 arrived · 1 not let in" in browser.get(f"{page}{panel.number}/").text
    for state, n in (("arrived", 1), ("held", 1), ("", 2)):
        found = read(browser.get(f"{page}{panel.number}/", {"state": state}).text)
        assert len(found.rows("List of sessions")) == n, state
    held = read(browser.get(f"{page}{panel.number}/", {"state": "held"}).text).rows("List of sessions")[0]
    assert (held["Status"].startswith("not let in Another browser"), held["HITs"]) == (True, "")


def test_a_reserved_place_names_the_panel_on_the_pages_of_its_batch_and_hit(
    project: Project, manager: Membership, researcher: Membership, client_of: SignIn
) -> None:
    panel = make_panel(manager, name="Study <b>")
    batch = open_batch(project, n_hits=2)
    open_link(panel, "pia")
    hit = Reservation.objects.get().hit.number
    member = member_of(panel, "pia").pseudonym
    for path in (f"/p/{project.slug}/batches/{batch.number}/", f"/p/{project.slug}/batches/{batch.number}/hits/{hit}/"):
        text = condense(client_of(manager).get(path).text)
        assert f"reserved for <code>{member}</code> from" in text, path
        assert f'<a href="/p/{project.slug}/panels/{panel.number}/"><bdi>Study &lt;b&gt;</bdi></a>' in text, path
        assert "and more" not in text
        text = condense(client_of(researcher).get(path).text)
        assert "from <bdi>Study &lt;b&gt;</bdi>" in text, path


def test_the_code_comes_with_the_last_hit_and_stays(project: Project, manager: Membership) -> None:
    """Two HITs: no code before the second is saved, the same one ever after, and a way back as often as wanted."""
    consent = make_consent(project)
    panel = make_panel(manager, hits_per_session=2, has_own_codes=True, code_completed="")
    open_batch(project, n_hits=4, consent=consent, cents_per_hit=40)
    client, _ = open_link(panel, "pia")
    member = member_of(panel, "pia")
    assert "I agree" in show(client, project)
    client.post(f"/p/{project.slug}/consent/", {"act": "agree", "version": consent.version, "next": "work"})
    assert "Continue rating" in show(client, project)
    assert session_of(panel, "pia").state == "working"
    rate(member)
    assert "code" not in show(client, project).lower().replace("session-code", "").replace("<code", "")
    assert "/session/" in client.get(f"/p/{project.slug}/session/return/")["Location"]
    rate(member)
    page = show(client, project)
    session = session_of(panel, "pia")
    assert (session.state, session.outcome, len(session.code)) == ("finished", "completed", 12)
    assert session.code in page
    lifecycle.close(batch=Batch.objects.get(), actor=manager)
    assert session.code in show(client, project)
    for _ in range(2):
        back = client.get(f"/p/{project.slug}/session/return/")
        assert back["Location"] == f"https://panel.example/done?cc={session.code}&who=pia"
    assert not LedgerEntry.objects.exists()  # the platform pays
    assert "$" not in client.get(f"/p/{project.slug}/history/").text
    check()


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
    assert "CODE-nothing_left" in show(late, project)
    assert session_of(panel, "cem").state == "screened_out"
    declined = declining.post(f"/p/{project.slug}/consent/", {"act": "decline", "version": 1}, follow=True).text
    assert "CODE-no_consent" in declined
    assert Hit.objects.get().places_open == 1
    ben = member_of(panel, "ben")
    failing.post(f"/p/{project.slug}/consent/", {"act": "agree", "version": consent.version, "next": "work"})
    assert isinstance(serving.claim(ben), serving.NoWork)
    assert "CODE" not in show(failing, project)
    # The test comes after the instructions, whatever page it is begun from.
    begun = failing.post(f"/p/{project.slug}/qualification/attempts/", {"purpose": "test"})
    assert begun["Location"] == f"/p/{project.slug}/instructions/1/read/?next=test"
    read = failing.post(begun["Location"], {"next": "test"})
    assert read["Location"] == f"/p/{project.slug}/qualification/"
    attempt = take(ben, n_right=0)
    result = failing.get(f"/p/{project.slug}/qualification/attempts/{attempt.uuid}/result/").text
    assert f'href="/p/{project.slug}/session/"' in result
    assert "contact a project manager" not in result
    assert "CODE-failed_check" in show(failing, project)
    assert Hit.objects.get().places_open == 2
    # Whoever takes the last places does fewer HITs, and is done with them.
    other = make_panel(manager, hits_per_session=5)
    Batch.objects.filter(pk=batch.pk).update(requires_qualification=False, consent=None)
    few, _ = open_link(other, "dana")
    assert PanelParticipant.objects.get(external_id="dana").n_hits_due == 1
    few.post(f"/p/{project.slug}/consent/", {"act": "agree", "version": consent.version, "next": "work"})
    rate(member_of(other, "dana"))
    assert "CODE-completed" in show(few, project)
    check()


def fail_test(project: Project, manager: Membership) -> tuple[Panel, Client, Membership]:
    """A participant who has used up the attempts at the test, and has seen the code for it."""
    panel = make_panel(manager)
    open_batch(project, n_hits=1, requires_qualification=True)
    make_test(project, max_attempts=1)
    client, _ = open_link(panel, "ben")
    ben = member_of(panel, "ben")
    client.post(f"/p/{project.slug}/instructions/1/read/", {"next": "test"})
    take(ben, n_right=0)
    page = show(client, project)
    assert "CODE-failed_check" in page
    assert "You can't take part in this study" in page
    return panel, client, ben


def test_a_session_goes_on_once_a_manager_qualifies_who_had_failed(project: Project, manager: Membership) -> None:
    panel, client, ben = fail_test(project, manager)
    assert Hit.objects.get().places_open == 1
    admission.grant(annotator=ben, actor=manager, why="The key was wrong.")
    page = show(client, project)
    assert "Start rating" in page
    assert "CODE" not in page
    session = session_of(panel, "ben")
    assert (session.state, session.outcome, session.code, session.ended_at) == ("arrived", "", "", None)
    assert Hit.objects.get().places_open == 0
    check()
    rate(ben)
    assert "CODE-completed" in show(client, project)
    check()


def test_a_qualification_comes_too_late_for_the_last_place(project: Project, manager: Membership) -> None:
    panel, client, ben = fail_test(project, manager)
    open_link(panel, "ada")
    admission.grant(annotator=ben, actor=manager, why="The key was wrong.")
    assert "CODE-nothing_left" in show(client, project)
    check()


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
    admission.grant(annotator=ben, actor=manager, why="The key was wrong.")
    page = show(client, project)
    assert "A project manager has qualified you since." in page
    assert "You can't take part" not in page
    assert "used all your attempts" not in page
    assert "CODE-failed_check" in page
    # As it says, a new session on the platform leads to the work.
    open_link(panel, "ben", client, session=session_id("new"))
    assert "Start rating" in show(client, project)
    check()


def answer_consent(client: Client, project: Project, act: str) -> None:
    client.post(f"/p/{project.slug}/consent/", {"act": act, "version": 1, "next": "work"}, follow=True)


def test_a_session_goes_on_for_who_agrees_after_all(project: Project, manager: Membership) -> None:
    text, panel = make_consent(project), make_panel(manager)
    open_batch(project, n_hits=1, consent=text)
    client, _ = open_link(panel, "ada")
    answer_consent(client, project, "decline")
    page = show(client, project)
    assert "You didn't agree" in page
    assert "CODE-no_consent" in page
    answer_consent(client, project, "agree")
    page = show(client, project)
    assert "Start rating" in page
    assert "CODE" not in page
    rate(member_of(panel, "ada"))
    assert "CODE-completed" in show(client, project)
    check()


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
    page = show(client, project)
    assert "You agreed after this session had ended." in page
    assert "Open the study again from the platform." in page
    assert "You didn't agree" not in page
    assert "CODE-no_consent" in page
    open_link(panel, "ada", client, session=session_id("new"))
    assert "Start rating" in show(client, project)
    check()


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
    show(client, project)
    sent = {"work": "out" if removes_work else "keep", "is_meant": "on"}
    client.post(f"/p/{project.slug}/consent/withdraw/", sent)
    show(client, project)  # the message of the act itself is shown once
    page = show(client, project)
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
    check()


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
    assert "CODE" not in show(client, project)
    assert isinstance(serving.claim(member), serving.NoWork)
    check()
    if state == "timed_out":
        submitting.submit(annotator=member, assignment_uuid=uuid, sent=answered())
        assert Assignment.objects.get(uuid=uuid).mark == "late"
        assert "CODE" not in show(client, project)  # two of three
    returned = "The platform has told us that you returned it"
    assert (returned in show(client, project)) == (state == "returned")
    # The platform takes it all the same: what is still free counts again.
    assert sessions.record(session_of(panel, "pia"), "approved")
    assert returned not in show(client, project)
    assert Judgment.objects.filter(is_counted=True).count() == (6 if state == "timed_out" else 3)
    with pytest.raises(Refused, match="approved can’t become returned"):
        sessions.record(session_of(panel, "pia"), "returned")
    check()


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
    members.remove(target=member, actor=manager, why="Careless.", exclusion=Exclusion(scope=Scope.ALL))
    assert sessions.record(session_of(panel, "pia"), "approved")
    assert not Judgment.objects.filter(is_counted=True).exists()
    check()
    members.restore(target=member, actor=manager, why="It was somebody else.")
    assert Judgment.objects.filter(is_counted=True).exists()
    check()


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
    check()


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


def test_minutes_instead_of_hits(project: Project, manager: Membership) -> None:
    panel = make_panel(manager, hits_per_session=None, minutes_per_session=5)
    open_batch(project, n_hits=4)
    client, _ = open_link(panel, "pia")
    member = member_of(panel, "pia")
    members.warn(target=member, actor=manager, text="Please read to the end.")
    assert "Please read to the end." in show(client, project)  # there is no desk to read it on
    members.suspend(target=member, actor=manager, why="To be looked at.")
    assert "on hold" in show(client, project)
    members.restore(target=member, actor=manager, why="All is well.")
    for _ in range(2):
        assert "Start rating" in show(client, project)
        rate(member)
        Assignment.objects.submitted().update(active_seconds=151, opened_at=F("submitted_at") - timedelta(minutes=3))
    assert "CODE-completed" in show(client, project)
    assert not Reservation.objects.exists()
    check()


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
    assert "Start rating" in show(client, project)
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
    assert not PanelParticipant.objects.filter(external_id="ben").exists()
    Reservation.objects.filter(annotator=member_of(panel, "cem")).update(until=timezone.now() - timedelta(hours=1))
    assert places.release_overdue() == 2
    check()
    lifecycle.close(batch=batch, actor=manager)
    client, _ = open_link(panel, "dana")
    assert "CODE-nothing_left" in show(client, project)
    assert Reservation.objects.count() == 2  # of the one who has not looked again
    lifecycle.archive(batch=batch, actor=manager)
    assert not Reservation.objects.exists()
    check()


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
    check()


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
    page = show(client, project)
    assert f"/work/{uuid}/" in page
    assert "Time ran out on an earlier HIT." in page
    assert "CODE" not in page
    submitting.submit(annotator=member, assignment_uuid=uuid, sent=answered())
    Assignment.objects.update(active_seconds=60)
    assert "CODE-completed" in show(client, project)
    check()


def test_a_hit_whose_time_ran_out_is_replaced_only_when_its_place_is_gone(
    project: Project, manager: Membership
) -> None:
    panel = make_panel(manager)
    open_batch(project, n_hits=1)
    client, _ = open_link(panel, "pia")
    member = member_of(panel, "pia")
    uuid = expire_open_hit(member)
    open_batch(project, n_hits=1)
    assert f"/work/{uuid}/" in show(client, project)
    assert not Reservation.objects.exists()
    open_link(panel, "ada")
    rate(member_of(panel, "ada"))
    page = show(client, project)
    assert "Start rating" in page
    assert f"/work/{uuid}/" in page
    assert Reservation.objects.get().annotator == member
    lifecycle.close(batch=Batch.objects.latest("pk"), actor=manager)
    # Nothing is left but the HIT itself, which is kept and not counted: still, they did what they were asked.
    page = show(client, project)
    assert f"/work/{uuid}/" in page
    assert "CODE" not in page
    submitting.submit(annotator=member, assignment_uuid=uuid, sent=answered())
    assert Assignment.objects.get(uuid=uuid).mark == "surplus"
    assert "CODE-completed" in show(client, project)
    check()


def test_a_timed_out_session_links_the_hit_that_can_still_be_submitted(project: Project, manager: Membership) -> None:
    panel = make_panel(manager)
    open_batch(project, n_hits=1)
    client, _ = open_link(panel, "pia")
    uuid = expire_open_hit(member_of(panel, "pia"))
    PanelSession.objects.update(due_at=timezone.now() - timedelta(hours=1))
    assert sessions.end_overdue() == 1
    page = show(client, project)
    assert "Time&#x27;s up" in page or "Time's up" in page
    assert f"/work/{uuid}/" in page
    submitting.submit(annotator=member_of(panel, "pia"), assignment_uuid=uuid, sent=answered())
    assert "CODE-completed" in show(client, project)
    check()


def test_a_survey_comes_after_a_full_set_also_beside_a_hit_whose_time_ran_out(
    project: Project, manager: Membership
) -> None:
    panel = make_panel(manager)
    open_batch(project, n_hits=1)
    client, _ = open_link(panel, "pia")
    expire_open_hit(member_of(panel, "pia"))
    open_link(panel, "ada")
    open_batch(project, n_hits=1)
    show(client, project)
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
    page = show(client, project)
    assert waiting in page
    assert "CODE" not in page
    assert "Start rating" not in page
    assert PanelParticipant.objects.get().n_hits_due == 3
    open_link(panel, "pia", client, session=session_id("pia-again"))
    assert PanelSession.objects.count() == 2
    page = show(client, project)
    assert waiting in page
    assert "CODE" not in page
    check()
    open_batch(project, n_hits=2)
    assert "Start rating" in show(client, project)
    for _ in range(2):
        rate(member)
    assert "CODE-completed" in show(client, project)
    check()


def test_places_that_the_project_takes_away_are_no_longer_due(project: Project, manager: Membership) -> None:
    panel = make_panel(manager, hits_per_session=3)
    batch = open_batch(project, n_hits=3)
    client, _ = open_link(panel, "pia")
    rate(member_of(panel, "pia"))
    lifecycle.close(batch=batch, actor=manager)
    assert "CODE-completed" in show(client, project)
    check()


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
    assert "CODE-completed" in show(client, project)
    assert session_of(panel, "pia").state == "finished"
    assert Judgment.objects.filter(is_counted=True).count() == 9
    check()


def test_work_excluded_with_an_earlier_session_counts_again_when_its_code_is_given_again(
    project: Project, manager: Membership
) -> None:
    """The first session was finished, then returned: a new one gets the same code at once, and its work counts."""
    panel = make_panel(manager, counts_unfinished=False)
    open_batch(project, n_hits=1)
    client, _ = open_link(panel, "pia")
    rate(member_of(panel, "pia"))
    assert "CODE-completed" in show(client, project)
    assert sessions.record(session_of(panel, "pia"), "returned")
    assert not Judgment.objects.filter(is_counted=True).exists()
    open_link(panel, "pia", client, session=session_id("pia-again"))
    assert session_of(panel, "pia").state == "finished"
    assert Judgment.objects.filter(is_counted=True).count() == 3
    check()


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
    assert sessions.has_left(session_of(first, "pia").participant)
