"""Second factors: asked at every way in, used once, not guessable, and required of managers where the owner says so."""

import json
import time
from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from axes.models import AccessAttempt
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from fido2.utils import websafe_encode
from pytest_django import Settings

from projects.accounts import passwords, second_factors, signing_in
from projects.api import tokens
from projects.models import Act, Guesses, LogEntry, Membership, Project, User
from projects.settings.forms import SettingsForm
from tests.concurrency import all_at_once
from tests.factories import make_user
from tests.people import SignIn
from tests.projects.accounts.codes import give_app, show_code
from tests.projects.accounts.device import HAS_EXTENSIONS, PRESENT, VERIFIED, Device

PASSWORD = "correct horse battery"
STEP, SECURITY, CONFIRM = reverse("projects:second-step"), reverse("projects:security"), reverse("projects:confirm")
DESK = reverse("annotate:desk")

pytestmark = pytest.mark.usefixtures("quick_passwords")


@pytest.fixture
def anna(db: None) -> User:
    return make_user("anna", password=PASSWORD)


def enter_password(client: Client, username: str = "anna", **extra: str) -> str:
    data = {"username": username, "password": PASSWORD}
    return client.post(reverse("projects:sign-in"), data, **extra)["Location"]  # type: ignore[arg-type]


def is_signed_in(client: Client) -> bool:
    return client.get(reverse("projects:account")).status_code == 200


def change_session(client: Client, **values: object) -> None:
    session = client.session
    session.update(values)
    session.save()


def test_an_app_is_set_up_and_asked_for_from_then_on(anna: User) -> None:
    client, elsewhere = Client(), Client()
    for each in (client, elsewhere):
        assert enter_password(each) == reverse("annotate:desk")
    assert client.get(reverse("projects:app-set-up"))["Location"] == SECURITY, "Nothing was begun."
    page = client.get(client.post(reverse("projects:app-new"))["Location"]).content.decode()
    secret = page.split('<code dir="ltr">')[1].split("</code>")[0].replace(" ", "")
    assert "<svg" in page
    wrong = client.post(reverse("projects:app-set-up"), {"code": show_code(secret, steps=5)}).content.decode()
    assert "Wrong code" in wrong
    assert not Authenticator.objects.exists()
    shown = show_code(secret)  # the app shows another one after at most thirty seconds
    done = client.post(reverse("projects:app-set-up"), {"code": f" {shown[:3]} {shown[3:]} "})
    codes = done.content.decode().split("<textarea")[1].split(">")[1].split("<")[0].split("\n")
    assert len(codes) == 10
    assert "no-store" in done["Cache-Control"]
    # This session goes on, and the others end.
    assert (is_signed_in(client), is_signed_in(elsewhere)) == (True, False)
    # Neither the secret nor a recovery code lies in the database as it is.
    stored = str([list(Authenticator.objects.values()), [row.get_decoded() for row in Session.objects.all()]])
    assert secret not in stored
    assert not [code for code in codes if code.replace(" ", "") in stored]

    visitor = Client()
    assert enter_password(visitor) == f"{STEP}?next=%2Fdesk%2F"
    assert not is_signed_in(visitor)
    assert visitor.get(STEP).status_code == 200
    assert visitor.post(STEP, {"code": shown}).status_code == 200, "The code was used to set it up."
    assert visitor.post(STEP, {"code": show_code(secret, steps=1), "next": "//evil.test"})["Location"] == "/desk/"
    assert is_signed_in(visitor)
    # Each recovery code works once, and the list is short after eight.
    for code in codes[:8]:
        fresh = Client()
        enter_password(fresh)
        assert fresh.post(STEP, {"code": code}).status_code == 302
    assert "few recovery codes" in fresh.get(SECURITY).content.decode()
    again = Client()
    enter_password(again)
    assert again.post(STEP, {"code": codes[0]}).status_code == 200
    new = client.post(reverse("projects:recovery-codes")).content.decode()
    assert codes[9] not in new
    assert again.post(STEP, {"code": codes[9]}).status_code == 200, "New codes replace the old ones."


def test_the_second_step_belongs_to_who_has_just_entered_the_password(anna: User) -> None:
    give_app(anna)
    assert Client().get(STEP)["Location"] == reverse("projects:sign-in")
    assert Client().post(STEP, {"code": show_code()})["Location"] == reverse("projects:sign-in")
    client = Client()
    enter_password(client)
    planted = client.session.session_key
    late = {**client.session["sign_in_pending"], "at": time.time() - signing_in.PENDING_SECONDS - 1}
    change_session(client, sign_in_pending=late)
    assert client.post(STEP, {"code": show_code()})["Location"] == reverse("projects:sign-in")
    enter_password(client)
    assert client.session.session_key != planted
    passwords.change(user=anna, password=PASSWORD)
    assert client.post(STEP, {"code": show_code()})["Location"] == reverse("projects:sign-in"), "The password changed."
    enter_password(client)
    before = client.session.session_key
    assert client.post(STEP, {"code": show_code()}).status_code == 302
    assert client.session.session_key != before
    enter_password(client)
    User.objects.update(is_active=False)
    assert client.post(STEP, {"code": show_code(steps=1)})["Location"] == reverse("projects:sign-in")
    # The form of Django's admin knows no second step, so nobody gets there.
    staff = Client()
    staff.force_login(make_user("root", is_staff=True), backend="django.contrib.auth.backends.ModelBackend")
    sent = {"username": "anna", "password": PASSWORD}
    assert staff.post("/admin/login/", sent)["Location"] == reverse("admin:index")


def test_codes_cannot_be_guessed(anna: User) -> None:
    give_app(anna)
    client = Client()
    enter_password(client, REMOTE_ADDR="203.0.113.7")
    junk = ("", " ", "000000", "0" * 40, "０００００0", "\x00", "-1", "12345é", "[]")
    for n in range(10):
        status = client.post(STEP, {"code": junk[n % len(junk)] or f"{n}"}, REMOTE_ADDR="203.0.113.7").status_code
    assert status in (200, 429)
    while client.post(STEP, {"code": "000000"}, REMOTE_ADDR="203.0.113.7").status_code != 429:
        assert Guesses.objects.get().n < 20
    assert client.post(STEP, {"code": show_code()}, REMOTE_ADDR="203.0.113.7").status_code == 429
    # From many addresses, each below its own bound: the account has one too, of twenty codes in a quarter of an hour.
    for n in range(20):
        if client.post(STEP, {"code": "000000"}, REMOTE_ADDR=f"198.51.100.{n}").status_code == 429:
            break
    assert Guesses.objects.get().n == Guesses.MOST
    assert client.post(STEP, {"code": show_code()}, REMOTE_ADDR="192.0.2.1").status_code == 429
    assert not second_factors.check_code(anna, show_code())
    # Whoever is signed in elsewhere is not thrown out, and after a quarter of an hour the right code works.
    Guesses.objects.update(since=timezone.now() - timedelta(minutes=16))
    AccessAttempt.objects.all().delete()
    assert client.post(STEP, {"code": show_code()}).status_code == 302
    assert "000000" not in str(list(AccessAttempt.objects.values()))


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_a_code_sent_at_the_same_time_opens_one_session() -> None:
    anna = make_user("anna", password=PASSWORD)
    give_app(anna)
    code = show_code()
    assert sorted(all_at_once(lambda sent: second_factors.check_code(anna, sent), [code] * 6)) == [False] * 5 + [True]
    assert Guesses.objects.get().n == 5


def test_ways_to_sign_in_change_only_after_a_proof(anna: User) -> None:
    client = Client()
    enter_password(client)
    app = give_app(anna)
    ben = make_user("ben")
    of_ben = give_app(ben)
    change_session(client, confirmed_at=time.time() - signing_in.CONFIRMED_SECONDS - 1)
    remove = reverse("projects:factor-remove", args=[app.pk])
    routes = [remove, *(reverse(f"projects:{name}") for name in ("app-new", "recovery-codes", "passkey-new"))]
    assert {client.post(route)["Location"].split("?")[0] for route in routes} == {CONFIRM}
    assert client.post(reverse("projects:passkey-new-options")).status_code == 409
    assert client.post(CONFIRM, {"password": "wrong"}).status_code == 200
    assert AccessAttempt.objects.get().failures_since_start == 1
    assert client.post(CONFIRM, {"password": PASSWORD})["Location"] == SECURITY
    # Nobody removes what belongs to another.
    client.post(reverse("projects:factor-remove", args=[of_ben.pk]))
    assert Authenticator.objects.filter(user=ben).exists()
    client.post(reverse("projects:recovery-codes"))
    elsewhere = Client()
    elsewhere.force_login(User.objects.get(pk=anna.pk), backend="django.contrib.auth.backends.ModelBackend")
    client.post(remove)
    assert not Authenticator.objects.filter(user=anna).exists(), "With the last factor the recovery codes go."
    assert (is_signed_in(client), is_signed_in(elsewhere)) == (True, False)
    assert client.post(reverse("projects:recovery-codes"))["Location"] == SECURITY
    # Without a password, a code is the proof.
    client.force_login(ben, backend="django.contrib.auth.backends.ModelBackend")
    assert 'name="code"' in client.get(CONFIRM).content.decode()
    assert client.post(CONFIRM, {"code": show_code(steps=1)}).status_code == 302


def test_a_changed_secret_key_makes_codes_wrong_and_a_kept_one_right(anna: User, settings: Settings) -> None:
    give_app(anna)
    old, settings.SECRET_KEY = settings.SECRET_KEY, "n" * 25 + "another key of fifty letters"
    assert not second_factors.check_code(anna, show_code())
    assert second_factors.list_factors(anna)
    settings.SECRET_KEY_FALLBACKS = [old]
    assert second_factors.check_code(anna, show_code())


def test_a_lost_factor_is_reset_by_a_command(owner: Membership, capsys: pytest.CaptureFixture[str]) -> None:
    user = owner.user
    assert user is not None
    user.set_password(PASSWORD)
    user.save()
    give_app(user)
    client = Client()
    enter_password(client, "olga")
    client.post(STEP, {"code": show_code()})
    waiting = Client()
    enter_password(waiting, "olga")
    give_app(make_user("zoe"))
    with pytest.raises(CommandError):
        call_command("reset_second_factor", "nobody")
    call_command("reset_second_factor", "olga")
    assert Authenticator.objects.get().user.username == "zoe"
    assert "Removed 1 second factor of “olga”." in capsys.readouterr().out
    assert not is_signed_in(client), "Whoever has taken the account with the factor is out."
    assert waiting.post(STEP, {"code": show_code(steps=1)})["Location"] == reverse("projects:sign-in")
    entry = LogEntry.objects.get(act=Act.RESET_SECOND_FACTOR)
    assert (entry.project, entry.actor, entry.object_id) == (owner.project, None, str(owner.pk))
    fresh = Client()
    assert enter_password(fresh, "olga") == reverse("annotate:desk")
    page = fresh.get(reverse("projects:log-list", args=["bridges"])).content.decode()
    assert "reset the second factor of" in page
    with pytest.raises(CommandError):
        call_command("reset_second_factor", "olga")


def test_managers_work_only_with_the_factor_that_the_owner_requires(
    owner: Membership, manager: Membership, researcher: Membership, annotator: Membership, client_of: SignIn
) -> None:
    project = owner.project
    assert manager.user is not None
    assert owner.user is not None
    _, secret = tokens.make_token(membership=manager, name="script", can_write=True)
    overview, api = reverse("projects:people-list", args=["bridges"]), reverse("api:project-show", args=["bridges"])
    edit = reverse("projects:project-settings-edit", args=["bridges"])
    of_owner, of_manager = client_of(owner), client_of(manager)
    initial = SettingsForm.make_initial(project)
    sent = {name: value for name, value in initial.items() if value is not None and value is not False}
    refused = of_owner.post(edit, {**sent, "requires_second_factor": "on"})
    assert "Set up a second factor of your own first" in refused.content.decode()
    give_app(owner.user)
    assert of_owner.post(edit, {**sent, "requires_second_factor": "on"}).status_code == 302
    assert LogEntry.objects.get(act=Act.CHANGE_SETTINGS).after == {"requires_second_factor": True}
    assert "required" in of_owner.get(reverse("projects:project-settings", args=["bridges"])).content.decode()

    def call() -> int:
        return Client().get(api, headers={"Authorization": f"Bearer {secret}"}).status_code

    # From the next request on, and back to where they wanted to go.
    assert of_manager.get(overview)["Location"] == f"{SECURITY}?next=%2Fp%2Fbridges%2Fpeople%2F"
    assert of_manager.post(reverse("projects:token-new", args=["bridges"]), {"name": "x"})["Location"] == SECURITY
    assert "<strong>Bridges</strong>" in of_manager.get(SECURITY).content.decode()
    assert (call(), of_manager.get(api).status_code) == (403, 403)
    assert "Sign-in security" in of_manager.get(api).json()["detail"]
    assert [client_of(each).get(overview).status_code for each in (researcher, annotator)] == [403, 403]
    assert client_of(researcher).get(api).status_code == 200
    desk = reverse("annotate:project-desk", args=["bridges"])
    assert client_of(annotator).get(desk).status_code == 200
    assert of_manager.get(reverse("annotate:instructions", args=["bridges"])).status_code == 200, "Of every member."
    # Recovery codes alone are no factor.
    Authenticator.objects.create(user=manager.user, type=Authenticator.Type.RECOVERY_CODES, data={})
    assert call() == 403
    Authenticator.objects.filter(user=manager.user).delete()
    give_app(manager.user)
    assert (of_manager.get(overview).status_code, call()) == (200, 200)
    Authenticator.objects.all().delete()
    Project.objects.filter(pk=project.pk).update(requires_second_factor=False)
    assert (of_manager.get(overview).status_code, call()) == (200, 200)


def test_a_site_can_require_it_everywhere(
    settings: Settings, manager: Membership, annotator: Membership, client_of: SignIn
) -> None:
    settings.MANAGERS_NEED_SECOND_FACTOR = True
    root = make_user("root", is_staff=True, is_superuser=True, can_create_projects=True)
    client = client_of(root)
    for path in ("/admin/", reverse("projects:project-new")):
        assert client.get(path)["Location"].startswith(SECURITY), path
    assert "on this site" in client.get(SECURITY).content.decode()
    assert client_of(manager).get(reverse("projects:people-list", args=["bridges"]))["Location"].startswith(SECURITY)
    give_app(root)
    assert client.get("/admin/").status_code == 200
    # Annotators notice nothing, not even a statement more.
    of_annotator, counts = client_of(annotator), []
    for settings.MANAGERS_NEED_SECOND_FACTOR in (True, True, False):  # the first prepares statements
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert of_annotator.get(reverse("annotate:project-desk", args=["bridges"])).status_code == 200
        counts.append(len(queries))
    assert counts[1] == counts[2]


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]:8000", "testserver"])
def test_passkeys_are_offered_only_where_browsers_have_them(anna: User, settings: Settings, host: str) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    client = Client(headers={"host": host})
    client.force_login(anna, backend="django.contrib.auth.backends.ModelBackend")
    assert "Add passkey" not in client.get(SECURITY).content.decode()
    assert client.post(reverse("projects:passkey-options")).status_code == 409
    change_session(client, confirmed_at=time.time())
    assert client.get(reverse("projects:passkey-new"))["Location"] == SECURITY
    assert "Add passkey" in client.get(SECURITY, headers={"host": "localhost:8000"}).content.decode()
    assert "Add passkey" in client.get(SECURITY, secure=True, headers={"host": "concord.example.org"}).content.decode()


def test_what_no_passkey_sends_is_refused_in_words(anna: User) -> None:
    client = Client(headers={"host": "localhost"})
    sign_in, new = reverse("projects:passkey-sign-in"), reverse("projects:passkey-new")
    handle = "OQ"  # of no user
    answer = {"id": "AA", "rawId": "AA", "type": "public-key", "clientExtensionResults": {}}
    parts = {"clientDataJSON": "e30", "authenticatorData": "AA" * 60, "signature": "AA", "userHandle": handle}
    created = {"clientDataJSON": "e30", "attestationObject": "oA"}
    forged: list[object] = [
        *("", "x", "[]", "1", "null", "[" * 50_000, '{"response": 1}', '{"response": {"userHandle": 1}}'),
        *({}, answer, {**answer, "response": {}}, {**answer, "response": parts}, {**answer, "response": created}),
        {**answer, "rawId": 7, "response": [parts]},
    ]
    enter_password(client)
    for sent in forged:
        credential = sent if isinstance(sent, str) else json.dumps(sent)
        visitor = Client(headers={"host": "localhost"})
        assert visitor.post(reverse("projects:passkey-options")).json()["publicKey"]["userVerification"] == "required"
        assert visitor.post(sign_in, {"credential": credential})["Location"] == reverse("projects:sign-in"), sent
        assert not is_signed_in(visitor)
        assert client.post(reverse("projects:passkey-new-options")).json()["publicKey"]["rp"]["id"] == "localhost"
        assert client.post(new, {"name": "laptop", "credential": credential}).status_code == 200, sent
    assert not Authenticator.objects.exists()


@pytest.fixture
def visitor() -> Client:
    return Client(headers={"host": "localhost"})


def sign_in_by_passkey(client: Client, device: Device, **changes: Any) -> str:
    """Return where the sign-in leads to; `changes` are what the device does otherwise than it should."""
    answer = device.use(client.post(reverse("projects:passkey-options")).json(), **changes)
    return client.post(reverse("projects:passkey-sign-in"), {"credential": json.dumps(answer)})["Location"]


def send_new_passkey(user: User, device: Device, **changes: object) -> int:
    """Return the status of the answer to a passkey that the device makes; `changes` replace parts of what it sends."""
    client = Client(headers={"host": "localhost"})
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    change_session(client, confirmed_at=time.time())
    answer = device.create(client.post(reverse("projects:passkey-new-options")).json(), **changes)
    return client.post(
        reverse("projects:passkey-new"), {"name": "laptop", "credential": json.dumps(answer)}
    ).status_code


def test_a_passkey_opens_its_account_alone_and_once(anna: User, visitor: Client) -> None:
    bob, device, other = make_user("bob", password=PASSWORD), Device("one"), Device("two")
    assert send_new_passkey(anna, device) == send_new_passkey(bob, other) == 200
    bob.refresh_from_db()
    wrong: dict[str, dict[str, Any]] = {
        "of another site": {"origin": "https://example.org"},
        "of a site named alike": {"origin": "https://localhost.example.org"},
        "nobody is there": {"flags": VERIFIED},
        "without a PIN": {"flags": PRESENT},
        "for another account": {"handle": other.handle},
        "for none": {"handle": ""},
    }
    for name, changes in wrong.items():
        assert sign_in_by_passkey(visitor, device, **changes) == reverse("projects:sign-in"), name
        assert not is_signed_in(visitor), name
    visitor.force_login(bob, backend="django.contrib.auth.backends.ModelBackend")
    assert sign_in_by_passkey(visitor, device, flags=PRESENT) == reverse("projects:sign-in"), (
        "Nor to who has an account."
    )
    assert visitor.session["_auth_user_id"] == str(bob.pk)
    visitor = Client(headers={"host": "localhost"})
    enter_password(visitor)
    answer = json.dumps(other.use(visitor.post(reverse("projects:passkey-options")).json()))
    assert visitor.post(reverse("projects:passkey-sign-in"), {"credential": answer}).status_code == 200
    assert not is_signed_in(visitor), "A password and the passkey of somebody else."
    answer = json.dumps(device.use(visitor.post(reverse("projects:passkey-options")).json()))
    assert visitor.post(reverse("projects:passkey-sign-in"), {"credential": answer})["Location"] == DESK
    for again in (visitor, Client(headers={"host": "localhost"})):
        again.post(reverse("projects:sign-out"))
        again.post(reverse("projects:passkey-options"))
        assert again.post(reverse("projects:passkey-sign-in"), {"credential": answer})["Location"] != DESK
        assert not is_signed_in(again), "The same answer again."
    asked = visitor.post(reverse("projects:passkey-options")).json()
    Authenticator.objects.filter(user=anna, type=Authenticator.Type.WEBAUTHN).delete()
    answer = json.dumps(device.use(asked))
    assert visitor.post(reverse("projects:passkey-sign-in"), {"credential": answer})["Location"] != DESK


def test_a_copy_of_a_device_that_counts_is_noticed(anna: User, caplog: pytest.LogCaptureFixture) -> None:
    device = Device()
    send_new_passkey(anna, device)
    for counter, is_accepted in ((0, True), (0, True), (7, True), (7, False), (3, False), (0, False), (8, True)):
        client = Client(headers={"host": "localhost"})
        sign_in_by_passkey(client, device, counter=counter)
        assert is_signed_in(client) is is_accepted, counter
    assert caplog.text.count("may be a copy") == 3


def test_a_passkey_keeps_nothing_but_what_signs_in(anna: User, visitor: Client) -> None:
    """What browsers add differs, and a forger's can be anything, which the database may not take."""
    unkind: list[dict[str, object]] = [
        {"clientExtensionResults": {"text": "\0"}},
        {"clientExtensionResults": {"credProps": {"rk": "\ud800"}}},
        {"more": float("nan")},
        {"more": "[" * 9000},
        dict.fromkeys(("id", "rawId"), f"\0{websafe_encode(Device('4').id)}"),
    ]
    for number, changes in enumerate(unkind):
        assert send_new_passkey(anna, Device(f"{number}"), **changes) in (200, 302), changes
        anna.refresh_from_db()
    rows = Authenticator.objects.filter(type=Authenticator.Type.WEBAUTHN)
    assert {frozenset(row.data["credential"]) for row in rows} == {frozenset(("id", "rawId", "type", "response"))}
    device = Device("good")
    send_new_passkey(anna, device)
    assert sign_in_by_passkey(visitor, device) == DESK


@pytest.mark.parametrize(
    "extra", [b"\x19", b"\x81" * 5000, b"\x1b" + b"\xff" * 8, b"\x9a\x00\x0f\x42\x40" + b"\x01" * 1_000_000]
)
def test_what_a_forger_adds_to_an_answer_breaks_nothing(anna: User, visitor: Client, extra: bytes) -> None:
    """A number cut short, lists within lists, a number of no size, and a list of which each item takes time."""
    device = Device()
    device.handle = websafe_encode(str(anna.pk).encode())
    began = time.monotonic()
    assert sign_in_by_passkey(visitor, device, flags=PRESENT | HAS_EXTENSIONS, extra=extra) == reverse(
        "projects:sign-in"
    )
    assert time.monotonic() - began < 5
