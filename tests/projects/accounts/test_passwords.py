"""Changing a password, and links that reset one."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils.http import urlsafe_base64_encode
from pytest_django import Settings

from projects.accounts import passwords
from projects.errors import Refused
from projects.models import LogEntry, Membership, Project, User
from tests.concurrency import all_at_once
from tests.factories import make_membership, make_project, make_user
from tests.people import SignIn

OLD, NEW = "correct horse battery", "a quiet kettle sings"
Role = Membership.Role

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick_passwords")]


def new_password(first: str = NEW, second: str | None = None) -> dict[str, str]:
    return {"new_password1": first, "new_password2": first if second is None else second}


def test_changing_the_password_ends_every_other_session(client_of: SignIn) -> None:
    user = make_user("anna", password=OLD)
    here, elsewhere = client_of(user), client_of(user)
    page = reverse("projects:password-change")
    assert here.post(page, {"old_password": "wrong", **new_password()}).status_code == 200
    assert elsewhere.get(page).status_code == 200
    assert here.post(page, {"old_password": OLD, **new_password()}).status_code == 302
    assert here.get(page).status_code == 200
    assert elsewhere.get(page).status_code == 302
    assert User.objects.get(pk=user.pk).check_password(NEW)


def test_the_current_password_can_be_guessed_as_seldom_as_at_the_sign_in(client_of: SignIn, settings: Settings) -> None:
    """Whoever finds a session open could try as many passwords as they like."""
    client, page = client_of(make_user("anna", password=OLD)), reverse("projects:password-change")

    def change(old: str) -> int:
        return client.post(page, {"old_password": old, **new_password()}).status_code

    assert [change("wrong") for _ in range(settings.AXES_FAILURE_LIMIT)][:-1] == [200] * 9
    assert change(OLD) == 429
    assert User.objects.get(username="anna").check_password(OLD)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("short", None),
        ("password1234", None),
        ("123456789012345", None),
        ("anna-anna-anna", None),
        (NEW, "another one here"),
    ],
)
def test_weak_and_mistyped_passwords_are_shown_back(client_of: SignIn, first: str, second: str | None) -> None:
    user = make_user("anna-anna-anna", password=OLD)
    data = {"old_password": OLD, **new_password(first, second)}
    response = client_of(user).post(reverse("projects:password-change"), data)
    assert response.status_code == 200
    assert "errorlist" in response.content.decode()
    assert User.objects.get(pk=user.pk).check_password(OLD)


def test_long_passwords_count_whole(client_of: SignIn) -> None:
    user = make_user("anna", password=OLD)
    long = "x7 " * 100 + "end"
    assert passwords.link_path(user)
    client_of(user).post(reverse("projects:password-change"), {"old_password": OLD, **new_password(long)})
    fresh = User.objects.get(pk=user.pk)
    assert fresh.check_password(long)
    assert not fresh.check_password(long[:-1])


def test_a_manager_makes_a_link_that_works_once(manager: Membership, annotator: Membership, client_of: SignIn) -> None:
    assert annotator.user is not None
    session = client_of(annotator)
    url = reverse("projects:member-reset-link", args=[annotator.project.slug, annotator.pseudonym])
    page = client_of(manager).post(url)
    found = re.search(r"http://testserver(/reset/[^<]+)", page.content.decode())
    assert found is not None
    assert "no-store" in page["Cache-Control"]
    entry = LogEntry.objects.get(act="issue reset link")
    assert (entry.actor, entry.object_id) == (manager, str(annotator.pk))
    assert found[1] not in str(LogEntry.objects.values())

    browser = Client()
    assert browser.get(found[1]).status_code == 200
    assert browser.post(found[1], new_password("short")).status_code == 200
    assert browser.post(found[1], new_password()).status_code == 302
    assert User.objects.get(pk=annotator.user.pk).check_password(NEW)
    assert session.get(reverse("projects:account")).status_code == 302
    assert browser.get(found[1]).status_code == 410
    assert browser.post(found[1], new_password("another good password")).status_code == 410
    assert User.objects.get(pk=annotator.user.pk).check_password(NEW)


def test_a_link_ends_after_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    user = make_user("anna", password=OLD)
    path = passwords.link_path(user)
    now = PasswordResetTokenGenerator._now
    from datetime import timedelta

    for minutes, status in ((59, 200), (61, 410)):
        monkeypatch.setattr(
            PasswordResetTokenGenerator, "_now", lambda self, m=minutes: now(self) + timedelta(minutes=m)
        )
        assert Client().get(path).status_code == status


@pytest.mark.parametrize(
    "path", ["/reset/MQ/x/", "/reset/!!/a-b/", "/reset/OTk5OTk5OTk5OTk5OTk5OTk5OTk5/a-b/", "/reset/LTE/a-b/"]
)
def test_links_that_never_were_say_no_more_than_old_ones(path: str) -> None:
    assert Client().get(path).status_code == 410
    assert Client().post(path, new_password()).status_code == 410


def test_the_link_keeps_to_the_site_whatever_host_is_named(
    manager: Membership, annotator: Membership, client_of: SignIn, settings: Settings
) -> None:
    settings.SITE_URL = "https://judge.example.org"
    url = reverse("projects:member-reset-link", args=[annotator.project.slug, annotator.pseudonym])
    page = client_of(manager).post(url, HTTP_HOST="localhost").content.decode()
    assert "https://judge.example.org/reset/" in page
    assert "localhost" not in page
    assert client_of(manager).post(url, HTTP_HOST="evil.example").status_code == 400


def _target(kind: str, project: Project) -> Membership:
    """Members whose account opens more than a manager of the project holds."""
    flags = {kind: True} if kind in {"is_superuser", "is_staff", "can_create_projects"} else {}
    role = Role(kind) if kind in Role.values else Role.ANNOTATOR
    member = make_membership(project, make_user("target", **flags), role=role)
    if kind.startswith("elsewhere"):
        other = make_project("elsewhere")
        make_membership(other, member.user, standing=kind.removeprefix("elsewhere").strip() or "active")
    if kind.startswith("removed"):
        Membership.objects.filter(pk=member.pk).update(standing="removed", role=kind.removeprefix("removed "))
        member.refresh_from_db()
    return member


@pytest.mark.parametrize(
    "kind",
    [
        "is_superuser",
        "is_staff",
        "can_create_projects",
        "owner",
        "manager",
        "elsewhere",
        "elsewhere suspended",
        "elsewhere removed",
        "removed owner",
        "removed manager",
    ],
)
def test_a_manager_cannot_take_over_an_account_that_opens_more(
    kind: str, manager: Membership, client_of: SignIn
) -> None:
    target = _target(kind, manager.project)
    with pytest.raises(Refused):
        passwords.issue_link(target=target, actor=manager)
    url = reverse("projects:member-reset-link", args=[manager.project.slug, target.pseudonym])
    response = client_of(manager).post(url, follow=True)
    assert "/reset/" not in response.content.decode()
    assert not LogEntry.objects.filter(act="issue reset link").exists()


def test_a_right_lost_a_moment_ago_issues_no_link(
    owner: Membership, manager: Membership, annotator: Membership
) -> None:
    stale = Membership.objects.get(pk=manager.pk)
    Membership.objects.filter(pk=manager.pk).update(role=Role.RESEARCHER)
    with pytest.raises(Refused, match="managers"):
        passwords.issue_link(target=annotator, actor=stale)


def test_an_owner_issues_links_for_managers_but_not_for_owners(owner: Membership, manager: Membership) -> None:
    assert passwords.issue_link(target=manager, actor=owner)
    second = make_membership(owner.project, role=Role.OWNER)
    with pytest.raises(Refused):
        passwords.issue_link(target=second, actor=owner)
    with pytest.raises(Refused):
        passwords.issue_link(target=owner, actor=owner)


def test_managing_the_other_project_too_is_enough(manager: Membership, annotator: Membership) -> None:
    other = make_project("other")
    make_membership(other, annotator.user)
    mine = make_membership(other, manager.user, role=Role.RESEARCHER)
    with pytest.raises(Refused):
        passwords.issue_link(target=annotator, actor=manager)
    Membership.objects.filter(pk=mine.pk).update(role=Role.MANAGER)
    assert passwords.issue_link(target=annotator, actor=manager)
    Membership.objects.filter(pk=mine.pk).update(standing=Membership.Standing.SUSPENDED)
    with pytest.raises(Refused):
        passwords.issue_link(target=annotator, actor=manager)


def _open_elsewhere(target: Membership, manager: Membership) -> None:
    make_membership(make_project("elsewhere"), target.user, role=Role.MANAGER)


def _make_staff(target: Membership, manager: Membership) -> None:
    User.objects.filter(memberships=target).update(is_staff=True)


def _demote(target: Membership, manager: Membership) -> None:
    Membership.objects.filter(pk=manager.pk).update(role=Role.RESEARCHER)


def _remove(target: Membership, manager: Membership) -> None:
    Membership.objects.filter(pk=manager.pk).update(standing=Membership.Standing.REMOVED)


def _disable(target: Membership, manager: Membership) -> None:
    User.objects.filter(memberships=manager).update(is_active=False)


def _erase(target: Membership, manager: Membership) -> None:
    Membership.objects.filter(pk=manager.pk).update(user=None)


@pytest.mark.parametrize("happen", [_open_elsewhere, _make_staff, _demote, _remove, _disable, _erase])
def test_a_link_works_no_longer_than_its_issuer_may_issue_it(
    happen: Callable[[Membership, Membership], None], manager: Membership, annotator: Membership
) -> None:
    """Whoever kept a link could otherwise take over what the account opens by then."""
    path = passwords.issue_link(target=annotator, actor=manager)
    *_, uidb64, token, _ = path.split("/")
    assert Client().get(path).status_code == 200
    happen(annotator, manager)
    assert Client().get(path).status_code == 410
    assert Client().post(path, new_password()).status_code == 410
    with pytest.raises(Refused):  # also if it happens after the page was opened
        passwords.reset(uidb64=uidb64, token=token, password=NEW)
    assert annotator.user is not None
    assert not User.objects.get(pk=annotator.user.pk).check_password(NEW)


def test_a_link_cannot_be_turned_into_one_of_somebody_else(
    manager: Membership, owner: Membership, annotator: Membership
) -> None:
    assert annotator.user is not None
    *_, token, _ = passwords.issue_link(target=annotator, actor=manager).split("/")
    for whom in (f"{annotator.user.pk}", f"{annotator.user.pk}-{owner.pk}", f"{annotator.user.pk}-{2**62}"):
        path = reverse("projects:password-reset", args=[urlsafe_base64_encode(whom.encode()), token])
        assert Client().get(path).status_code == 410


def test_the_operator_makes_a_link_for_anybody(owner: Membership, capsys: pytest.CaptureFixture[str]) -> None:
    assert owner.user is not None
    call_command("reset_link", "olga")
    found = re.search(r"/reset/\S+", capsys.readouterr().out)
    assert found is not None
    make_membership(make_project("elsewhere"), owner.user, role=Role.MANAGER)
    assert Client().get(found[0]).status_code == 200
    assert LogEntry.objects.get(act="issue reset link").actor is None
    other = make_user("zoe", password=OLD)
    call_command("reset_link", "zoe")
    *_, uidb64, token, _ = capsys.readouterr().out.split()[0].split("/")
    passwords.reset(uidb64=uidb64, token=token, password=NEW)
    assert [User.objects.get(pk=each.pk).check_password(NEW) for each in (owner.user, other)] == [False, True]
    User.objects.filter(pk=other.pk).update(is_active=False)
    for name in ("zoe", "nobody"):
        with pytest.raises(CommandError, match=f"No active user “{name}”"):
            call_command("reset_link", name)


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
def test_many_uses_of_one_link_at_once_set_one_password() -> None:
    user = make_user("anna", password=OLD)
    *_, uidb64, token, _ = passwords.link_path(user).split("/")

    def use(n: int) -> bool:
        try:
            passwords.reset(uidb64=uidb64, token=token, password=f"password number {n}")
        except Refused:
            return False
        return True

    assert sum(all_at_once(use, range(20))) == 1


def test_only_who_has_a_password_is_offered_to_change_it(client_of: SignIn) -> None:
    for password, is_offered in ((OLD, True), (None, False)):
        client = client_of(make_user(password=password))
        for name in ("account", "security"):
            text = client.get(reverse(f"projects:{name}")).content.decode()
            assert (reverse("projects:password-change") in text) is is_offered
