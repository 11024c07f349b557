"""Every text field of every form, the admin's too, refuses characters that no text may contain."""

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from projects.errors import Refused
from projects.language.characters import find_forbidden


def check_typed(value: object) -> None:
    """Raise ValidationError for a forbidden character, with its place and its code point.

    Some fields made of text fields have other values, such as a UUID, which cannot hold such a character.
    """
    found = find_forbidden(value) if isinstance(value, str) else None
    if found is None or found.character == "\0":  # Django's own fields refuse NUL
        return
    sentence = gettext("Line {line}, column {column}: the character {code} can't be used. Delete it and save again.")
    raise ValidationError(
        sentence.format(line=found.line, column=found.column, code=found.code), code="forbidden_character"
    )


def read_typed(text: str) -> str:
    """Return a text that was sent beside a form, checked as a text field checks its own. Raises Refused."""
    try:
        return str(forms.CharField(required=False).clean(text))
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from error


def guard_text_fields() -> None:
    """Add the check to Django's text fields: one that a form forgets would be a way in."""
    for field in (forms.CharField, forms.EmailField):  # the others are made of these, or allow a few characters only
        if check_typed not in field.default_validators:
            field.default_validators = [*field.default_validators, check_typed]
