"""The keys of the rating page: chosen, refused where two actions share one, restored."""

import json
import re

import pytest
from django.urls import reverse

from config import env
from projects.accounts.rating_keys import ACTIONS, has_keys_off, list_keys, list_working_keys
from projects.models import User
from tests.people import SignIn

pytestmark = pytest.mark.django_db

DEFAULTS = {action: key for action, (key, _) in ACTIONS.items()}


@pytest.fixture
def user(stranger: User) -> User:
    return stranger


@pytest.fixture
def path() -> str:
    return reverse("projects:rating-keys")


def stored(user: User) -> dict[str, object]:
    user.refresh_from_db()
    keys: dict[str, object] = user.rating_keys
    return keys


def test_only_what_differs_is_stored(path: str, user: User, client_of: SignIn) -> None:
    answer = client_of(user).post(path, {**DEFAULTS, "next": "H", "flag": "ö"})
    assert answer.status_code == 302
    assert stored(user) == {"next": "h", "flag": "ö"}
    assert list_keys(user) == {**DEFAULTS, "next": "h", "flag": "ö"}
    assert 'value="ö"' in client_of(user).get(path).text


def test_two_actions_may_swap_their_keys(path: str, user: User, client_of: SignIn) -> None:
    client_of(user).post(path, {**DEFAULTS, "next": "k", "previous": "j"})
    assert stored(user) == {"next": "k", "previous": "j"}


def test_two_actions_never_share_a_key(path: str, user: User, client_of: SignIn) -> None:
    answer = client_of(user).post(path, {**DEFAULTS, "flag": "C"})
    assert answer.status_code == 200
    assert "“c” is already the key for “comment”. Choose another one." in answer.text
    assert stored(user) == {}


@pytest.mark.parametrize("key", ["5", "٥", "-", ".", ",", "+", "ab", "F1", "\u200b", "<script>", "é" * 11, "\x00"])
def test_what_is_no_key_is_refused(path: str, user: User, client_of: SignIn, key: str) -> None:
    answer = client_of(user).post(path, {**DEFAULTS, "flag": key})
    assert answer.status_code == 200
    assert "errorlist" in answer.text
    assert stored(user) == {}


def test_a_missing_key_is_refused(path: str, user: User, client_of: SignIn) -> None:
    answer = client_of(user).post(path, {**DEFAULTS, "flag": " "})
    assert "errorlist" in answer.text
    assert client_of(user).post(path, {}).status_code == 200
    assert stored(user) == {}


def test_the_defaults_are_restored(path: str, user: User, client_of: SignIn) -> None:
    User.objects.filter(pk=user.pk).update(rating_keys={"next": "h"})
    answer = client_of(user).post(path, {"reset": "1"}, follow=True)
    assert "Default keys restored." in answer.text
    assert stored(user) == {}


def test_single_key_shortcuts_are_turned_off_and_on(path: str, user: User, client_of: SignIn) -> None:
    client = client_of(user)
    assert not has_keys_off(user)
    client.post(path, {**DEFAULTS, "next": "h", "off": "on"})
    assert stored(user) == {"next": "h", "off": True}
    assert has_keys_off(user)
    assert list_keys(user) == {**DEFAULTS, "next": "h"}
    assert list_working_keys(user) == {}
    assert re.search(r'name="off"[^>]*checked', client.get(path).text)
    client.post(path, {**DEFAULTS, "next": "h"})
    assert stored(user) == {"next": "h"}
    assert list_working_keys(user) == {**DEFAULTS, "next": "h"}


def test_restoring_the_default_keys_turns_none_on(path: str, user: User, client_of: SignIn) -> None:
    User.objects.filter(pk=user.pk).update(rating_keys={"next": "h", "off": True})
    client_of(user).post(path, {"reset": "1"})
    assert stored(user) == {"off": True}


def test_the_script_has_the_same_defaults() -> None:
    script = (env.BASE_DIR / "static" / "js" / "rate" / "keys.js").read_text()
    found = re.search(r"const LETTERS = (\{.*?\});", script, re.DOTALL)
    assert found is not None
    assert json.loads(re.sub(r",\s*\}", "}", re.sub(r"(\w+):", r'"\1":', found[1]))) == DEFAULTS
