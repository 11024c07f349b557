"""The form of an API token."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from projects.models import Membership
from projects.tokens import DEFAULT_DAYS, MOST_DAYS

MAY = [
    ("read", _("Read: data, batches, judgments and results")),
    ("write", _("Read and write: import, make and open batches, freeze judgment sets")),
]


class TokenForm(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        max_length=60,
        help_text=_("What it is for, such as “weekly figures”. You and managers see it."),
    )
    may = forms.ChoiceField(label=_("It may"), choices=MAY, initial="read", widget=forms.RadioSelect)
    days = forms.IntegerField(label=_("Days until it ends"), initial=DEFAULT_DAYS, min_value=1, max_value=MOST_DAYS)

    def __init__(self, member: Membership, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not member.can_manage:
            self.fields["may"].choices = MAY[:1]  # type: ignore[attr-defined]

    def asked(self) -> dict[str, Any]:
        sent = self.cleaned_data
        return {"name": sent["name"], "can_write": sent["may"] == "write", "days": sent["days"]}
