"""The filter of the log."""

from django import forms


class LogFilterForm(forms.Form):
    """Every field by itself: one that cannot be read is left out, and the others hold."""

    act = forms.CharField(required=False, max_length=60)
    actor = forms.CharField(required=False, max_length=40)
    kind = forms.CharField(required=False, max_length=40)
    id = forms.CharField(required=False, max_length=60)
    since = forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}))
    q = forms.CharField(required=False, max_length=200)
