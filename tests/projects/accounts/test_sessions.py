from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from projects import tasks
from projects.accounts.session_store import BACKEND, EARLIER_BACKEND, SessionStore
from projects.database import sign_ins
from projects.models import User
from tests.factories import make_membership, make_project, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def anna(client: Client) -> User:
    user: User = make_user("anna")
    client.force_login(user, backend=EARLIER_BACKEND)
    return user


def is_signed_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


def test_a_session_of_an_earlier_version_stays_open(client: Client, anna: User) -> None:
    store = SessionStore(session_key=Session.objects.get().session_key)
    assert store["_auth_user_backend"] == BACKEND
    assert is_signed_in(client)


def count_reads(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return sum(query["sql"].startswith("EXECUTE") for query in captured)


def test_session_account_and_membership_are_read_by_one_statement(client: Client, anna: User) -> None:
    make_membership(make_project("bridges"), anna, role="annotator")
    sign_ins._accounts.clear()
    n_reads = [count_reads(client, "/session/"), count_reads(client, "/session/")]
    assert n_reads == [2, 1]
    sign_ins._accounts.clear()
    n_reads = [count_reads(client, "/p/bridges/desk/") for _ in range(2)]
    assert n_reads[0] - n_reads[1] == 2


def test_what_is_remembered_of_a_session_opens_no_other_account_and_no_lost_project(client: Client, anna: User) -> None:
    project, other = make_project(), make_user("boris")
    member = make_membership(project, anna, role="annotator")
    make_membership(project, other, role="manager")
    desk = f"/p/{project.slug}/desk/"
    assert client.get("/session/").json()["user"] == "anna"
    key = client.cookies["session"].value
    sign_ins.remember_account(key, other.pk)
    assert client.get("/session/").json()["user"] == "anna"
    sign_ins.remember_account(key, other.pk)
    assert client.get(f"/p/{project.slug}/people/").status_code == 403
    assert client.get(desk).status_code == 200
    member.user = None
    member.save()
    assert client.get(desk).status_code == 404
    User.objects.filter(pk=anna.pk).update(is_active=False)
    assert not is_signed_in(client)


def test_a_session_ends_with_its_time_its_row_and_its_account(client: Client, anna: User) -> None:
    key = client.cookies["session"].value
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert not is_signed_in(client)
    Session.objects.update(expire_date=timezone.now() + timedelta(hours=1))
    client.cookies["session"] = key
    assert is_signed_in(client)
    User.objects.update(is_active=False)
    assert not is_signed_in(client)
    User.objects.update(is_active=True)
    Session.objects.all().delete()
    assert not is_signed_in(client)


def test_a_session_ends_two_weeks_after_the_sign_in_however_often_it_is_saved(
    monkeypatch: pytest.MonkeyPatch, quick_passwords: None
) -> None:
    """A request that anybody may send saves it, and would put its end off."""
    make_user("anna", password="correct-horse-battery")
    client, began = Client(headers={"host": "localhost"}), timezone.now()

    def go_on(days: float) -> None:
        monkeypatch.setattr("django.utils.timezone.now", lambda: began + timedelta(days=days))

    def sign_in() -> None:
        client.post("/sign-in/", {"username": "anna", "password": "correct-horse-battery"})

    sign_in()
    for day in (5, 10, 13.9):
        go_on(day)
        answer = client.post("/sign-in/passkey/options/")
        assert answer.cookies["session"]["max-age"] == pytest.approx((14 - day) * 86400, abs=2)
        assert is_signed_in(client)
    go_on(14.01)
    assert not is_signed_in(client)
    sign_in()
    go_on(20)
    assert is_signed_in(client)
    sign_in()  # once more, in the same session
    go_on(30)
    assert is_signed_in(client)


def test_a_session_that_began_while_the_clock_was_ahead_ends_with_that(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end lies as far ahead, so it would outlive all others, or come to life again when that time is near."""
    right, user = timezone.now(), make_user("anna")
    for ahead, is_open in ((timedelta(hours=3), True), (timedelta(days=31), False)):
        with monkeypatch.context() as wrong:
            wrong.setattr("django.utils.timezone.now", lambda ahead=ahead: right + ahead)
            client.force_login(user)
            assert is_signed_in(client)
        key = client.cookies["session"].value
        assert is_signed_in(client) == is_open
        tasks.clear_sessions()
        assert Session.objects.filter(pk=key).exists() == is_open


def test_a_session_of_an_earlier_version_ends_two_weeks_after_it_is_saved_again(
    client: Client, anna: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save() -> None:
        assert client.post("/sign-in/passkey/options/", headers={"host": "localhost"}).status_code == 200

    row = Session.objects.get()
    content = row.get_decoded()
    content.pop("signed_in_at", None)
    Session.objects.update(session_data=SessionStore().encode(content))
    began = timezone.now()
    save()
    monkeypatch.setattr("django.utils.timezone.now", lambda: began + timedelta(days=13))
    save()
    monkeypatch.setattr("django.utils.timezone.now", lambda: began + timedelta(days=14, seconds=5))
    assert not is_signed_in(client)


@pytest.mark.parametrize("key", ["", "x" * 32, "' OR true --", "é" * 20, "a\x00b" * 5])
def test_a_key_that_is_none_opens_nothing(key: str) -> None:
    store = SessionStore(session_key=key)
    assert store.load() == {}
    assert store.session_key is None


def test_a_cookie_with_an_odd_character_asks_to_sign_in(client: Client) -> None:
    assert client.get("/account/", headers={"cookie": r'session="abcdefgh\000"'}).status_code == 302
