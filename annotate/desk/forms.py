"""The forms by which people withdraw their consent and delete their account."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from projects.models import User
from projects.web.whole_numbers import parse_whole_number

KEEP, REMOVE = "keep", "out"


class WithdrawForm(forms.Form):
    """The choice of what happens to the work, and a confirmation; neither is filled in beforehand."""

    work = forms.ChoiceField(
        label=_("What should happen to your work?"),
        choices=[
            (KEEP, _("Stop, and keep my ratings")),
            (REMOVE, _("Stop, and remove my ratings")),
        ],
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose what should happen to your work.")},
    )
    is_meant = forms.BooleanField(
        label=_("Yes, I withdraw my consent"), error_messages={"required": _("Tick the box to confirm.")}
    )

    @property
    def removes_work(self) -> bool:
        return bool(self.cleaned_data["work"] == REMOVE)


class DeleteAccountForm(forms.Form):
    """The choice of what happens to the work, the password, and a confirmation; none is filled in beforehand."""

    work = forms.ChoiceField(
        label=_("What should happen to your ratings?"),
        choices=[
            (KEEP, _("Keep them in the results, under random names")),
            (REMOVE, _("Remove them from the results, with my comments")),
        ],
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose what should happen to your ratings.")},
    )
    password = forms.CharField(
        label=_("Your password"),
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        error_messages={"required": _("Enter your password.")},
    )
    is_meant = forms.BooleanField(
        label=_("Yes, delete my account for good"), error_messages={"required": _("Tick the box to confirm.")}
    )

    def __init__(self, user: User, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.user = user
        if not user.has_usable_password():  # the view has asked for another proof
            del self.fields["password"]

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise ValidationError(gettext("This isn't your password."), code="wrong")
        return password

    @property
    def removes_work(self) -> bool:
        return bool(self.cleaned_data["work"] == REMOVE)


def read_version(text: str) -> int:
    """Return the version that a form names, or 0 for text that is not a number: versions start at 1."""
    return parse_whole_number(text) or 0
