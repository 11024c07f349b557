"""Invitations: stored hashed, bounded in time and uses, never above the right of whoever makes them."""

import hashlib
import html
import re
from datetime import timedelta
from functools import partial
from uuid import uuid4

import pytest
from axes.models import AccessAttempt
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from projects.errors import Refused
from projects.models import Guesses, Invitation, LogEntry, Membership, Project, User
from projects.people import invitations, join_by_invitation, members, views
from tests.concurrency import Racers
from tests.factories import make_membership, make_user
from tests.people import SignIn

PASSWORD = "a quiet kettle sings"
Role, Standing = Membership.Role, Membership.Standing

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick_passwords")]


def join_path(token: str) -> str:
    return reverse("projects:join", args=[token])


def sign_up(client: Client, token: str, username: str, **over: str) -> int:
    data = {"username": username, "new_password1": PASSWORD, "new_password2": PASSWORD, **over}
    return client.post(join_path(token), data).status_code


def test_the_link_is_shown_once_and_only_its_hash_is_kept(manager: Membership, client_of: SignIn) -> None:
    client = client_of(manager)
    url = reverse("projects:invitation-new", args=[manager.project.slug])
    sent = {"role": "annotator", "max_uses": 3, "days": 14, "note": "pilot", "key": str(uuid4())}
    page = client.post(url, sent)
    found = re.search(r"http://testserver/join/([\w-]+)/", page.content.decode())
    assert found is not None
    token = found[1]
    assert len(token) * 6 >= 128
    invitation = Invitation.objects.get()
    assert invitation.token_sha256 == hashlib.sha256(token.encode()).hexdigest()
    assert timedelta(days=13, hours=23) < invitation.expires_at - timezone.now() <= timedelta(days=14)
    assert token not in str(Invitation.objects.values()) + str(LogEntry.objects.values())
    for again in (url, reverse("projects:invitation-list", args=[manager.project.slug])):
        assert token not in client.get(again).content.decode()
    assert LogEntry.objects.get(act="invite").actor == manager
    # Sent again, as by a reload, it is the same invitation, until that has ended.
    assert token in client.post(url, sent).content.decode()
    assert token not in client.post(url, {**sent, "key": str(uuid4())}).content.decode()
    assert Invitation.objects.count() == 2
    invitations.revoke(invitation=invitation, actor=manager)
    assert "already created and has ended" in client.post(url, sent).content.decode()
    assert "The form was incomplete." in client.post(url, {**sent, "key": ""}).content.decode()
    assert Invitation.objects.count() == 2


def test_a_link_that_opens_on_this_computer_only_says_so(
    manager: Membership, client_of: SignIn, settings: Settings
) -> None:
    client, url = client_of(manager), reverse("projects:invitation-new", args=[manager.project.slug])
    said = {}
    for site in ("http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000", "https://rate.example.org"):
        settings.SITE_URL = site
        page = client.post(url, {"role": "annotator", "max_uses": 3, "days": 14, "key": str(uuid4())})
        assert f"{site}/join/" in html.unescape(page.content.decode())
        said[site] = "This link opens on this computer only." in page.content.decode()
    assert list(said.values()) == [True, True, True, False]


def test_members_are_linked_from_the_invitations_where_not_all_annotators_are_listed(
    manager: Membership, client_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not back from there: the two pages led to each other in a circle."""
    client, project = client_of(manager), manager.project
    page = reverse("projects:invitation-list", args=[project.slug])
    monkeypatch.setattr(views, "NEWEST_ANNOTATORS", 2)
    for n in range(3):
        assert ("Show all annotators" in client.get(page).text) == (n > 2)
        make_membership(project)
    make_membership(project, role=Role.RESEARCHER)
    make_membership(project, kind=Membership.Kind.IMPORTED, imported_name="Worker 7")
    annotating = make_membership(project, role=Role.MANAGER, is_annotator=True)
    (link,) = re.findall(r'href="([^"]*)">Show all annotators', client.get(page).text)
    shown = {member.pk for member in client.get(html.unescape(link)).context["page"]}
    assert shown == {member.pk for member in project.memberships.people().annotators()}
    assert annotating.pk in shown
    members = client.get(reverse("projects:people-list", args=[project.slug])).text
    assert f'href="{page}"' not in members


def test_signing_up_makes_an_account_and_a_membership(manager: Membership) -> None:
    invitation, token = invitations.create_invitation(actor=manager, role=Role.ANNOTATOR)
    browser = Client()
    page = browser.get(join_path(token)).content.decode()
    assert "Bridges" in page
    assert "annotator" in page
    assert sign_up(browser, token, "nina", role="owner", is_superuser="1", project="1", is_annotator="") == 302
    user = User.objects.get(username="nina")
    membership = user.memberships.get()
    assert (membership.role, membership.is_annotator, membership.project) == ("annotator", True, manager.project)
    assert not user.is_superuser
    assert browser.get(reverse("projects:account")).status_code == 200
    invitation.refresh_from_db()
    assert invitation.n_uses == 1
    assert LogEntry.objects.get(act="join").actor == membership
    assert "nina" not in str(LogEntry.objects.values())
    assert Client().get(join_path(token)).status_code == 410


@pytest.mark.parametrize(
    "over",
    [
        {"username": "MARA"},
        {"username": "a b"},
        {"username": ""},
        {"new_password1": "short", "new_password2": "short"},
        {"new_password2": "something different"},
        {"new_password1": "nina12345678", "new_password2": "nina12345678", "username": "nina12345678"},
    ],
)
def test_a_bad_sign_up_is_shown_back_and_uses_nothing_up(manager: Membership, over: dict[str, str]) -> None:
    invitation, token = invitations.create_invitation(actor=manager, role=Role.ANNOTATOR)
    over = {"username": "nina", **over}
    assert sign_up(Client(), token, **over) == 200
    invitation.refresh_from_db()
    assert invitation.n_uses == 0
    assert Membership.objects.count() == 1


def test_somebody_with_an_account_joins_with_it(manager: Membership, stranger: User, client_of: SignIn) -> None:
    _, token = invitations.create_invitation(actor=manager, role=Role.RESEARCHER, is_annotator=True)
    client = client_of(stranger)
    assert "Join as" in client.get(join_path(token)).content.decode()
    assert not stranger.memberships.exists()
    assert client.post(join_path(token)).status_code == 302
    membership = stranger.memberships.get()
    assert (membership.role, membership.is_annotator) == ("researcher", True)


@pytest.mark.parametrize("standing", Standing.values)
@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.MANAGER])
def test_a_member_who_opens_a_link_reads_that_it_changes_nothing(
    owner: Membership, role: str, standing: str, client_of: SignIn
) -> None:
    member = make_membership(owner.project, role=role, standing=standing, is_annotator=False)
    invitation, token = invitations.create_invitation(actor=owner, role=Role.RESEARCHER, is_annotator=True)
    client = client_of(member)
    for response in (client.get(join_path(token)), client.post(join_path(token))):
        assert response.status_code == 200
        assert "already" in response.content.decode() or "invitation does not" in response.content.decode()
    member.refresh_from_db()
    invitation.refresh_from_db()
    assert (member.role, member.standing, member.is_annotator, invitation.n_uses) == (role, standing, False, 0)


def test_what_each_role_may_invite_to(
    owner: Membership, manager: Membership, researcher: Membership, annotator: Membership
) -> None:
    allowed = {
        owner: {Role.ANNOTATOR, Role.RESEARCHER, Role.MANAGER},
        manager: {Role.ANNOTATOR, Role.RESEARCHER},
        researcher: set(),
        annotator: set(),
    }
    for actor, roles in allowed.items():
        for role in Role:
            if role in roles:
                assert invitations.create_invitation(actor=actor, role=role)[0].role == role
            else:
                with pytest.raises(Refused):
                    invitations.create_invitation(actor=actor, role=role)


@pytest.mark.parametrize("role", ["manager", "owner", "god"])
def test_a_forged_form_cannot_ask_for_more(manager: Membership, role: str, client_of: SignIn) -> None:
    url = reverse("projects:invitation-new", args=[manager.project.slug])
    sent = {"role": role, "max_uses": 1, "days": 1, "key": str(uuid4())}
    assert client_of(manager).post(url, sent).status_code == 200
    assert not Invitation.objects.exists()


def test_the_database_itself_refuses_an_invitation_to_own(manager: Membership) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Invitation.objects.create(
            project=manager.project, role="owner", token_sha256="x", expires_at=timezone.now(), created_by=manager
        )


def test_the_welcome_is_in_the_language_of_the_project(manager: Membership) -> None:
    _, token = invitations.create_invitation(actor=manager, role=Role.ANNOTATOR)
    browser = Client(headers={"Accept-Language": "de"})
    assert sign_up(browser, token, "nina") == 302
    page = browser.get(f"/p/{manager.project.slug}/desk/").content.decode()
    assert "Welcome to Bridges." in page
    assert "Your desk" in page


def test_links_that_are_over_make_nobody_a_member(manager: Membership, client_of: SignIn) -> None:
    revoked, revoked_token = invitations.create_invitation(actor=manager, role=Role.ANNOTATOR)
    old, old_token = invitations.create_invitation(actor=manager, role=Role.ANNOTATOR)
    url = reverse("projects:invitation-revoke", args=[manager.project.slug, revoked.pk])
    assert client_of(manager).post(url).status_code == 302
    assert client_of(manager).post(url).status_code == 302
    assert LogEntry.objects.filter(act="revoke invitation").count() == 1
    Invitation.objects.filter(pk=old.pk).update(expires_at=timezone.now())
    for token in (revoked_token, old_token):
        assert Client().get(join_path(token)).status_code == 410
        assert sign_up(Client(), token, "nina") == 410
    assert not User.objects.filter(username="nina").exists()


def test_nobody_joins_a_deleted_project(manager: Membership) -> None:
    _, token = invitations.create_invitation(actor=manager, role=Role.ANNOTATOR)
    Project.objects.update(deleted_at=timezone.now())
    assert Client().get(join_path(token)).status_code == 410
    with pytest.raises(Refused):
        join_by_invitation.sign_up(token=token, username="nina", password=PASSWORD)
    assert not User.objects.filter(username="nina").exists()


def test_invitations_end_with_the_right_to_make_them(owner: Membership, manager: Membership) -> None:
    _, token = invitations.create_invitation(actor=manager, role=Role.ANNOTATOR)
    members.change_role(target=manager, role=Role.RESEARCHER, actor=owner)
    assert Client().get(join_path(token)).status_code == 410
    assert LogEntry.objects.filter(act="revoke invitation").count() == 1


def test_a_right_lost_a_moment_ago_makes_no_invitation(owner: Membership, manager: Membership) -> None:
    stale = Membership.objects.get(pk=manager.pk)
    members.set_standing(target=manager, standing=Standing.REMOVED, actor=owner)
    with pytest.raises(Refused):
        invitations.create_invitation(actor=stale, role=Role.ANNOTATOR)
    assert not Invitation.objects.exists()


@pytest.mark.parametrize("lost", [{"standing": Standing.REMOVED}, {"role": Role.RESEARCHER}])
def test_whoever_may_no_longer_invite_lets_nobody_in(manager: Membership, lost: dict[str, str]) -> None:
    invitation, token = invitations.create_invitation(actor=manager, role=Role.ANNOTATOR)
    Membership.objects.filter(pk=manager.pk).update(**lost)
    with pytest.raises(Refused):
        join_by_invitation.sign_up(token=token, username="nina", password=PASSWORD)
    assert Client().get(join_path(token)).status_code == 410
    invitation.refresh_from_db()
    assert (invitation.n_uses, invitation.revoked_at) == (0, None)
    assert not User.objects.filter(username="nina").exists()


def invite_or_remove(owner: Membership, manager: Membership, stale: Membership, n: int) -> None:
    try:
        if n:
            invitations.create_invitation(actor=stale, role=Role.ANNOTATOR)
        else:
            members.set_standing(target=manager, standing=Standing.REMOVED, actor=owner)
    except Refused:
        pass


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
def test_a_manager_removed_in_the_same_instant_leaves_no_usable_invitation(
    racers: Racers, owner: Membership, manager: Membership
) -> None:
    for _ in range(8):
        stale = Membership.objects.select_related("project").get(pk=manager.pk)
        racers.all_at_once(partial(invite_or_remove, owner, manager, stale), range(2))
        assert not Invitation.objects.usable(timezone.now()).exists()
        members.set_standing(target=manager, standing=Standing.ACTIVE, actor=owner)


def test_guessing_is_held_back_for_that_address_only(manager: Membership) -> None:
    _, token = invitations.create_invitation(actor=manager, role=Role.ANNOTATOR)
    for n in range(Guesses.MOST):
        assert Client().get(join_path(f"guess-{n}"), HTTP_USER_AGENT=f"agent {n}").status_code == 404
    assert Client().get(join_path("one-more")).status_code == 429
    # Any page on the web can make a browser ask for wrong links, and everybody behind its address would be kept out.
    assert Client().get(join_path(token)).status_code == 200
    assert sign_up(Client(), token, "nina") == 302
    assert Client().get(join_path("one-more"), REMOTE_ADDR="198.51.100.1").status_code == 404
    Guesses.objects.update(since=timezone.now() - timedelta(minutes=16))
    assert Client().get(join_path("a-new-count")).status_code == 404
    assert Guesses.objects.exclude(address="198.51.100.1").get().n == 1


def test_a_truncated_link_sent_to_many_locks_nobody_out(manager: Membership, quick_passwords: None) -> None:
    make_user("nina", password=PASSWORD)
    for _ in range(Guesses.MOST):
        Client().get(join_path("trunc"))
    response = Client().post(reverse("projects:sign-in"), {"username": "nina", "password": PASSWORD})
    assert response.status_code == 302
    assert not AccessAttempt.objects.exists()


def test_guesses_from_nowhere_known_are_counted_too(db: None) -> None:
    for address in ("", "", "x" * 300, "x" * 300):
        assert Client().get(join_path("guess"), REMOTE_ADDR=address).status_code == 404
    assert Guesses.objects.get().n == 4
    Guesses.objects.update(since=timezone.now() - timedelta(minutes=16))
    Guesses.forget_old()
    assert not Guesses.objects.exists()


def test_joining_needs_a_csrf_token(manager: Membership) -> None:
    _, token = invitations.create_invitation(actor=manager, role=Role.ANNOTATOR)
    assert sign_up(Client(enforce_csrf_checks=True), token, "nina") == 403


def redeem(token: str, n: int) -> bool:
    try:
        join_by_invitation.sign_up(token=token, username=f"runner-{n}", password=PASSWORD)
    except Refused:
        return False
    return True


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
@pytest.mark.parametrize("max_uses", [1, 7])
def test_fifty_redemptions_at_once_take_no_more_than_there_are(
    racers: Racers, manager: Membership, max_uses: int
) -> None:
    invitation, token = invitations.create_invitation(actor=manager, role=Role.ANNOTATOR, max_uses=max_uses)
    assert sum(racers.all_at_once(partial(redeem, token), range(50))) == max_uses
    invitation.refresh_from_db()
    assert invitation.n_uses == max_uses
    assert manager.project.memberships.filter(role=Role.ANNOTATOR).count() == max_uses
    assert User.objects.filter(username__startswith="runner-").count() == max_uses


def join(token: str, user: User, _: int) -> bool:
    try:
        join_by_invitation.join(token=token, user=user)
    except join_by_invitation.AlreadyMember:
        return False
    return True


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
def test_one_person_clicking_twice_uses_one_place_up(racers: Racers, manager: Membership, stranger: User) -> None:
    invitation, token = invitations.create_invitation(actor=manager, role=Role.ANNOTATOR, max_uses=10)
    assert sum(racers.all_at_once(partial(join, token, stranger), range(10))) == 1
    invitation.refresh_from_db()
    assert invitation.n_uses == 1
