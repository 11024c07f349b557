"""Signing in and out: throttled, silent about accounts, and back to own pages only."""

from collections.abc import Callable
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from axes.models import AccessAttempt
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from projects.models import Membership, User
from tests.factories import make_user

PASSWORD = "correct horse battery"
HOME = "203.0.113.7"
ELSEWHERE = "198.51.100.9"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick_passwords")]


def sign_in(client: Client, username: str, password: str, **extra: str) -> int:
    data = {"username": username, "password": password}
    return client.post(reverse("projects:sign-in"), data, **extra).status_code  # type: ignore[arg-type]


@pytest.fixture
def anna() -> User:
    return make_user("anna", password=PASSWORD)


def test_the_right_password_opens_a_new_session(anna: User) -> None:
    client = Client()
    client.get(reverse("projects:sign-in"))
    session = client.session
    session["left"] = "over"
    session.save()
    before = session.session_key
    assert sign_in(client, "anna", PASSWORD) == 302
    assert client.session.session_key != before
    assert client.get(reverse("projects:account")).status_code == 200


def test_signing_out_ends_the_session_on_the_server(anna: User) -> None:
    client, thief = Client(), Client()
    sign_in(client, "anna", PASSWORD)
    thief.cookies["session"] = client.cookies["session"].value
    assert thief.get(reverse("projects:account")).status_code == 200
    assert client.get(reverse("projects:sign-out")).status_code == 405
    client.post(reverse("projects:sign-out"))
    assert thief.get(reverse("projects:account")).status_code == 302


def test_answers_are_the_same_whether_the_account_exists_or_not(anna: User) -> None:
    gone = make_user("gone", password=PASSWORD, is_active=False)
    bodies = set()
    for username in ("anna", "nobody", gone.username):
        data = {"username": username, "password": "not the password"}
        response = Client(enforce_csrf_checks=False).post(reverse("projects:sign-in"), data)
        assert response.status_code == 200
        bodies.add(response.content.decode().replace(username, "?").split("<main")[1].split("csrfmiddlewaretoken")[0])
        bodies.add(response.content.decode().replace(username, "?").split("errorlist")[1][:300])
    assert len(bodies) == 2


@pytest.mark.parametrize("path", ["/sign-in/", "/admin/login/"])
@pytest.mark.parametrize("username", ["a" * 151, "a" * 300, "a\0b", "\udcff"], ids=["151", "300", "NUL", "no UTF-8"])
def test_what_can_be_no_username_is_refused(path: str, username: str) -> None:
    data = urlencode({"username": username, "password": PASSWORD}, errors="surrogateescape")
    response = Client().post(path, data, content_type="application/x-www-form-urlencoded", follow=True)
    assert response.status_code == 200


def test_unknown_names_cost_as_much_hashing_as_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.contrib.auth.hashers import BasePasswordHasher, get_hasher

    hashed: list[str] = []
    hasher = type(get_hasher())
    whole = hasher.encode

    def counted(self: BasePasswordHasher, password: str, salt: str) -> str:
        hashed.append("run")
        return whole(self, password, salt)

    monkeypatch.setattr(hasher, "encode", counted)
    sign_in(Client(), "nobody", "not the password")
    assert len(hashed) == 1
    make_user("without")  # no usable password
    sign_in(Client(), "without", "not the password")
    assert len(hashed) == 2


def test_ten_failures_hold_the_account_back_at_this_address_for_a_quarter_of_an_hour(anna: User) -> None:
    for _ in range(10):
        status = sign_in(Client(), "anna", "wrong", REMOTE_ADDR=HOME)
    assert status == 429
    assert sign_in(Client(), "anna", PASSWORD, REMOTE_ADDR=HOME) == 429
    _let_pass(minutes=10)
    for _ in range(5):  # going on does not make the wait longer
        assert sign_in(Client(), "anna", "wrong", REMOTE_ADDR=HOME) == 429
    _let_pass(minutes=5)
    assert sign_in(Client(), "anna", PASSWORD, REMOTE_ADDR=HOME) == 302


def test_failures_from_before_the_clock_was_set_back_hold_nobody_back(anna: User) -> None:
    for _ in range(10):
        status = sign_in(Client(), "anna", "wrong", REMOTE_ADDR=HOME)
    _let_pass(minutes=-24 * 60)
    assert (status, sign_in(Client(), "anna", PASSWORD, REMOTE_ADDR=HOME)) == (429, 302)
    for _ in range(10):
        sign_in(Client(), "anna", "wrong", REMOTE_ADDR=HOME)
    _let_pass(minutes=-24 * 60)
    assert [sign_in(Client(), "anna", "wrong", REMOTE_ADDR=HOME) for _ in range(10)] == [200] * 9 + [429]


def test_ten_slips_of_one_person_hold_back_nobody_else_behind_the_same_address(anna: User) -> None:
    make_user("ben", password=PASSWORD)
    for _ in range(12):
        status = sign_in(Client(), "ben", "wrong", REMOTE_ADDR=HOME)
    assert status == 429
    assert sign_in(Client(), "anna", PASSWORD, REMOTE_ADDR=HOME) == 302
    assert sign_in(Client(), "ben", PASSWORD, REMOTE_ADDR=ELSEWHERE) == 302


def test_an_account_has_a_bound_for_all_addresses(anna: User, settings: Settings) -> None:
    settings.ACCOUNT_FAILURE_LIMIT = 12
    statuses = [sign_in(Client(), "anna", "wrong", REMOTE_ADDR=f"198.51.100.{n}") for n in range(13)]
    assert statuses == [200] * 11 + [429] * 2
    assert sign_in(Client(), "anna", PASSWORD, REMOTE_ADDR=HOME) == 429
    assert sign_in(Client(), "nobody", "wrong", REMOTE_ADDR="198.51.100.1") == 200


def test_an_address_has_a_bound_for_all_accounts(anna: User, settings: Settings) -> None:
    settings.ADDRESS_FAILURE_LIMIT = 12
    statuses = [sign_in(Client(), f"name{n}", "wrong", REMOTE_ADDR=HOME) for n in range(13)]
    assert statuses == [200] * 11 + [429] * 2
    assert sign_in(Client(), "anna", PASSWORD, REMOTE_ADDR=HOME) == 429
    assert sign_in(Client(), "anna", PASSWORD, REMOTE_ADDR=ELSEWHERE) == 302


def test_an_unknown_account_is_held_back_in_the_same_way() -> None:
    statuses = [sign_in(Client(), "nobody", "wrong", REMOTE_ADDR=HOME) for n in range(11)]
    assert statuses == [200] * 9 + [429] * 2


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("203.0.113.9:4711", "203.0.113.9"),
        ("10.0.0.1, 203.0.113.9:4711", "203.0.113.9"),
        ("2001:db8::7", "2001:db8::7"),
        ("[2001:db8::7]", "2001:db8::7"),
        ('"[2001:DB8::7]:443"', "2001:db8::7"),
        ("fe80::1%eth0", "fe80::1"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("unknown", HOME),
        ("_hidden", HOME),
        ("[", HOME),
        ("1.2.3.4.5:6", HOME),
    ],
)
def test_an_address_is_read_in_every_form_that_proxies_write(settings: Settings, forwarded: str, address: str) -> None:
    settings.N_PROXIES = 1
    assert sign_in(Client(), "nobody", "wrong", REMOTE_ADDR=HOME, HTTP_X_FORWARDED_FOR=forwarded) == 200
    assert AccessAttempt.objects.get().ip_address == address


def test_an_invitation_that_somebody_signs_in_for_is_not_stored(anna: User) -> None:
    data = {"username": "anna", "password": "wrong", "next": "/join/a-secret-token/"}
    Client().post(reverse("projects:sign-in") + "?next=/join/a-secret-token/", data)
    attempt = AccessAttempt.objects.get()
    assert "a-secret-token" not in attempt.get_data + attempt.post_data


def test_the_page_of_the_held_back_says_how_long() -> None:
    client = Client()
    for _ in range(10):
        response = client.post(reverse("projects:sign-in"), {"username": "anna", "password": "wrong"})
    assert response.status_code == 429
    assert response["Retry-After"] == "900"
    assert "wait 15 minutes" in response.content.decode()


def test_signing_in_as_oneself_does_not_reset_the_failures_on_others(anna: User) -> None:
    make_user("mallory", password=PASSWORD)
    for _ in range(9):
        sign_in(Client(), "anna", "wrong", REMOTE_ADDR=HOME)
    assert sign_in(Client(), "mallory", PASSWORD, REMOTE_ADDR=HOME) == 302
    assert sign_in(Client(), "anna", "wrong", REMOTE_ADDR=HOME) == 429


def test_own_slips_are_forgotten_by_signing_in(anna: User) -> None:
    for _ in range(9):
        sign_in(Client(), "anna", "wrong", REMOTE_ADDR=HOME)
    assert sign_in(Client(), "anna", PASSWORD, REMOTE_ADDR=HOME) == 302
    assert sign_in(Client(), "anna", "wrong", REMOTE_ADDR=HOME) == 200


def test_a_forged_forwarded_address_changes_nothing(anna: User) -> None:
    for n in range(10):
        status = sign_in(Client(), "anna", "wrong", REMOTE_ADDR=HOME, HTTP_X_FORWARDED_FOR=f"198.51.100.{n}")
    assert status == 429


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example",
        "https:evil.example",
        "https://evil.example/",
        "\\evil.example",
        "/\\evil.example",
        "///evil.example",
        "http:///evil.example",
        "javascript:alert(1)",
        "//user@evil.example",
        "https://testserver@evil.example",
        "http://testserver/account/",
        "/%0d%0aSet-Cookie:x=1",
        "/\r\nSet-Cookie:x=1",
        "/%2f/evil.example/..",
        "/%5cevil.example",
        "evil",
        "/\tx",
        " //evil.example",
    ],
)
def test_next_leads_to_own_pages_only(anna: User, target: str) -> None:
    client = Client()
    page = client.get(reverse("projects:sign-in"), {"next": target})
    own = page.content.decode().count('name="next" value="/sign-in/"')  # to come back to in another language
    assert page.content.decode().count('name="next"') == own == 1
    response = client.post(reverse("projects:sign-in"), {"username": "anna", "password": PASSWORD, "next": target})
    assert response["Location"] == reverse("annotate:desk")
    again = client.get(reverse("projects:sign-in"), {"next": target})
    assert again["Location"] == reverse("annotate:desk")


def test_next_is_kept_where_it_is_ours(anna: User) -> None:
    target = reverse("projects:account") + "?x=1"
    client = Client()
    data = {"username": "anna", "password": PASSWORD, "next": target}
    assert client.post(reverse("projects:sign-in"), data)["Location"] == target


def test_pages_send_the_anonymous_to_sign_in_and_back(annotator: Membership) -> None:
    response = Client().get(reverse("projects:account"))
    assert response["Location"] == f"{reverse('projects:sign-in')}?next={reverse('projects:account')}"


def test_account_shows_projects_and_saves_the_name(
    annotator: Membership, client_of: Callable[[Membership], Client]
) -> None:
    client = client_of(annotator)
    page = client.get(reverse("projects:account")).content.decode()
    assert annotator.pseudonym in page
    assert annotator.project.name in page
    data = {
        "first_name": "Anna",
        "last_name": "Berg",
        "email": "anna@example.org",
        "is_superuser": "1",
        "username": "x",
    }
    assert client.post(reverse("projects:account"), data).status_code == 302
    user = User.objects.get(username="anna")
    assert (user.get_full_name(), user.email, user.is_superuser) == ("Anna Berg", "anna@example.org", False)
    assert client.post(reverse("projects:account"), {"email": "no address"}).status_code == 200


def _let_pass(*, minutes: int) -> None:
    for attempt in AccessAttempt.objects.all():
        attempt.attempt_time -= timedelta(minutes=minutes)
        attempt.save(update_fields=["attempt_time"])
