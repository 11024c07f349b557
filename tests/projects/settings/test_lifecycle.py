"""Projects: made, set up, deleted and brought back."""

import json
import subprocess
import sys

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from config import env
from measures.rubric_presets import CORRECTNESS
from projects.errors import Refused
from projects.models import LogEntry, Membership, Project, User
from projects.settings import lifecycle
from projects.texts import markdown
from tests.concurrency import all_at_once
from tests.factories import make_user
from tests.people import SignIn
from tests.processes import environment

pytestmark = pytest.mark.django_db


def settings_form(**over: str) -> dict[str, str]:
    return {
        "name": "Bridges",
        "description": "",
        "hit_size": "10",
        "time_limit_minutes": "60",
        "cents_per_hit": "40",
        "cents_per_item": "0",
        "fee_percent": "0",
        "approve_after_days": "7",
        "hourly_floor_cents": "",
        "revision_minutes": "0",
        "language": "en",
        **over,
    }


def test_a_new_project_has_all_that_work_needs() -> None:
    project = lifecycle.create_project(slug="narrative-qa", name="Narrative QA", owner=make_user("olga"))
    assert project.memberships.get().role == "owner"
    assert [criterion.key for criterion in project.rubrics.get().criteria.all()] == ["correctness"]
    assert project.rubrics.get().preset == CORRECTNESS.key
    assert (project.hit_size, project.cents_per_hit, project.cents_per_item, project.time_limit_minutes) == (
        10,
        40,
        0,
        60,
    )
    assert LogEntry.objects.get().act == "create project"
    html = markdown.render(project.instructions.get().text)
    assert html.count("<tr>") == 6


def test_the_page_makes_one_for_those_who_may(client_of: SignIn) -> None:
    url, data = reverse("projects:project-new"), {"name": "Narrative QA", "slug": "narrative-qa"}
    assert client_of(make_user("rolf")).post(url, data).status_code == 403
    client = client_of(make_user("olga", can_create_projects=True))
    assert client.get(url).status_code == 200
    response = client.post(url, {**data, "owner": "1", "deleted_at": "2020-01-01"})
    assert response.status_code == 302
    project = Project.objects.get()
    assert project.deleted_at is None
    assert project.memberships.get().user == User.objects.get(username="olga")
    assert "is already in use" in client.post(url, data).content.decode()


@pytest.mark.parametrize("slug", ["", "a", "A-b", "a--b", "-a", "a-", "a b", "a_b", "ä-b", "a/b", "..", "a" * 61, "١٢"])
def test_bad_addresses_are_refused(slug: str, client_of: SignIn) -> None:
    owner = make_user("olga", can_create_projects=True)
    with pytest.raises(Refused):
        lifecycle.create_project(slug=slug, name="x", owner=owner)
    # On the page an empty address is made from the name.
    data = {"name": "x", "slug": slug or " - "}
    assert client_of(owner).post(reverse("projects:project-new"), data).status_code == 200
    assert not Project.objects.exists()


def test_the_command_makes_the_owner_too(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_project", "narrative-qa", owner="olga", json=True)
    expected = {"project": "narrative-qa", "name": "Narrative qa", "owner": "olga", "is_new_user": True}
    assert json.loads(capsys.readouterr().out) == expected
    user = User.objects.get()
    assert not user.has_usable_password()
    assert not user.can_create_projects
    call_command("create_project", "second", owner="olga", name="Second", json=True)
    assert json.loads(capsys.readouterr().out)["is_new_user"] is False


@pytest.mark.parametrize("owner", ["with space", "x" * 151, ""])
def test_the_command_refuses_and_leaves_nothing(owner: str) -> None:
    with pytest.raises(CommandError):
        call_command("create_project", "narrative-qa", owner=owner)
    with pytest.raises(CommandError):
        call_command("create_project", "Bad Slug", owner="olga")
    assert not User.objects.exists()
    assert not Project.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_commands_exit_with_the_code_that_scripts_look_at() -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(command, cwd=env.BASE_DIR, env=environment(), capture_output=True, text=True, check=False)

    done = run("create_project", "narrative-qa", "--owner", "olga", "--json")
    assert (done.returncode, json.loads(done.stdout)["project"], done.stderr) == (0, "narrative-qa", "")
    again = run("create_project", "narrative-qa", "--owner", "olga", "--json")
    assert (again.returncode, again.stdout) == (1, "")
    assert "is already in use" in again.stderr
    assert run("create_project", "narrative-qa").returncode == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
def test_two_who_want_one_address_get_one_project() -> None:
    owner = make_user("olga")

    def make(_: int) -> bool:
        try:
            lifecycle.create_project(slug="narrative-qa", name="x", owner=owner)
        except Refused:
            return False
        return True

    assert sum(all_at_once(make, range(8))) == 1
    assert Membership.objects.count() == 1


def test_settings_are_read_by_researchers_and_changed_by_the_owner(
    owner: Membership, manager: Membership, researcher: Membership, client_of: SignIn
) -> None:
    slug = owner.project.slug
    show, edit = (
        reverse("projects:project-settings", args=[slug]),
        reverse("projects:project-settings-edit", args=[slug]),
    )
    assert edit not in client_of(researcher).get(show).content.decode()
    assert client_of(manager).post(edit, settings_form()).status_code == 403
    data = settings_form(cents_per_hit="55", fee_percent="12.5", slug="other", deleted_at="2020-01-01")
    assert client_of(owner).post(edit, data).status_code == 302
    project = Project.objects.get(pk=owner.project_id)
    assert (project.cents_per_hit, project.fee_share, project.slug, project.deleted_at) == (55, 0.125, slug, None)
    entry = LogEntry.objects.get(act="change settings")
    assert (entry.before, entry.after) == (
        {"cents_per_hit": 40, "fee_share": 0.0},
        {"cents_per_hit": 55, "fee_share": 0.125},
    )
    assert 'value="12.5"' in client_of(owner).get(edit).content.decode()
    client_of(owner).post(edit, data)
    assert LogEntry.objects.filter(act="change settings").count() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"hit_size": "0"},
        {"hit_size": "101"},
        {"hit_size": "1.5"},
        {"hit_size": "99999999999999999999"},
        {"time_limit_minutes": "0"},
        {"cents_per_hit": "-1"},
        {"cents_per_item": "100001"},
        {"fee_percent": "101"},
        {"fee_percent": "NaN"},
        {"fee_percent": "-1"},
        {"name": ""},
        {"name": "x" * 121},
        {"name": "a\0b"},
    ],
)
def test_bad_settings_are_shown_back(owner: Membership, wrong: dict[str, str], client_of: SignIn) -> None:
    edit = reverse("projects:project-settings-edit", args=[owner.project.slug])
    response = client_of(owner).post(edit, settings_form(**wrong))
    assert response.status_code == 200
    assert "errorlist" in response.content.decode()
    assert not LogEntry.objects.exists()


def test_deleting_needs_the_address_and_hides_the_project(
    owner: Membership, manager: Membership, client_of: SignIn, capsys: pytest.CaptureFixture[str]
) -> None:
    url = reverse("projects:project-delete", args=[owner.project.slug])
    assert client_of(manager).post(url, {"typed": "bridges"}).status_code == 403
    for typed in ("", "Bridges", "bridges "):
        response = client_of(owner).post(url, {"typed": typed})
        if typed.strip() == "bridges":
            continue
        assert response.status_code == 200
        assert Project.objects.live().exists()
    client_of(owner).post(url, {"typed": "bridges"})
    assert not Project.objects.live().exists()
    assert client_of(manager).get(reverse("projects:project-settings", args=["bridges"])).status_code == 404
    assert LogEntry.objects.filter(act="delete project").count() == 1
    call_command("restore_project", "bridges")
    assert client_of(manager).get(reverse("projects:project-settings", args=["bridges"])).status_code == 200
    for slug in ("bridges", "nothing"):
        with pytest.raises(CommandError):
            call_command("restore_project", slug)
