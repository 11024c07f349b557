"""Forms of an annotator's own work."""

from django import forms

from annotate.work.submitting import LONGEST_REPLY


class ReturnForm(forms.Form):
    reason = forms.CharField(max_length=500, required=False, strip=True)


class ReplyForm(forms.Form):
    text = forms.CharField(max_length=LONGEST_REPLY)
