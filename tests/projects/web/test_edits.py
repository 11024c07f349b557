"""Edits of what somebody else has changed since the page was opened."""

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotate.qualification.forms import ItemForm
from projects.models import Membership, Project
from projects.settings.forms import SettingsForm
from tests.annotate.panels.samples import make_panel
from tests.annotate.qualification.factories import make_test
from tests.factories import make_batch, make_corpus, make_plan
from tests.people import SignIn
from tests.projects.settings.test_lifecycle import settings_form

pytestmark = pytest.mark.django_db


def read_seen(page: str) -> str:
    (found,) = re.findall(r'name="seen" value="([^"]*)"', page)
    return html.unescape(found)


def test_an_old_page_does_not_undo_what_somebody_else_saved(owner: Membership, client_of: SignIn) -> None:
    project, client = owner.project, client_of(owner)
    edit = reverse("projects:project-settings-edit", args=[project.slug])
    seen = read_seen(client.get(edit).content.decode())
    Project.objects.filter(pk=project.pk).update(cents_per_hit=77)
    sent = settings_form(name="Mine", cents_per_hit="40")
    page = client.post(edit, {**sent, "seen": seen}).content.decode()
    label = SettingsForm.base_fields["cents_per_hit"].label
    assert f"Someone else changed this while you were editing: {label}." in page
    assert 'value="Mine"' in page
    project.refresh_from_db()
    assert (project.name, project.cents_per_hit) == ("Bridges", 77)
    # Who has compared them can save.
    assert client.post(edit, {**sent, "seen": read_seen(page)}).status_code == 302
    project.refresh_from_db()
    assert (project.name, project.cents_per_hit) == ("Mine", 40)


@pytest.mark.parametrize("seen", ["{", "[]", "7", "{}", "null", ""])
def test_nonsense_in_place_of_what_was_seen_is_no_error(owner: Membership, client_of: SignIn, seen: str) -> None:
    edit = reverse("projects:project-settings-edit", args=[owner.project.slug])
    assert client_of(owner).post(edit, settings_form(seen=seen)).status_code in (200, 302)


def test_pages_of_edits_send_back_what_they_showed(project: Project, manager: Membership, client_of: SignIn) -> None:
    make_corpus(project)
    batch, plan = make_batch(project, is_open=False), make_plan(project)
    make_test(project)
    panel = make_panel(manager)
    for address in (
        reverse("annotate:batch-caps", args=[project.slug, batch.number]),
        reverse("annotate:plan-edit", args=[project.slug, plan.number]),
        reverse("annotate:qualification-settings", args=[project.slug]),
        reverse("annotate:panel-edit", args=[project.slug, panel.number]),
        reverse("annotate:quality-rules", args=[project.slug]),
    ):
        assert read_seen(client_of(manager).get(address).content.decode()).startswith("{")


def open_form(client: Client, address: str) -> dict[str, Any]:
    """Return what the page of a form sends as it is."""
    page = client.get(address)
    form = page.context["form"]
    values = {name: form[name].value() for name in form.fields}
    sent = {name: value for name, value in values.items() if value is not None and value is not False}
    return {**sent, "seen": read_seen(page.content.decode())}


def test_two_who_edit_a_panel_do_not_undo_each_other(project: Project, manager: Membership, client_of: SignIn) -> None:
    panel, client = make_panel(manager), client_of(manager)
    edit = reverse("annotate:panel-edit", args=[project.slug, panel.number])
    sent = open_form(client, edit)
    assert client.post(edit, {**sent, "code_completed": "NEWDONE"}).status_code == 302
    answer = client.post(edit, {**sent, "name": "Mine"})
    assert answer.status_code == 422
    assert "Someone else changed this while you were editing: Code: completed." in answer.content.decode()
    panel.refresh_from_db()
    assert (panel.name, panel.code_completed) == ("Study", "NEWDONE")


def test_two_who_edit_the_quality_rules_do_not_undo_each_other(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    client, rules = client_of(manager), reverse("annotate:quality-rules", args=[project.slug])
    sent = open_form(client, rules)
    assert client.post(rules, {**sent, "spot_check_share": "0.2"}).status_code == 302
    answer = client.post(rules, {**sent, "spot_check_floor": "7"})
    assert answer.status_code == 422
    assert "Someone else changed this while you were editing: Share of each annotator" in answer.content.decode()


def test_two_who_edit_an_item_of_the_test_do_not_undo_each_other(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    item, client = make_test(project).items.all()[0], client_of(manager)
    edit = reverse("annotate:qualification-item", args=[project.slug, item.pk])
    seen = read_seen(client.get(edit).content.decode())
    sent = {**ItemForm.initial_values(item), "seen": seen}
    assert client.post(edit, {**sent, "explanation": "Theirs"}).status_code == 302
    # A preview in between shows what is typed, and takes nothing of what somebody else saved for seen.
    preview = client.post(edit, {**sent, "question": "Mine?", "preview": "1"}).content.decode()
    assert read_seen(preview) == seen
    answer = client.post(edit, {**sent, "question": "Mine?"})
    assert answer.status_code == 422
    assert "Someone else changed this while you were editing: Explanation" in answer.content.decode()
    item.refresh_from_db()
    assert item.explanation == "Theirs"
    again = {**sent, "question": "Mine?", "explanation": "Theirs", "seen": read_seen(answer.content.decode())}
    assert client.post(edit, again).status_code == 302
    item.refresh_from_db()
    assert (item.question, item.explanation) == ("Mine?", "Theirs")
