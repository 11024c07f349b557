"""Forms of signing in, signing up and passwords."""

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm, UserCreationForm

from projects.models import User


class SignInForm(AuthenticationForm):
    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": "This username and password do not go together. Both are case-sensitive.",
    }


class SignUpForm(UserCreationForm[User]):
    class Meta(UserCreationForm.Meta):
        model = User
        fields = ("username",)


class ChangePasswordForm(PasswordChangeForm[User]):
    pass


class NewPasswordForm(SetPasswordForm[User]):
    pass


class AccountForm(forms.ModelForm[User]):
    class Meta:
        model = User
        fields = ("first_name", "last_name", "email")
        help_texts = {"email": "Only the managers of your projects see your name and address."}
