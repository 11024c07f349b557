"""Forms of members and invitations."""

from typing import Any

from django import forms

from projects.models import Membership
from projects.people.invitations import DEFAULT_DAYS, MOST_DAYS
from projects.people.members import grantable_roles
from projects.web.keyed_forms import KeyedForm

Role = Membership.Role

ROLE_DESCRIPTIONS = {
    Role.ANNOTATOR: "Annotator: rates HITs and sees only their own work",
    Role.RESEARCHER: "Researcher: sees data and results under pseudonyms",
    Role.MANAGER: "Manager: imports data, runs batches and manages annotators",
    Role.OWNER: "Owner: all rights, including managers and settings",
}


class InvitationForm(KeyedForm):
    role = forms.ChoiceField(label="Role", widget=forms.RadioSelect, initial=Role.ANNOTATOR)
    is_annotator = forms.BooleanField(
        label="Also annotates",
        required=False,
        help_text="Annotators always do. Judgments of members who can see sources and results are marked as not blind.",
    )
    max_uses = forms.IntegerField(label="Maximum number of people", initial=1, min_value=1, max_value=10_000)
    days = forms.IntegerField(label="Valid for (days)", initial=DEFAULT_DAYS, min_value=1, max_value=MOST_DAYS)
    note = forms.CharField(
        label="Note",
        required=False,
        max_length=120,
        help_text="For example “pilot group”. Only managers see it.",
    )

    def __init__(self, actor: Membership, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        roles = [role for role in grantable_roles(actor) if role != Role.OWNER]
        self.fields["role"].choices = [(role.value, ROLE_DESCRIPTIONS[role]) for role in roles]  # type: ignore[attr-defined]


class RoleForm(forms.Form):
    role = forms.ChoiceField(label="Role", widget=forms.RadioSelect)

    def __init__(self, actor: Membership, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        roles = grantable_roles(actor)
        self.fields["role"].choices = [(role.value, ROLE_DESCRIPTIONS[role]) for role in roles]  # type: ignore[attr-defined]


class AnnotatesForm(forms.Form):
    is_annotator = forms.BooleanField(required=False)


class PeopleFilterForm(forms.Form):
    SORTS = {
        "joined": ("joined_at", "id"),
        "-joined": ("-joined_at", "-id"),
        "pseudonym": ("pseudonym",),
        "-pseudonym": ("-pseudonym",),
        "name": ("shown_name", "id"),
        "-name": ("-shown_name", "-id"),
        "role": ("role", "id"),
        "-role": ("-role", "-id"),
    }

    q = forms.CharField(required=False, max_length=100, label="Search")
    role = forms.ChoiceField(label="Role", required=False, choices=[("", "any"), *Role.choices])
    annotates = forms.ChoiceField(
        label="Annotator", required=False, choices=[("", "any"), ("yes", "yes"), ("no", "no")]
    )
    kind = forms.ChoiceField(label="Type", required=False, choices=[("", "any"), *Membership.Kind.choices])
    standing = forms.ChoiceField(label="Status", required=False, choices=[("", "any"), *Membership.Standing.choices])
    sort = forms.ChoiceField(required=False, choices=[(name, name) for name in SORTS])
