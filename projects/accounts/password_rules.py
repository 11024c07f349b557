"""What a password must be, beyond the rules of Django."""

from django.contrib.auth.password_validation import MinimumLengthValidator
from django.utils.translation import ngettext


class MinimumLength(MinimumLengthValidator):
    """Django's rule in words of this site: its own words lack a translation in some of the languages offered."""

    def get_error_message(self) -> str:
        return ngettext(
            "This password is too short. Use at least {n} character.",
            "This password is too short. Use at least {n} characters.",
            self.min_length,
        ).format(n=self.min_length)
