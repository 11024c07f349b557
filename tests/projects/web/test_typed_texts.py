import html

import pytest
from django import forms
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotate.models import Batch
from annotate.rating.draft_merge import merge_draft, read_draft
from annotate.rating.sent import read_rating
from projects.models import Membership, Project
from projects.web.forms import WhyForm
from tests.characters import FORBIDDEN_CHARACTERS
from tests.people import SignIn
from tests.projects.api.client import Script, wrong_fields


class AnyForm(forms.Form):
    text = forms.CharField(required=False)
    email = forms.EmailField(required=False)


def test_every_text_field_refuses_forbidden_characters_with_their_place() -> None:
    for character in [*FORBIDDEN_CHARACTERS, "\ud800"]:
        assert "text" in AnyForm({"text": f"a{character}b"}).errors
    assert WhyForm({"why": "First line.\r\nSecond\x0bline."}).errors["why"] == [
        "Line 2, column 7: the character U+000B can't be used. Delete it and save again."
    ]
    assert "email" in AnyForm({"email": '"a\x01"@example.org'}).errors
    assert AnyForm({"text": "tab\t, line\r\n, delete\x7f and \u2028"}).is_valid()


@pytest.mark.django_db
def test_pages_and_the_api_name_the_character_and_store_nothing(
    owner: Membership, project: Project, client_of: SignIn
) -> None:
    page = client_of(owner).post(f"/p/{project.slug}/settings/edit/", {"name": "Name", "description": "a\n\x0bb"})
    assert page.status_code == 200
    assert "Line 2, column 1: the character U+000B" in html.unescape(page.text)
    answer = Script(owner, can_write=True).send("batches/", {"name": "one\x1btwo"})
    assert answer.status_code == 400
    assert wrong_fields(answer) >= {"name"}
    assert not Batch.objects.exists()
    assert Project.objects.get().description == project.description


def test_options_of_commands_are_texts_too() -> None:
    with pytest.raises(CommandError, match=r"--name contains U\+0001") as refused:
        call_command("create_project", "p", "--name", "a\x01", "--owner", "nobody")
    assert refused.value.returncode == 2


def test_a_comment_is_saved_without_them_as_it_is_typed() -> None:
    comment = "from a\x0bslide"
    assert read_rating({"comment0": comment}).comments == {0: "from aslide"}
    draft = merge_draft({}, {"comments": {"0": [comment, 1]}}, n_items=1, criteria={}, now=timezone.now())
    assert read_draft(draft).comments == {0: "from aslide"}
