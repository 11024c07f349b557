"""Edits of what somebody else has changed since the page was opened."""

import html
import re

import pytest
from django.urls import reverse

from projects.models import Membership, Project
from projects.settings.forms import SettingsForm
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
    for address in (
        reverse("annotate:batch-caps", args=[project.slug, batch.number]),
        reverse("annotate:plan-edit", args=[project.slug, plan.number]),
        reverse("annotate:qualification-settings", args=[project.slug]),
    ):
        assert read_seen(client_of(manager).get(address).content.decode()).startswith("{")
