"""The first account of a fresh site: once, with the code of the terminal, from wherever the request comes."""

from io import StringIO

import pytest
from axes.models import AccessAttempt
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client

from config.management.commands.serve import Command as Serve
from projects.accounts import first_owner
from projects.errors import Refused
from projects.models import Project, User
from tests.concurrency import all_at_once
from tests.factories import make_user

PAGE, SIGN_IN = "/first-owner/", "/sign-in/"
PASSWORD = "four plain words suffice"
FORM = {"username": "olga", "new_password1": PASSWORD, "new_password2": PASSWORD}


@pytest.mark.django_db
def test_a_fresh_site_offers_its_first_account_once(client: Client) -> None:
    assert client.get(SIGN_IN)["Location"] == PAGE
    assert "Create the first owner" in client.get(PAGE).content.decode()
    assert Serve()._find_first_code() == first_owner.make_code()
    printed = StringIO()
    call_command("first_owner", stdout=printed)
    code = printed.getvalue().strip().split()[-1]
    # Typed as people type it.
    done = client.post(PAGE, {**FORM, "code": f" {code.upper().replace('-', ' ')} "})
    assert done["Location"] == "/projects/new/"
    user = User.objects.get()
    assert (user.username, user.can_create_projects, user.is_staff, user.is_superuser) == ("olga", True, False, False)
    assert client.get("/projects/new/").status_code == 200
    # From now on the page is closed, and the code worthless.
    other = Client()
    assert other.get(SIGN_IN).status_code == 200
    assert other.get(PAGE)["Location"] == SIGN_IN
    assert other.post(PAGE, {**FORM, "username": "eve", "code": code})["Location"] == SIGN_IN
    assert User.objects.count() == 1
    assert Serve()._find_first_code() == ""
    with pytest.raises(CommandError, match=r"To add another, run: manage.py create_account NAME"):
        call_command("first_owner")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("site", "shown"), [("https://rate.example.org", f"at https://rate.example.org{PAGE}\n"), ("", f"Open {PAGE} on")]
)
def test_the_command_names_the_whole_address_where_it_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], site: str, shown: str
) -> None:
    monkeypatch.setattr(settings, "SITE_URL", site)
    call_command("first_owner")
    assert shown in capsys.readouterr().out
    call_command("reset_link", make_user("olga").username)
    assert ("prepend the address" in capsys.readouterr().out) is not site.startswith("http")


@pytest.mark.django_db
def test_without_the_code_nobody_is_local_enough(client: Client) -> None:
    for number in range(settings.AXES_FAILURE_LIMIT):
        # The loopback proves nothing behind a proxy, and a header that anyone can send even less.
        answer = client.post(
            PAGE, {**FORM, "code": f"guess-{number}"}, headers={"X-Forwarded-For": f"127.0.0.{number}"}
        )
        assert answer.status_code == (422 if number < settings.AXES_FAILURE_LIMIT - 1 else 429), number
    code = first_owner.make_code()
    assert client.post(PAGE, {**FORM, "code": code}).status_code == 429
    assert not User.objects.exists()
    # Neither the guesses nor the password are stored.
    stored = str(list(AccessAttempt.objects.values()))
    assert "guess" not in stored
    assert PASSWORD not in stored
    # Guesses from one address keep nobody out at another.
    elsewhere = Client(REMOTE_ADDR="192.0.2.7")
    assert elsewhere.post(PAGE, {**FORM, "code": code, "new_password2": "x"}).status_code == 422
    assert elsewhere.post(PAGE, {**FORM, "code": code}).status_code == 302


@pytest.mark.django_db
def test_a_site_that_was_in_use_is_never_fresh_again() -> None:
    make_user("anna").delete()
    assert first_owner.is_fresh()
    Project.objects.create(slug="old", name="Old")
    assert not first_owner.is_fresh()


def create(name: str) -> bool:
    try:
        first_owner.create_first_owner(User(username=name), PASSWORD)
    except Refused:
        return False
    return True


@pytest.mark.django_db(transaction=True)
def test_of_several_at_once_one_becomes_the_owner() -> None:
    assert sorted(all_at_once(create, ["one", "two", "three"])) == [False, False, True]
    assert User.objects.count() == 1
