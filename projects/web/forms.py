"""What forms have in common: reasons, edits, values for an act, rows that are added, and how many fields are wrong."""

import json
from http import HTTPStatus
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.core.serializers.json import DjangoJSONEncoder
from django.http import QueryDict

CHANGED = (
    "Someone else changed this while you were editing: {names}. Nothing was saved, and your values are still here. "
    "Compare them with the stored ones in another tab, then save again."
)
WHY: dict[str, Any] = {"max_length": 500, "widget": forms.Textarea(attrs={"rows": 2})}


def choose_status(form: forms.BaseForm) -> HTTPStatus:
    """Return the status of a page that shows a form: 422 for one that was sent with errors."""
    return HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK


class WhyForm(forms.Form):
    why = forms.CharField(label="Reason", help_text="Stored in the audit log. Don't include names.", **WHY)


class EditForm(forms.Form):
    """A form of what is stored, its initial values. It is refused once if these have changed since its page was opened.

    Its page sends `seen` back under that name. Without it nothing is compared.
    """

    @property
    def seen(self) -> str:
        return json.dumps(self._list_stored(), cls=DjangoJSONEncoder)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        try:
            seen = json.loads(self.data.get("seen") or "null")
        except ValueError:
            seen = None
        if isinstance(seen, dict):
            stored = json.loads(self.seen)
            changed = [str(self.fields[name].label) for name in stored if stored[name] != seen.get(name)]
            if changed:
                raise forms.ValidationError(CHANGED.format(names=", ".join(changed)))
        return cleaned

    def _list_stored(self) -> dict[str, Any]:
        return {name: self.get_initial_for_field(field, name) for name, field in self.fields.items()}


class ValuesForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form of a model's fields whose values an act stores: it checks what goes together, under its lock.

    A ModelForm writes what was sent into the row, and then runs the validators of the model's fields on that. Here the
    row stays as it is, and the form's fields have these validators.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        for each in self._meta.model._meta.fields:
            if field := self.fields.get(each.name):
                field.validators += [validator for validator in each.validators if validator not in field.validators]

    def _post_clean(self) -> None:
        """Leave the row alone."""


def add_row(sent: QueryDict, prefix: str, form: type[forms.Form], *, n: int, most: int) -> QueryDict:
    """Return what was sent of `n` rows, with one more, as the page shows an untouched one, unless there are `most`."""
    data = sent.copy()
    if n < most:
        data[f"{prefix}-TOTAL_FORMS"] = str(n + 1)
        for name, field in form.base_fields.items():
            if field.initial not in (None, False):
                data[f"{prefix}-{n}-{name}"] = str(field.initial)
    return data


def count_wrong_fields(form: forms.BaseForm, rows: "forms.BaseFormSet[Any]") -> int:
    """Return how many fields of a form, and of the rows of fields below it, the page marks as wrong.

    What is wrong with the form or with all rows together is no mark: the page says it by itself.
    """
    return len(form.errors.keys() - {NON_FIELD_ERRORS}) + sum(map(len, rows.errors))
