"""The form that asks for the reason of an act."""

from typing import Any

from django import forms

WHY: dict[str, Any] = {"max_length": 500, "widget": forms.Textarea(attrs={"rows": 2})}


class WhyForm(forms.Form):
    why = forms.CharField(label="Reason", help_text="Stored in the audit log. Don't include names.", **WHY)
