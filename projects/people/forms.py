"""Forms of members and invitations."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from projects.models import Membership
from projects.people.invitations import DEFAULT_DAYS, MOST_DAYS
from projects.people.members import grantable_roles

Role = Membership.Role

WHAT_ROLES_DO = {
    Role.ANNOTATOR: _("Annotator: rates, and sees their own work only"),
    Role.RESEARCHER: _("Researcher: reads data and results, under pseudonyms"),
    Role.MANAGER: _("Manager: imports, opens batches, invites people and looks after them"),
    Role.OWNER: _("Owner: all of it, and decides on managers and settings"),
}


class InvitationForm(forms.Form):
    role = forms.ChoiceField(label=_("Role"), widget=forms.RadioSelect, initial=Role.ANNOTATOR)
    is_annotator = forms.BooleanField(
        label=_("Rates HITs as well"),
        required=False,
        help_text=_("Annotators always do. Of people who see sources and results, judgments are marked as not blind."),
    )
    max_uses = forms.IntegerField(
        label=_("How many people may join by this link"), initial=1, min_value=1, max_value=10_000
    )
    days = forms.IntegerField(label=_("Days until it ends"), initial=DEFAULT_DAYS, min_value=1, max_value=MOST_DAYS)
    note = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=120,
        help_text=_("For managers, to tell invitations apart, such as “pilot group”."),
    )

    def __init__(self, actor: Membership, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        roles = [role for role in grantable_roles(actor) if role != Role.OWNER]
        self.fields["role"].choices = [(role.value, WHAT_ROLES_DO[role]) for role in roles]  # type: ignore[attr-defined]


class RoleForm(forms.Form):
    role = forms.ChoiceField(label=_("Role"), widget=forms.RadioSelect)

    def __init__(self, actor: Membership, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = [(role.value, WHAT_ROLES_DO[role]) for role in grantable_roles(actor)]  # type: ignore[attr-defined]


class AnnotatesForm(forms.Form):
    is_annotator = forms.BooleanField(required=False)


class PeopleFilterForm(forms.Form):
    SORTS = {
        "joined": ("joined_at", "id"),
        "-joined": ("-joined_at", "-id"),
        "pseudonym": ("pseudonym",),
        "-pseudonym": ("-pseudonym",),
        "name": ("user__username", "id"),
        "-name": ("-user__username", "-id"),
        "role": ("role", "id"),
        "-role": ("-role", "-id"),
    }

    q = forms.CharField(required=False, max_length=100, label=_("Search"))
    role = forms.ChoiceField(label=_("Role"), required=False, choices=[("", _("any role")), *Role.choices])
    kind = forms.ChoiceField(label=_("Kind"), required=False, choices=[("", _("any kind")), *Membership.Kind.choices])
    standing = forms.ChoiceField(
        label=_("Standing"), required=False, choices=[("", _("any standing")), *Membership.Standing.choices]
    )
    sort = forms.ChoiceField(required=False, choices=[(name, name) for name in SORTS])
