"""Single sign-on against a provider of our own: it opens the account that is linked, and no token that is not ours."""

import html
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from config.checks import check_settings
from projects.accounts import single_sign_on
from projects.models import Invitation, Membership, User
from projects.people.invitations import create_invitation
from tests.factories import make_user
from tests.projects.accounts.codes import give_app, show_code
from tests.projects.accounts.oidc_provider import CLIENT_ID, CLIENT_SECRET, Provider, provider

PASSWORD = "correct horse battery"
START, DESK = reverse("projects:single-sign-on"), reverse("annotate:desk")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick_passwords")]


@pytest.fixture
def idp(settings: Settings) -> Iterator[Provider]:
    with provider() as found:
        settings.OIDC_ISSUER, settings.OIDC_NAME = found.url, "Uni Login"
        settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
        yield found


@pytest.fixture
def alice() -> User:
    return make_user("alice", password=PASSWORD)


def leave(client: Client, path: str = START, **data: str) -> str:
    """The address at the provider to which the page leads."""
    page = client.post(path, data)
    assert page.status_code == 200, page
    found = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', page.content.decode())
    assert found
    return html.unescape(found[1])


def come_back(client: Client, idp: Provider, path: str = START, **data: str) -> Any:
    return client.get(idp.sign_in(leave(client, path, **data)))


def is_signed_in(client: Client) -> bool:
    return client.get(reverse("projects:account")).status_code == 200


def signed_in(user: User) -> Client:
    client = Client()
    assert (
        client.post(reverse("projects:sign-in"), {"username": user.username, "password": PASSWORD}).status_code == 302
    )
    return client


def test_without_a_provider_there_is_nothing(alice: User) -> None:
    client = signed_in(alice)
    assert "Sign in with" not in Client().get(reverse("projects:sign-in")).content.decode()
    assert "Uni Login" not in client.get(reverse("projects:security")).content.decode()
    names = ("single-sign-on", "confirm-single-sign-on", "identity-link")
    assert [client.post(reverse(f"projects:{name}")).status_code for name in names] == [404] * 3
    assert client.get(reverse("projects:single-sign-on-callback")).status_code == 404


def test_a_linked_identity_opens_its_account_and_never_makes_one(idp: Provider, alice: User) -> None:
    assert "Sign in with Uni Login" in Client().get(reverse("projects:sign-in")).content.decode()
    unknown = Client()
    answer = come_back(unknown, idp)
    assert answer.status_code == 403
    assert "No account is linked" in answer.content.decode()
    assert not is_signed_in(unknown)
    assert User.objects.count() == 1

    client = signed_in(alice)
    linked = come_back(client, idp, reverse("projects:identity-link"))
    assert linked["Location"] == reverse("projects:security")
    assert "alice@example.org" in client.get(linked["Location"]).content.decode()
    identity = SocialAccount.objects.get()
    assert (identity.user, identity.uid, identity.extra_data) == (alice, "7", {"email": "alice@example.org"})

    visitor = Client()
    visitor.get(reverse("projects:sign-in"))
    planted = visitor.session
    planted["left"] = "over"
    planted.save()
    back = come_back(visitor, idp, next="/account/keys/")
    assert back["Location"] == "/account/keys/"
    assert is_signed_in(visitor)
    assert visitor.session.session_key != planted.session_key
    assert {"S256"} == {idp.asked["code_challenge_method"]}
    assert idp.asked["redirect_uri"] == "http://testserver/sign-in/sso/callback/"
    # Whoever changes their address at the provider stays the same person, and whoever takes the old one is another.
    idp.claims["email"] = "alice.smith@example.org"
    assert come_back(Client(), idp).status_code == 302
    idp.claims = {"sub": "8", "email": "alice@example.org", "email_verified": True}
    assert come_back(Client(), idp).status_code == 403
    # Tokens of the provider are not kept.
    assert "opaque" not in str([row.get_decoded() for row in Session.objects.all()])
    alice.is_active = False
    alice.save()
    idp.claims["sub"] = "7"
    assert come_back(Client(), idp).status_code == 403


def test_no_token_but_one_for_this_sign_in_is_believed(idp: Provider, alice: User, settings: Settings) -> None:
    single_sign_on.link(user=alice, uid="7", email="")
    past = int(time.time()) - 3600
    unkind: list[dict[str, Any]] = [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another-client"},
        {"aud": [CLIENT_ID, "another-client"], "azp": "another-client"},
        {"aud": None},
        {"iss": "https://other.example.org"},
        {"exp": past},
        {"exp": None},
        {"iat": None},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": {"$ne": 1}},
        {"sub": "7" * 300},
    ]
    for idp.token in unkind:
        client = Client()
        answer = come_back(client, idp)
        assert (answer.status_code, is_signed_in(client)) == (400, False), idp.token
    idp.token = {}
    for idp.signing in ("none", "HS256", "another key"):
        assert come_back(Client(), idp).status_code == 400, idp.signing
    idp.signing = "ES256"
    client = Client()
    address = idp.sign_in(leave(client))
    assert Client().get(address).status_code == 400, "The state belongs to another session."
    assert client.get(address.replace("state=", "state=x")).status_code == 400
    assert client.get(address).status_code == 302
    assert client.get(address).status_code == 400, "A code works once."
    other = Client()
    address = idp.sign_in(leave(other))
    assert other.get(address.split("?")[0], {"error": "access_denied", "state": idp.asked["state"]}).status_code == 400
    # The provider is down, is another one, or describes itself in part.
    other_issuer = {"issuer": "https://other.example.org"}
    for idp.config in (other_issuer, {"issuer": None}, {"jwks_uri": 7}, {"token_endpoint": "javascript:x"}):
        assert Client().post(START).status_code == 502, idp.config
    idp.config = {}
    client = Client()
    address = idp.sign_in(leave(client))
    idp.is_up = False
    assert Client().post(START).status_code == 502
    assert client.get(address).status_code == 400
    # The same number at another provider is somebody else.
    idp.is_up = True
    with provider() as another:
        settings.OIDC_ISSUER = another.url
        assert come_back(Client(), another).status_code == 403
    settings.OIDC_ISSUER = "http://sso.example.org"
    assert [error.id for error in check_settings()] == ["concord.E009"]


def test_a_provider_that_never_ends_is_given_up(
    idp: Provider, alice: User, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    single_sign_on.link(user=alice, uid="7", email="")
    n_sent: list[int] = []

    def drip() -> Iterator[bytes]:
        for _n in range(60):
            time.sleep(0.1)
            yield b" "

    def drip_header() -> Iterator[bytes]:
        yield b"X-Patience:"
        yield from drip()
        yield b"\r\n"

    def pour() -> Iterator[bytes]:
        for _n in range(300):
            n_sent.append(1_000_000)
            yield b" " * 1_000_000

    def vanish() -> Iterator[bytes]:
        yield b" "
        raise OSError

    def nest() -> Iterator[bytes]:
        yield b"[" * 200_000

    for seconds, hesitation, padding in (
        (0.3, drip_header, tuple),
        (0.3, tuple, drip),
        (5, tuple, pour),
        (5, tuple, vanish),
        (5, tuple, nest),
    ):
        client = Client()
        address = idp.sign_in(leave(client))
        settings.SOCIALACCOUNT_REQUESTS_TIMEOUT, idp.hesitation, idp.padding = seconds, hesitation, padding
        began = time.monotonic()
        assert client.get(address).status_code == 400, padding
        assert Client().post(START).status_code == 502, padding
        assert time.monotonic() - began < 5, padding
        settings.SOCIALACCOUNT_REQUESTS_TIMEOUT, idp.hesitation, idp.padding = 5, tuple, tuple
    assert sum(n_sent) < 100_000_000
    assert caplog.text.count("Single sign-on failed") == 10, "Of each of both requests the log says why."
    # What is secret goes to the address that the provider names, and to no other.
    with provider() as another:
        another.codes, idp.elsewhere = idp.codes, f"{another.url}/token"
        assert come_back(Client(), idp).status_code == 400
        assert len(another.codes) == len(idp.codes) > 0, "The code was not sent on."


def test_an_address_opens_only_an_account_that_was_prepared_for_it(idp: Provider, settings: Settings) -> None:
    call_command("create_account", "alice", "--email", "Alice@example.org", verbosity=0)
    alice = User.objects.get()
    assert come_back(Client(), idp).status_code == 403, "The operator did not allow it."
    settings.OIDC_MATCH_EMAIL = True
    for verified in (False, "false", None, 1, "yes"):
        idp.claims["email_verified"] = verified
        assert come_back(Client(), idp).status_code == 403, "The provider has not verified the address."
    idp.claims["email_verified"] = True
    # Anybody can enter the address of somebody else in an account of their own.
    mallory = make_user("mallory", password=PASSWORD, email="alice@example.org")
    client = Client()
    assert come_back(client, idp)["Location"] == DESK
    assert SocialAccount.objects.get().user == alice
    # The second provider account with the same address finds none that is still waiting.
    idp.claims["sub"] = "8"
    assert come_back(Client(), idp).status_code == 403
    SocialAccount.objects.all().delete()
    assert come_back(Client(), idp).status_code == 403, "The account was used, so its address proves nothing any more."
    User.objects.exclude(pk=mallory.pk).delete()
    for name in ("one", "two"):
        make_user(name, email="alice@example.org")
    assert come_back(Client(), idp).status_code == 403, "Two accounts were prepared for one address."
    assert not SocialAccount.objects.exists()


def test_linking_asks_who_it_is_and_takes_nobodys_identity(idp: Provider, alice: User) -> None:
    client, link, security = signed_in(alice), reverse("projects:identity-link"), reverse("projects:security")
    confirm = reverse("projects:confirm")
    session = client.session
    session["confirmed_at"] = 0
    session.save()
    assert client.post(link)["Location"].startswith(confirm)
    assert client.post(confirm, {"password": "wrong"}).status_code == 200
    assert client.post(confirm, {"password": PASSWORD, "next": "//evil.test"})["Location"] == security
    # Whoever comes back in the session of another user links nothing.
    address = idp.sign_in(leave(client, link))
    bob = make_user("bob", password=PASSWORD)
    client.force_login(bob, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get(address).status_code == 400
    assert not SocialAccount.objects.exists()
    client = signed_in(alice)
    come_back(client, idp, link)
    # An identity belongs to one account, and an account has one.
    for_bob = signed_in(bob)
    come_back(for_bob, idp, link)
    assert "Another account here" in for_bob.get(security).content.decode()
    idp.claims["sub"] = "9"
    come_back(client, idp, link)
    assert "already linked" in client.get(security).content.decode()
    assert SocialAccount.objects.get().user == alice
    # Unlinking ends other sessions, and never closes the last way in.
    elsewhere = signed_in(alice)
    alice.set_unusable_password()
    alice.save()
    client, idp.claims["sub"] = Client(), "7"
    come_back(client, idp)
    unlink = reverse("projects:identity-unlink")
    client.post(unlink)
    assert SocialAccount.objects.exists()
    assert not is_signed_in(elsewhere)
    alice.set_password(PASSWORD)
    alice.save()
    client, elsewhere = signed_in(alice), signed_in(alice)
    client.post(unlink)
    assert not SocialAccount.objects.exists()
    assert (is_signed_in(client), is_signed_in(elsewhere)) == (True, False)


def test_an_invitation_lets_an_identity_in_without_a_password(idp: Provider, manager: Membership) -> None:
    _, token = create_invitation(actor=manager, role=Membership.Role.ANNOTATOR, max_uses=3)
    join, sign_up = reverse("projects:join", args=[token]), {"username": "alice"}
    client = Client()
    assert "Continue with Uni Login" in client.get(join).content.decode()
    assert come_back(client, idp, next=join)["Location"] == join
    assert not is_signed_in(client)
    assert "alice@example.org" in client.get(join).content.decode()
    session = client.session
    stale = {**session["waiting_identity"], "at": time.time() - 601}
    for changed in (stale, {**stale, "at": time.time(), "key": "oidc-another"}):
        session["waiting_identity"] = changed
        session.save()
        assert client.post(join, sign_up).context["form"].errors, "A password is asked for again."
    come_back(client, idp, next=join)
    assert client.post(join, sign_up).status_code == 302
    alice = User.objects.get(username="alice")
    assert not alice.has_usable_password()
    assert SocialAccount.objects.get().user == alice
    again = Client()
    assert come_back(again, idp, next=join)["Location"] == join, "Whoever is linked is signed in."
    assert is_signed_in(again)
    # Without an invitation, with a used one, or with one that somebody has made up, there is no account.
    idp.claims["sub"] = "8"
    for target in ("", "/join/", "/desk/", f"/join/{token}/x/"):
        assert come_back(Client(), idp, next=target).status_code == 403
    for target, status in ((reverse("projects:join", args=["made-up"]), 404), (join, 410)):
        late = Client()
        come_back(late, idp, next=target)
        Invitation.objects.update(revoked_at=timezone.now())
        assert late.post(target, {"username": "late"}).status_code == status
    assert not User.objects.filter(username="late").exists()


def test_the_second_factor_is_asked_after_single_sign_on_too(idp: Provider, alice: User) -> None:
    single_sign_on.link(user=alice, uid="7", email="")
    give_app(alice)
    client = Client()
    step = come_back(client, idp, next="/account/keys/")["Location"]
    assert step == "/sign-in/code/?next=%2Faccount%2Fkeys%2F"
    assert not is_signed_in(client)
    assert client.post(step, {"code": show_code()})["Location"] == "/account/keys/"
    assert is_signed_in(client)
    # Confirming by the provider takes a password that was entered just now, by the same identity.
    confirm, security = reverse("projects:confirm-single-sign-on"), reverse("projects:security")
    session = client.session
    session["confirmed_at"] = 0
    session.save()
    idp.token = {"auth_time": int(time.time()) - 3600}
    assert come_back(client, idp, confirm, next=security).status_code == 400
    assert (idp.asked["prompt"], idp.asked["max_age"]) == ("login", "0")
    idp.token = {"sub": "8"}
    assert come_back(client, idp, confirm).status_code == 400
    idp.token = {}
    assert client.post(reverse("projects:app-new"))["Location"].startswith(reverse("projects:confirm"))
    assert come_back(client, idp, confirm, next=security)["Location"] == security
    assert client.post(reverse("projects:app-new"))["Location"] == reverse("projects:app-set-up")


def test_a_sign_in_by_an_open_session_at_the_provider_is_no_new_proof(idp: Provider, alice: User) -> None:
    """Nobody was asked for a password: whoever finds the browser open could add a passkey of their own."""
    single_sign_on.link(user=alice, uid="7", email="")
    new, confirm = reverse("projects:app-new"), reverse("projects:confirm")
    for idp.token in ({"auth_time": int(time.time()) - 3600}, {"auth_time": None}):
        client = Client()
        assert come_back(client, idp)["Location"] == DESK
        assert client.post(new)["Location"].startswith(confirm)
    idp.token = {}
    assert come_back(client, idp, reverse("projects:confirm-single-sign-on"))["Location"] == reverse(
        "projects:security"
    )
    assert client.post(new)["Location"] == reverse("projects:app-set-up")
    client = Client()
    come_back(client, idp)
    assert client.post(new)["Location"] == reverse("projects:app-set-up"), "asked for just now"
