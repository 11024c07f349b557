"""Forms for codes, passkeys and proving once more who one is."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from projects.accounts.passkeys import LONGEST_ANSWER
from projects.models import User

CODE_ATTRS = {"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false", "dir": "ltr"}


class CodeForm(forms.Form):
    code = forms.CharField(
        label=_("Code"),
        max_length=40,
        help_text=_("The 6 digits that your app shows, or one of your recovery codes."),
        widget=forms.TextInput(attrs={**CODE_ATTRS, "autofocus": True}),
    )


class AppForm(forms.Form):
    code = forms.CharField(
        label=_("Code"),
        max_length=40,
        help_text=_("The 6 digits that the app shows now."),
        widget=forms.TextInput(attrs={**CODE_ATTRS, "inputmode": "numeric"}),
    )


class PasskeyForm(forms.Form):
    """A name for a new passkey; the browser adds the passkey itself."""

    name = forms.CharField(
        label=_("Name"), max_length=60, help_text=_("To recognise it later, for example “laptop” or “phone”.")
    )
    credential = forms.CharField(max_length=LONGEST_ANSWER, widget=forms.HiddenInput, required=False)


class ConfirmForm(forms.Form):
    """The password, or a code for an account without one."""

    def __init__(self, user: User, *args: Any, has_app: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if user.has_usable_password():
            self.fields["password"] = forms.CharField(
                label=_("Password"),
                strip=False,
                max_length=1000,
                widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
            )
        elif has_app:
            self.fields["code"] = CodeForm.base_fields["code"]
