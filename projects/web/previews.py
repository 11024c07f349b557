"""Previews that hold: a form makes only what its preview showed.

A page that previews an act seals what it shows: the settings that were asked for, and the numbers they lead to. The
button that confirms the act sends the visible fields together with the seal, so the server sees whether either has
changed, with or without a script. `static/js/previews.js` only says so earlier.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

from django import forms
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare, salted_hmac

from projects.errors import Refused

SEAL = "shown"
"""The name under which a page sends its seal back: in the address of the button, or as a hidden field."""

NOT_SHOWN = "Nothing was changed yet. Check the preview, then confirm it."
OTHER_SETTINGS = "The form was changed after its preview, so nothing was done. Check the new preview, then confirm it."
OTHER_NUMBERS = "The data have changed since the preview, so nothing was done. Check the new preview, then confirm it."


class PreviewChanged(Refused):
    """What would be made differs from what the page showed."""


@dataclass(frozen=True)
class Preview:
    """What a page shows before an act: the settings asked for, and the numbers that must still hold.

    `act` names the form, and `subject` the row that it is about, so that a seal holds for no other.
    """

    act: str
    subject: Model
    settings: Any = None
    numbers: Any = None

    @property
    def seal(self) -> str:
        return f"{self._sign('settings', self.settings)}{self._sign('numbers', self.numbers)}"

    def is_confirmed(self, request: HttpRequest) -> bool:
        return constant_time_compare(_read_seal(request), self.seal)

    def require_confirmed(self, request: HttpRequest) -> None:
        """Raise PreviewChanged unless the request confirms exactly this preview.

        Call it in the transaction of the act once its rows are locked, or with the numbers of what the act has done.
        """
        sent = _read_seal(request)
        if len(sent) != len(self.seal):
            raise PreviewChanged(NOT_SHOWN)
        half = len(sent) // 2
        if not constant_time_compare(sent[:half], self.seal[:half]):
            raise PreviewChanged(OTHER_SETTINGS)
        if not constant_time_compare(sent[half:], self.seal[half:]):
            raise PreviewChanged(OTHER_NUMBERS)

    def _sign(self, part: str, value: Any) -> str:
        # Signed, so that a seal can only come from a page that the server rendered.
        text = json.dumps(
            [self.act, self.subject._meta.label, self.subject.pk, part, value], cls=_Encoder, sort_keys=True
        )
        return salted_hmac(__name__, text, algorithm="sha256").hexdigest()[:32]


def read_settings(form: forms.Form, *, leave_out: Iterable[str] = ()) -> Mapping[str, Any]:
    """Return what a valid form asks for, without the fields that belong to the confirmation, such as its reason.

    An empty field is the same as none: a form may offer a field only while the data have something to choose from.
    """
    left_out = set(leave_out)
    asked = {name: value for name, value in form.cleaned_data.items() if name not in left_out}
    return {name: value for name, value in asked.items() if value or (value == 0 and value is not False)}


def _read_seal(request: HttpRequest) -> str:
    return request.POST.get(SEAL) or request.GET.get(SEAL) or ""


class _Encoder(DjangoJSONEncoder):
    def default(self, o: Any) -> Any:
        if isinstance(o, Model):
            return o.pk
        if is_dataclass(o) and not isinstance(o, type):
            return asdict(o)
        if isinstance(o, QuerySet):
            return sorted(each.pk for each in o)
        if isinstance(o, Iterable):
            return list(o)
        return super().default(o)
