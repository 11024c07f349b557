"""The form of acts on a batch's pool of controls; the rules are in `pool`."""

from typing import Any

from django import forms

from projects.web.whole_numbers import ID_DIGITS, parse_whole_number


class IdsField(forms.TypedMultipleChoiceField):
    """Ids that the page listed; the act checks whether they belong to the batch."""

    def __init__(self) -> None:
        super().__init__(coerce=int, required=False)

    def valid_value(self, value: Any) -> bool:
        return parse_whole_number(str(value), most_digits=ID_DIGITS) is not None


class ControlActForm(forms.Form):
    """An act on controls of the pool: the selected ones, or one."""

    act = forms.ChoiceField(choices=[(act, act) for act in ("make", "accept", "accept-all", "retire", "reword")])
    item = IdsField()
    text = forms.CharField(required=False, strip=True, max_length=20_000)
    why = forms.CharField(required=False, max_length=500)
