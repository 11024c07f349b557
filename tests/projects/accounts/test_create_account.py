import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from projects.models import User

pytestmark = pytest.mark.django_db


def test_the_command_makes_an_account_and_changes_whether_it_may_create_projects(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(*options: str) -> str:
        call_command("create_account", "olga", *options)
        return capsys.readouterr().out

    made = run()
    assert "Account “olga” created." in made
    assert "It may not create projects" in made
    assert "manage.py create_account olga --creates-projects" in made
    assert "manage.py reset_link olga" in made
    user = User.objects.get()
    assert (user.can_create_projects, user.has_usable_password()) == (False, False)
    expected: dict[str, Any] = {"username": "olga", "is_new": False, "can_create_projects": True}
    assert json.loads(run("--creates-projects", "--json")) == expected
    user.refresh_from_db()
    user.set_password("long enough for olga")
    user.save()
    again = run()
    assert "Account “olga” already existed." in again
    assert "It may create projects" in again
    assert "reset_link" not in again
    assert User.objects.get().can_create_projects
    with pytest.raises(CommandError, match="not allowed with"):
        run("--creates-projects", "--creates-no-projects")
    assert "It may not create projects" in run("--creates-no-projects")
    assert not User.objects.get().can_create_projects
