"""Forms of controls: what a batch shows of them, and acts on its pool; the rules are in `controls`."""

from typing import Any

from django import forms


class IdsField(forms.TypedMultipleChoiceField):
    """Ids of whatever the page listed; whether they are of the batch is for the act to say."""

    def __init__(self) -> None:
        super().__init__(coerce=int, required=False)

    def valid_value(self, value: Any) -> bool:
        return str(value).isascii() and str(value).isdigit() and len(str(value)) < 19


class ControlActForm(forms.Form):
    """An act on controls of the pool: those ticked, or one."""

    act = forms.ChoiceField(choices=[(act, act) for act in ("make", "accept", "accept-all", "retire", "reword")])
    item = IdsField()
    text = forms.CharField(required=False, strip=True, max_length=20_000)
    why = forms.CharField(required=False, max_length=500)
