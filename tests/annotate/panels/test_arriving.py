"""Arriving by a panel's link: who is let in, what is kept for them, and what nobody else can see."""

import logging
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from pytest_django import Settings

from annotate.models import Assignment, Hit, Judgment, Panel, PanelParticipant, PanelSession, Reservation
from annotate.onboarding import arrival_ids, consent, erasing
from annotate.panels import managing, panel_links, participant_work, sessions
from annotate.work import serving
from annotate.work.openings import explain_start
from config.log_filters import hide_tokens
from projects.accounts import passwords
from projects.accounts.signing_in import CONFIRMED
from projects.errors import Refused
from projects.models import Guesses, LogEntry, Membership, Project, User
from tests.annotate.open_batches import assert_equation, open_batch
from tests.annotate.panels.samples import make_panel, member_of, open_link, rate, session_id, session_of
from tests.concurrency import all_at_once
from tests.factories import make_consent, make_membership, make_project
from tests.people import SignIn

pytestmark = pytest.mark.django_db


@pytest.fixture
def panel(manager: Membership) -> Panel:
    return make_panel(manager)


def test_an_arrival_makes_a_member_with_a_place_and_no_password(project: Project, panel: Panel) -> None:
    """The ids are in no address that follows, and no log names them."""
    make_consent(project)
    open_batch(project, n_hits=1)
    client, answer = open_link(panel, "pia")
    assert answer.status_code == 302
    assert answer["Location"] == f"/p/{project.slug}/session/"
    assert answer["Referrer-Policy"] == "no-referrer"
    member = member_of(panel, "pia")
    assert member.is_participant
    assert member.is_paid_elsewhere
    assert member.user is not None
    assert not member.user.has_usable_password()
    assert Reservation.objects.get().annotator == member
    assert explain_start(member) == ""  # the last place is theirs
    assert_equation()
    assert client.get(answer["Location"])["Location"] == f"/p/{project.slug}/consent/?next=work"
    assert client.get("/desk/")["Location"] == client.get(f"/p/{project.slug}/desk/")["Location"] == answer["Location"]
    assert not any("pia" in f"{entry.before} {entry.after} {entry.object_id}" for entry in LogEntry.objects.all())
    line = logging.LogRecord(
        "web", logging.INFO, "", 1, f'"GET {panel_links.make_path(panel)}?participant=pia HTTP/1.1"', (), None
    )
    hide_tokens(line)
    assert line.getMessage() == '"GET /panel/… HTTP/1.1"'


def test_opening_the_link_again_changes_nothing(project: Project, panel: Panel) -> None:
    """A reload, the back button, a second browser that knows the session, a look at the link by a program."""
    open_batch(project, n_hits=3)
    client, _ = open_link(panel, "pia")
    assert client.head(panel_links.make_path(panel), {"participant": "p2"}).status_code == 204
    for headers in ({"Sec-Purpose": "prefetch"}, {"Sec-Fetch-Dest": "image"}, {"Sec-Fetch-Dest": "iframe"}):
        assert Client().get(panel_links.make_path(panel), {"participant": "p2"}, headers=headers).status_code == 204
    uuid = serving.claim(member_of(panel, "pia"))
    for browser in (client, Client()):
        _, answer = open_link(panel, "pia", browser)
        assert answer.status_code == 302
        assert str(uuid) in browser.get(answer["Location"]).text
    assert PanelParticipant.objects.count() == PanelSession.objects.count() == Assignment.objects.count() == 1
    assert not Reservation.objects.exists()
    assert_equation()


def test_a_new_session_goes_on_with_the_same_set(project: Project, manager: Membership) -> None:
    panel = make_panel(manager, hits_per_session=2)
    open_batch(project, n_hits=4)
    client, _ = open_link(panel, "pia")
    rate(member_of(panel, "pia"))
    _, answer = open_link(panel, "pia", client, session=session_id("pia again"))
    assert answer.status_code == 400  # an id has no spaces
    _, answer = open_link(panel, "pia", client, session=session_id("second"))
    assert answer.status_code == 302
    first, second = PanelSession.objects.order_by("pk")
    assert (first.state, second.state) == ("returned", "arrived")
    assert Reservation.objects.count() == 1
    rate(member_of(panel, "pia"))
    assert isinstance(serving.claim(member_of(panel, "pia")), serving.NoWork)
    page = client.get(answer["Location"]).text
    assert "CODE-completed" in page
    # A third session begins no second set, and shows the same code, also when the panel has ended.
    managing.end_panel(panel=panel, actor=manager)
    open_link(panel, "pia", client, session=session_id("third"))
    assert "CODE-completed" in client.get(answer["Location"]).text
    assert Assignment.objects.count() == 2
    assert not Reservation.objects.exists()
    assert open_link(panel, "new")[1].status_code == 410
    assert_equation()


def test_an_id_of_somebody_else_opens_nothing(
    project: Project, panel: Panel, client_of: SignIn, manager: Membership
) -> None:
    """Spoofed ids: turned away, shown to managers, and let in only by them or by a signature."""
    open_batch(project, n_hits=3)
    open_link(panel, "victim")
    uuid = serving.claim(member_of(panel, "victim"))
    browser, answer = open_link(panel, "victim", session=session_id("thief"))
    assert answer.status_code == 403
    assert "_auth_user_id" not in browser.session
    assert str(uuid) not in answer.text
    assert "CODE" not in answer.text
    thief = session_of(panel, "victim")
    assert (thief.access, sessions.find_session(member_of(panel, "victim"))) == (
        "held",
        PanelSession.objects.earliest("pk"),
    )
    assert open_link(panel, "victim", session=session_id("thief"))[1].status_code == 403  # trying again is no proof
    assert open_link(panel, "other", session=session_id("victim"))[1].status_code == 400  # a known session, another id
    signature = arrival_ids.sign(panel, "victim", session_id("phone"))
    assert open_link(panel, "victim", session=session_id("phone"), signature=f"{signature[:-1]}x")[1].status_code == 400
    assert open_link(panel, "victim", session=session_id("phone"), signature=signature)[1].status_code == 302
    page = client_of(manager).get(f"/p/{project.slug}/panels/{panel.number}/").text
    assert "turned away" in page
    client_of(manager).post(f"/p/{project.slug}/panels/{panel.number}/sessions/{thief.pk}/", {"act": "let in"})
    assert open_link(panel, "victim", session=session_id("thief"))[1].status_code == 302
    # A short id of a session could be guessed, and so is no proof; those who guess are stopped.
    at_home, _ = open_link(panel, "short", session="17")
    assert open_link(panel, "short", session="17")[1].status_code == 403
    Guesses.objects.update(n=Guesses.MOST)
    n_sessions = PanelSession.objects.count()
    for name, session in (("short", "17"), ("victim", session_id("x")), ("new", session_id("victim"))):
        assert open_link(panel, name, session=session)[1].status_code == 429
    assert PanelSession.objects.count() == n_sessions
    # Who brings a proof, or is new, is not kept out by those who guess behind the same address.
    assert open_link(panel, "short", at_home, session="17")[1].status_code == 302
    assert open_link(panel, "victim", session=session_id("thief"))[1].status_code == 302
    phone = arrival_ids.sign(panel, "victim", session_id("tablet"))
    assert open_link(panel, "victim", session=session_id("tablet"), signature=phone)[1].status_code == 302
    assert open_link(panel, "next")[1].status_code == 302


def test_wrong_links_close_no_right_ones(project: Project, panel: Panel) -> None:
    """Any page on the web can make a browser ask for wrong links, and with it everybody behind its address."""
    open_batch(project)
    for _ in range(Guesses.MOST):
        assert Client().get("/panel/unknown/").status_code == 404
    assert Client().get("/panel/unknown/").status_code == 429
    assert open_link(panel, "pia")[1].status_code == 302
    assert open_link(panel, "pia", session=session_id("elsewhere"))[1].status_code == 403


def test_a_session_that_the_sign_in_let_in_opens_nothing_to_others(
    project: Project, panel: Panel, manager: Membership
) -> None:
    """A thief chooses an id and leads the participant's own browser to it, before or after trying it."""
    open_batch(project, n_hits=3)
    client, _ = open_link(panel, "pia")
    assert open_link(panel, "pia", session=session_id("tried"))[1].status_code == 403
    for name in ("tried", "planted"):
        assert open_link(panel, "pia", client, session=session_id(name))[1].status_code == 302
        assert session_of(panel, "pia").access == "own"
        for _ in range(2):
            thief, answer = open_link(panel, "pia", session=session_id(name))
            assert (answer.status_code, "_auth_user_id" in thief.session) == (403, False)
        assert open_link(panel, "pia", client, session=session_id(name))[1].status_code == 302
    assert isinstance(serving.claim(member_of(panel, "pia")), UUID)
    Guesses.objects.update(n=Guesses.MOST)
    assert open_link(panel, "pia", session=session_id("planted"))[1].status_code == 429
    assert open_link(panel, "pia", client, session=session_id("planted"))[1].status_code == 302
    # A signature shows that the id is the platform's; a manager lets others in.
    signature = arrival_ids.sign(panel, "pia", session_id("tried"))
    assert open_link(panel, "pia", session=session_id("tried"), signature=signature)[1].status_code == 302
    assert open_link(panel, "pia", session=session_id("tried"))[1].status_code == 302
    sessions.let_in(session_of(panel, "pia"), actor=manager)
    Guesses.objects.all().delete()
    assert open_link(panel, "pia", session=session_id("planted"))[1].status_code == 302


def test_an_unknown_session_is_held_from_its_first_moment(
    project: Project, panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same link opened twice at once: the second finds what the first has only just stored."""
    open_batch(project, n_hits=3)
    open_link(panel, "pia")
    stored: list[str] = []

    def create(**values: Any) -> PanelSession:
        stored.append(PanelSession(**values).access)
        return create_session(**values)

    create_session = PanelSession.objects.create
    monkeypatch.setattr(PanelSession.objects, "create", create)
    assert open_link(panel, "pia", session=session_id("thief"))[1].status_code == 403
    assert stored == ["held"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"participant": ""}, "has no participant"),
        ({"participant": "{{%PROLIFIC_PID%}}"}, "is not an ID"),
        ({"participant": "PARTICIPANT_ID"}, "is not an ID"),
        ({"participant": "p\x00q"}, "is not an ID"),
        ({"session": "a" * 129}, "is not an ID"),
        ({"study": "other"}, "another study"),
    ],
)
def test_odd_links_say_what_is_wrong(manager: Membership, query: dict[str, str], message: str) -> None:
    panel = make_panel(manager, study_parameter="study", study_id="ours")
    _, answer = open_link(panel, "pia", None, **{"study": "ours", **query})
    assert answer.status_code == 400
    assert message in answer.text
    assert not PanelParticipant.objects.exists()


def test_accounts_of_people_are_left_alone(
    project: Project, panel: Panel, manager: Membership, client_of: SignIn
) -> None:
    """A manager who tries the link stays signed in; a participant who became more is not signed in by a link."""
    open_batch(project)
    browser = client_of(manager)
    assert open_link(panel, "pia", browser)[1].status_code == 409
    assert browser.session["_auth_user_id"] == str(manager.user_id)
    open_link(panel, "pia")
    Membership.objects.filter(pk=member_of(panel, "pia").pk).update(role=Membership.Role.MANAGER)
    assert open_link(panel, "pia")[1].status_code == 403
    # Two participants at one computer: each gets their own session.
    browser, _ = open_link(panel, "ada")
    open_link(panel, "ben", browser)
    assert browser.session["_auth_user_id"] == str(member_of(panel, "ben").user_id)
    Membership.objects.filter(pk=member_of(panel, "ben").pk).update(standing=Membership.Standing.REMOVED)
    assert open_link(panel, "ben", Client())[1].status_code == 403
    assert Client().get("/panel/unknown/").status_code == 404


def arrive(place: tuple[Panel, str]) -> int:
    panel, name = place
    return int(open_link(panel, name)[1].status_code)


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
def test_fifty_arrivals_for_ten_places(project: Project, manager: Membership, scale: int) -> None:
    """Real processes; five of them are one participant in five browsers. Ten get a place, and nobody waits in vain."""
    panel = make_panel(manager)
    batch = open_batch(project, n_hits=5, judgments=2)
    n = 10 + 40 * (scale > 1)
    names = [*(f"p{number}" for number in range(n + 4)), *["twin"] * 5]
    assert set(all_at_once(arrive, [(panel, name) for name in names])) == {302}
    assert Reservation.objects.count() == 10
    assert set(Reservation.objects.values_list("annotator").distinct()) == set(
        Reservation.objects.values_list("annotator")
    )
    assert PanelParticipant.objects.filter(external_id="twin").count() == 1
    assert User.objects.filter(username__startswith="participant-").count() == n + 5
    assert set(Hit.objects.filter(batch=batch).values_list("places_open", flat=True)) == {0}
    assert_equation()


def test_who_deleted_the_account_takes_part_no_second_time(
    project: Project, manager: Membership, settings: Settings, tmp_path: Path
) -> None:
    """A keyed hash of the id stays, which tells neither the id nor anything of other panels."""
    settings.SHARED_DIR = tmp_path
    panel, other = make_panel(manager), make_panel(manager)
    open_batch(project, n_hits=4)
    client, _ = open_link(panel, "pia")
    rate(member_of(panel, "pia"))
    user = member_of(panel, "pia").user
    assert user is not None
    erasing.erase(user=user, removes_work=False)
    for browser in (client, Client()):
        _, answer = open_link(panel, "pia", browser, session=session_id("new"))
        assert (answer.status_code, "_auth_user_id" in browser.session) == (403, False)
        assert "already taken part" in answer.text
        assert "CODE" not in answer.text
    assert not PanelParticipant.objects.exists()
    assert not Reservation.objects.exists()
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "a new key"
    assert open_link(panel, "pia")[1].status_code == 403
    assert open_link(panel, "paul")[1].status_code == open_link(other, "pia")[1].status_code == 302


def test_who_is_done_can_leave_and_delete_the_account(project: Project, panel: Panel) -> None:
    """The page with the code leads there, and the platform's link is the proof that the account has no password for."""
    open_batch(project, n_hits=2)
    client, answer = open_link(panel, "pia")
    member = member_of(panel, "pia")
    consent.agree(annotator=member, version=make_consent(project).version)
    rate(member)
    page = client.get(answer["Location"]).text
    assert "CODE-completed" in page
    assert f"/p/{project.slug}/consent/withdraw/" in page
    assert "/account/delete/" in page
    assert client.get("/account/delete/").status_code == 200
    expire_proof(client)
    page = client.get("/account/delete/", follow=True).text
    assert "Open the study again from the platform" in page
    assert "reset link" not in page
    # Signed in already, a link that anybody could have typed shows nothing, however often it is opened.
    for _ in range(2):
        assert open_link(panel, "pia", client, session=session_id("new"))[1].status_code == 302
        assert client.get("/account/delete/").status_code == 302
    assert open_link(panel, "pia", client)[1].status_code == 302
    assert client.get("/account/delete/").status_code == 200


def test_who_has_no_password_is_led_to_the_platforms_link(
    project: Project, panel: Panel, manager: Membership, client_of: SignIn
) -> None:
    """A password would close the link, so nobody gives them one; whoever became more needs it."""
    open_batch(project)
    client, _ = open_link(panel, "pia")
    member = member_of(panel, "pia")
    page = client.get(f"/p/{project.slug}/work/{serving.claim(member)}/").text
    assert 'data-sign-in-url=""' in page
    assert "Open the study again from the platform" in page
    page = client_of(manager).get(f"/p/{project.slug}/people/{member.pseudonym}/").text
    assert "Create reset link" not in page
    with pytest.raises(Refused, match="opening the study again"):
        passwords.issue_link(target=member, actor=manager)
    Membership.objects.filter(pk=member.pk).update(role=Membership.Role.RESEARCHER)
    member = member_of(panel, "pia")
    assert passwords.issue_link(target=member, actor=manager)
    assert "Ask a manager of your project" in confirm_page(client)


@pytest.mark.parametrize("way", ["password", "factor"])
def test_who_has_a_way_to_sign_in_is_led_to_it(project: Project, panel: Panel, manager: Membership, way: str) -> None:
    """The platform's link opens the account no longer, so a reset link is needed where the way is lost."""
    open_batch(project)
    client, _ = open_link(panel, "pia")
    member = member_of(panel, "pia")
    assert member.user is not None
    if way == "password":
        passwords.change(user=member.user, password="a password of one's own")
        client.force_login(member.user)
    else:
        Authenticator.objects.create(user=member.user, type=Authenticator.Type.TOTP, data={})
    page = client.get(f"/p/{project.slug}/work/{serving.claim(member)}/").text
    assert 'data-sign-in-url="/sign-in/"' in page
    assert open_link(panel, "pia")[1].status_code == 403
    assert passwords.issue_link(target=member_of(panel, "pia"), actor=manager)


def confirm_page(client: Client) -> str:
    expire_proof(client)
    return client.get("/account/delete/", follow=True).text


def expire_proof(client: Client) -> None:
    session = client.session
    session[CONFIRMED] = 0
    session.save()


def test_two_panels_know_one_person_of_a_platform(project: Project, manager: Membership) -> None:
    """A new study needs a new panel: whoever took part before is the same member, with a set of its own."""
    platform = {"platform": Panel.Platform.CONNECT, "hits_per_session": 2, "counts_unfinished": False}
    first, second = (make_panel(manager, code_completed=f"CODE-{n}", **platform) for n in (1, 2))
    batch = open_batch(project, n_hits=5)
    client, _ = open_link(first, "pia")
    member = member_of(first, "pia")
    rate(member)
    # The id alone opens nothing, and what they do meanwhile stays theirs.
    thief, answer = open_link(second, "pia", session=session_id("thief"))
    assert (answer.status_code, "_auth_user_id" in thief.session) == (403, False)
    assert "You took part before, in another browser" in answer.text
    serving.claim(member)
    assert client.get(f"/p/{project.slug}/session/").text.count("1 HIT submitted") == 1
    sessions.let_in(session_of(second, "pia"), actor=manager)
    sessions.record(session_of(second, "pia"), "timed_out", actor=manager)
    assert Assignment.objects.open().count() == 1
    assert open_link(second, "pia", client, session=session_id("pia in 2"))[1].status_code == 400  # no spaces
    _, answer = open_link(second, "pia", client, session=session_id("next"))
    assert member_of(second, "pia") == member
    assert session_of(first, "pia").state == "returned"
    assert Assignment.objects.filter(mark="excluded").count() == 1
    assert Reservation.objects.filter(annotator=member).count() == 2
    for _ in range(2):
        rate(member)
    assert "CODE-2" in client.get(answer["Location"]).text
    assert isinstance(serving.claim(member), serving.NoWork)
    assert_equation()
    # The platform's word on the first study changes nothing of the second, and nobody goes back to it.
    sessions.record(session_of(first, "pia"), "approved", actor=manager)
    assert Assignment.objects.submitted().filter(mark="counted").count() == 3
    _, late = open_link(first, "pia", client, session=session_id("late"))
    assert (late.status_code, "has ended" in late.text) == (410, False)
    assert "You took part in another study of this project" in late.text
    assert open_link(first, "pia", client)[1].status_code == 302
    assert "CODE-2" in client.get(answer["Location"]).text
    assert participant_work.count_done_of_each(PanelParticipant.objects.values_list("pk", flat=True)) == {
        row.pk: n for row, n in zip(PanelParticipant.objects.order_by("pk"), (1, 2), strict=True)
    }
    seen = list(Judgment.objects.filter(annotator=member).values_list("candidate", "criterion"))
    assert len(seen) == len(set(seen))
    assert Assignment.objects.filter(hit__batch=batch).count() == 4
    assert_equation()


def test_an_id_of_a_platform_names_somebody_else_in_another_project(panel: Panel, manager: Membership) -> None:
    of_another = make_membership(make_project("elsewhere"), role=Membership.Role.MANAGER)
    first, second = (make_panel(each, platform=Panel.Platform.CONNECT) for each in (manager, of_another))
    for each in (first, second):
        open_link(each, "pia")
        assert member_of(each, "pia").project == each.project
    assert set(Panel.objects.sharing_ids_with(first)) == {first}
    # Nor in a panel of another platform, or of one that may give an id to two people.
    same = make_panel(manager, platform=Panel.Platform.CONNECT)
    for platform in (Panel.Platform.PROLIFIC, Panel.Platform.GENERIC):
        make_panel(manager, platform=platform)
    assert set(Panel.objects.sharing_ids_with(first)) == {first, same}
    assert set(Panel.objects.sharing_ids_with(panel)) == {panel}


def test_who_is_paid_elsewhere_comes_by_no_panel_that_the_project_pays(project: Project, manager: Membership) -> None:
    first = make_panel(manager, platform=Panel.Platform.CONNECT)
    second = make_panel(manager, platform=Panel.Platform.CONNECT, paid_by=Panel.Payer.PROJECT)
    open_batch(project, n_hits=2)
    client, _ = open_link(first, "pia")
    _, answer = open_link(second, "pia", client, session=session_id("next"))
    assert (answer.status_code, "has ended" in answer.text) == (410, False)
    assert "You took part in another study of this project" in answer.text
    assert "CODE-nothing_left" in answer.text


def test_who_was_removed_comes_by_no_other_panel(
    project: Project, manager: Membership, settings: Settings, tmp_path: Path
) -> None:
    """Nor does who deleted their account; ids of different platforms are different people."""
    settings.SHARED_DIR = tmp_path
    first, second = (make_panel(manager, platform=Panel.Platform.CONNECT) for _ in range(2))
    elsewhere = make_panel(manager)
    open_batch(project, n_hits=4)
    clients = {name: open_link(first, name)[0] for name in ("ada", "ben")}
    Membership.objects.filter(pk=member_of(first, "ada").pk).update(standing=Membership.Standing.REMOVED)
    user = member_of(first, "ben").user
    assert user is not None
    erasing.erase(user=user, removes_work=False)
    for name, client in clients.items():
        for browser in (client, Client()):
            assert open_link(second, name, browser, session=session_id("new"))[1].status_code == 403
    assert not Reservation.objects.filter(annotator__participants__panel=second).exists()
    assert open_link(elsewhere, "ada")[1].status_code == open_link(elsewhere, "ben")[1].status_code == 302
    assert member_of(elsewhere, "ada") != member_of(first, "ada")


def test_the_ids_are_in_their_own_tables_alone(project: Project, manager: Membership) -> None:
    """Planted ids, and a whole session: every other table, and with it every export, the log and the API, has none."""
    panel = make_panel(manager, study_parameter="study")
    open_batch(project)
    open_link(panel, "planted", session="planted-session-0001", study="planted-study")
    rate(member_of(panel, "planted"))
    open_link(panel, "planted", session="planted-session-0002", study="planted-study")
    sessions.record(PanelSession.objects.earliest("pk"), "returned", actor=manager)
    found = set()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT EXISTS (SELECT 1 FROM "{table}" t WHERE t::text LIKE %s)', ["%planted%"])
            found |= {table} if cursor.fetchone()[0] else set()
    assert found == {"annotate_panelparticipant", "annotate_panelsession"}
    assert not any("planted" in str(each.get_decoded()) for each in Session.objects.all())
