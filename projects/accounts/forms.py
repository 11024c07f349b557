"""Forms for signing in, signing up, passwords and the account."""

import unicodedata
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import password_validation
from django.contrib.auth.forms import AuthenticationForm, UsernameField
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from projects.accounts.rating_keys import ACTIONS, has_keys_off, is_possible, list_keys
from projects.models import User

LOOK_ALIKE_ALPHABETS = ("LATIN ", "GREEK ", "CYRILLIC ", "ARMENIAN ", "CHEROKEE ", "COPTIC ")
"""How the names of letters begin in alphabets that share their shapes: “o” is a letter of most."""


class SignInForm(AuthenticationForm):
    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": _("Wrong username or password. Both are case-sensitive."),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Django gives the browser the limit alone, and the failed attempt of a longer name could not be stored.
        most = User._meta.get_field("username").max_length
        self.fields["username"].validators.append(MaxLengthValidator(most))


class NewPasswordForm(forms.Form):
    """A new password, typed twice, for a user who may not be stored yet."""

    new_password1 = forms.CharField(
        label=_("New password"),
        strip=False,
        max_length=1000,
        help_text=_("At least 12 characters. A few words in a row are easy to remember."),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    new_password2 = forms.CharField(
        label=_("Confirm password"),
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        first, second = cleaned.get("new_password1"), cleaned.get("new_password2")
        if first and second and first != second:
            self.add_error("new_password2", gettext("The two passwords don't match."))
        elif first:
            try:
                password_validation.validate_password(first, self.user)
            except ValidationError as error:
                self.add_error("new_password1", error)
        return cleaned


class ChangePasswordForm(NewPasswordForm):
    old_password = forms.CharField(
        label=_("Current password"),
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    field_order = ["old_password", "new_password1", "new_password2"]

    def clean_old_password(self) -> str:
        old: str = self.cleaned_data["old_password"]
        if not self.user.check_password(old):
            raise ValidationError(gettext("This isn't your current password."), code="wrong")
        return old


def refuse_mixed_alphabets(username: str) -> None:
    """Refuse a name that could be drawn like another: with letters of two alphabets that look alike.

    Unicode's Technical Standard 39 restricts identifiers likewise. Other scripts mix with Latin, as in Japanese names.
    """
    names = [unicodedata.name(letter, "") for letter in username]
    if sum(any(name.startswith(alphabet) for name in names) for alphabet in LOOK_ALIKE_ALPHABETS) > 1:
        raise ValidationError(gettext("Use letters of one alphabet only: those of others look the same."))


class SignUpForm(NewPasswordForm):
    username = UsernameField(
        label=_("Username"),
        max_length=150,
        validators=[
            UnicodeUsernameValidator(message=_("No spaces, please. Use letters, digits and . + - _ @")),
            refuse_mixed_alphabets,
        ],
        help_text=_("Letters, digits and @ . + - _. Project managers see it. Results show a random name instead."),
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )

    field_order = ["username", "new_password1", "new_password2"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(User(), *args, **kwargs)
        self.fields["new_password1"].label = _("Password")

    def clean_username(self) -> str:
        username: str = self.cleaned_data["username"]
        if User.objects.filter(username__iexact=username).exists():
            raise ValidationError(gettext("This username is taken. Choose another one."))
        self.user.username = username
        return username


class IdentitySignUpForm(SignUpForm):
    """A name for the account of somebody who signs in at the site's provider, and so needs no password."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["new_password1"], self.fields["new_password2"]


class FirstOwnerForm(SignUpForm):
    """The first account of a site, and the code that the terminal printed."""

    code = forms.CharField(
        label="Code",
        max_length=60,
        help_text="Printed in the terminal where Concord was started. “manage.py first_owner” prints it again.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )

    field_order = ["code", "username", "new_password1", "new_password2"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].help_text = "Letters, digits and @ . + - _."


class AccountForm(forms.Form):
    first_name = forms.CharField(label=_("First name"), max_length=150, required=False)
    last_name = forms.CharField(label=_("Last name"), max_length=150, required=False)
    email = forms.EmailField(
        label=_("Email"),
        required=False,
        help_text=_("Only managers of your projects see your name and email."),
        # Django says the same, but to people who read German informally.
        error_messages={"invalid": _("Enter a valid email address.")},
    )
    wants_email = forms.BooleanField(
        label=_("Email notices"),
        required=False,
        help_text=_("When work needs you, in one short message, at most twice a day."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not settings.SENDS_EMAIL:
            self.fields["wants_email"].disabled = True
            self.fields["wants_email"].help_text = _("This site doesn't send email.")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        is_missing = not cleaned.get("email") and "email" not in self.errors
        if settings.SENDS_EMAIL and cleaned.get("wants_email") and is_missing:
            self.add_error("email", gettext("Enter your email, or turn off the notices."))
        return cleaned


class WorkForm(forms.Form):
    """How somebody likes to work, in all of their projects."""

    session_goal = forms.IntegerField(
        label=_("Goal for a session"),
        required=False,
        min_value=0,
        max_value=500,
        help_text=_("How many HITs you want to submit before a break. You're told when you've reached it."),
    )
    suggests_breaks = forms.BooleanField(label=_("Suggest a break after about 45 minutes of work"), required=False)

    def clean_session_goal(self) -> int:
        return self.cleaned_data["session_goal"] or 0


class RatingKeysForm(forms.Form):
    """A key for each action of the rating page; no two actions share one. All of them can be turned off."""

    off = forms.BooleanField(
        label=_("Turn off single-key shortcuts"),
        required=False,
        help_text=_(
            "Letters, digits and symbols then only work where you type. Arrow keys, Backspace, Enter, Esc and "
            "Ctrl+Enter still work."
        ),
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["off"].initial = has_keys_off(user)
        for action, key in list_keys(user).items():
            self.fields[action] = forms.CharField(
                label=capfirst(str(ACTIONS[action][1])),
                initial=key,
                max_length=10,  # what is too long gets the same sentence as what is no key
                widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
            )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        taken: dict[str, str] = {}
        for action in [action for action in ACTIONS if action in cleaned]:
            key = cleaned[action] = cleaned[action].lower()
            if not is_possible(key):
                self.add_error(action, gettext("Use one letter or symbol, but no digit and none of - + . ,"))
            elif key in taken:
                words = gettext("“{key}” is already the key for “{action}”. Choose another one.")
                self.add_error(action, words.format(key=key, action=ACTIONS[taken[key]][1]))
            else:
                taken[key] = action
        return cleaned
