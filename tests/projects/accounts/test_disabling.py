import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from projects.api import tokens
from projects.errors import Refused
from projects.models import Act, LogEntry, Membership, User
from projects.people import invitations, join_by_invitation
from tests.factories import make_membership, make_user
from tests.people import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick_passwords")]
PASSWORD = "correct-horse-battery"


def test_a_disabled_account_opens_by_no_way_and_an_enabled_one_by_a_new_sign_in(
    manager: Membership, client_of: SignIn, capsys: pytest.CaptureFixture[str]
) -> None:
    user = manager.user
    assert user is not None
    user.email = "mara@example.org"
    user.set_password(PASSWORD)
    user.save()
    client, (_, token) = client_of(manager), tokens.make_token(membership=manager, name="script", can_write=False)

    def ask_with_token() -> int:
        bearer = {"authorization": f"Bearer {token}"}
        return Client().get("/api/v1/projects/bridges/", headers=bearer).status_code

    def sign_in() -> int:
        return Client().post("/sign-in/", {"username": user.username, "password": PASSWORD}).status_code

    assert (client.get("/account/").status_code, ask_with_token(), sign_in()) == (200, 200, 302)
    call_command("disable_account", "Mara@example.org")
    assert capsys.readouterr().out == f"Account “{user.username}” disabled.\n"
    assert (client.get("/account/").status_code, ask_with_token(), sign_in()) == (302, 401, 200)
    call_command("disable_account", user.username)
    assert "is already disabled" in capsys.readouterr().out

    call_command("disable_account", user.username, "--enable")
    assert client.get("/account/").status_code == 302, "the session had ended"
    assert (ask_with_token(), sign_in()) == (200, 302)
    logged = LogEntry.objects.filter(act__in=[Act.DISABLE_ACCOUNT, Act.ENABLE_ACCOUNT]).order_by("pk")
    assert [(entry.act, entry.actor, entry.object_id) for entry in logged] == [
        (Act.DISABLE_ACCOUNT, None, str(manager.pk)),
        (Act.ENABLE_ACCOUNT, None, str(manager.pk)),
    ]


def test_the_invitations_of_a_disabled_account_let_nobody_in_and_end_with_it(manager: Membership) -> None:
    _, token = invitations.create_invitation(actor=manager, role=Membership.Role.RESEARCHER, max_uses=9)
    user, path = User.objects.get(memberships=manager), f"/join/{token}/"
    sent = {"username": "nina", "new_password1": PASSWORD, "new_password2": PASSWORD}

    def try_link() -> tuple[int, int]:
        return Client().get(path).status_code, Client().post(path, sent).status_code

    # Also where it was disabled otherwise than by the command, and under the lock, after the page was opened.
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert try_link() == (410, 410)
    with pytest.raises(Refused):
        join_by_invitation.join(token=token, user=make_user("otto"))
    User.objects.filter(pk=user.pk).update(is_active=True)
    assert Client().get(path).status_code == 200

    call_command("disable_account", user.username)
    assert try_link() == (410, 410)
    entry = LogEntry.objects.get(act=Act.REVOKE_INVITATION)
    assert (entry.actor, entry.why) == (None, "The account of the member who created it was disabled.")
    call_command("disable_account", user.username, "--enable")
    assert try_link() == (410, 410), "whoever has the link may be why the account was disabled"
    assert Membership.objects.count() == 1


def test_projects_that_are_left_without_an_owner_are_named(
    owner: Membership, manager: Membership, capsys: pytest.CaptureFixture[str]
) -> None:
    other = make_membership(owner.project, role=Membership.Role.OWNER)
    assert owner.user is not None
    assert manager.user is not None
    assert other.user is not None
    for user in (manager.user, other.user):
        call_command("disable_account", user.username)
        assert "owner" not in capsys.readouterr().out, "one can still act"
    call_command("disable_account", owner.user.username)
    assert capsys.readouterr().out.endswith("\nNo owner can act any more in: bridges.\n")
    call_command("disable_account", other.user.username, "--enable")
    assert "No owner" not in capsys.readouterr().out


def test_an_account_that_is_unknown_or_not_the_only_one_is_refused() -> None:
    for name in ("anna", "berta"):
        make_user(name, email="lab@example.org")
    with pytest.raises(CommandError, match="No user “nobody”"):
        call_command("disable_account", "nobody")
    with pytest.raises(CommandError, match=r"address lab@example\.org: anna, berta\. Use a username"):
        call_command("disable_account", "lab@example.org")
