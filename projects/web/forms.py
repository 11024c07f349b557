"""What forms have in common: the reason of an act, and how many fields of a long form are wrong."""

from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS

WHY: dict[str, Any] = {"max_length": 500, "widget": forms.Textarea(attrs={"rows": 2})}


class WhyForm(forms.Form):
    why = forms.CharField(label="Reason", help_text="Stored in the audit log. Don't include names.", **WHY)


def count_wrong_fields(form: forms.BaseForm, rows: "forms.BaseFormSet[Any]") -> int:
    """Return how many fields of a form, and of the rows of fields below it, the page marks as wrong.

    What is wrong with the form or with all rows together is no mark: the page says it by itself.
    """
    return len(form.errors.keys() - {NON_FIELD_ERRORS}) + sum(map(len, rows.errors))
