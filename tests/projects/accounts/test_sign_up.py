"""Names of accounts that people choose: in any script, but not drawn like another by letters of a second alphabet."""

import pytest

from projects.accounts.forms import SignUpForm

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick_passwords")]


def list_errors(username: str) -> list[str]:
    password = "correct-horse-battery"
    form = SignUpForm({"username": username, "new_password1": password, "new_password2": password})
    return [str(error) for error in form.errors.get("username", [])]


@pytest.mark.parametrize("username", ["olga", "Ольга2", "Όλγα", "山田taro", "タロウ_ito", "김mina", "ali_علي", "նարե"])
def test_names_of_any_script_are_taken(username: str) -> None:
    assert list_errors(username) == []


@pytest.mark.parametrize("username", ["\N{GREEK SMALL LETTER OMICRON}lga", "olg\N{CYRILLIC SMALL LETTER A}"])
def test_names_that_look_like_others_are_refused(username: str) -> None:
    assert list_errors(username) == ["Use letters of one alphabet only: those of others look the same."]
