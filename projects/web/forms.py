"""The form that asks why."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

WHY: dict[str, Any] = {"max_length": 500, "widget": forms.Textarea(attrs={"rows": 2})}


class WhyForm(forms.Form):
    why = forms.CharField(
        label=gettext_lazy("Reason"), help_text=gettext_lazy("Kept in the log. Name no person there."), **WHY
    )
