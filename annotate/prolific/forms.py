"""Forms: the account, a study and its places, a rejection, bonuses."""

import json
from decimal import Decimal
from typing import Any

import orjson
from django import forms

from annotate.models import ProlificStudy
from annotate.prolific import submissions
from projects.importing.readers.json_values import DECODER, NotTaken, explain, explain_value
from projects.language.characters import find_forbidden_within
from projects.web.forms import EditForm, ValuesForm

_PLAIN = {"autocomplete": "off", "spellcheck": "false"}


class AccountForm(forms.Form):
    token = forms.CharField(
        label="API token",
        max_length=200,
        required=False,
        strip=True,
        help_text="On Prolific under Settings › API tokens. It is stored encrypted and never shown again.",
        widget=forms.PasswordInput(attrs={**_PLAIN, "autocomplete": "new-password"}),
    )


class StudyForm(EditForm, ValuesForm):
    reward = forms.DecimalField(
        label="Reward for a session",
        min_value=Decimal("0.01"),
        max_value=Decimal(1000),
        decimal_places=2,
        help_text="In units of your account’s currency, such as 2.50.",
    )

    filters = forms.CharField(
        label="Filters (JSON)",
        required=False,
        max_length=20_000,
        help_text="Who is invited, as in Prolific’s API: a list such as "
        '[{"filter_id": "fluent-languages", "selected_values": ["19"]}]. Leave it empty for everyone.',
        widget=forms.Textarea(attrs={**_PLAIN, "rows": 3, "dir": "ltr"}),
    )

    class Meta:
        model = ProlificStudy
        fields = ("title", "description", "estimated_minutes", "places", "most_places")
        labels = {
            "title": "Title",
            "description": "Description",
            "estimated_minutes": "Estimated time (minutes)",
            "places": "Initial places",
            "most_places": "Maximum places",
        }
        help_texts = {
            "title": "Participants see it in their list of studies.",
            "description": "What participants do, what they need for it, and what you do with their data.",
            "places": "Places at the start; they follow the open places here, up to the maximum, and never fall.",
            "most_places": "Places follow the open places here, up to this number. "
            "You see what it costs before you publish.",
        }
        widgets = {"description": forms.Textarea(attrs={"rows": 5})}

    field_order = ("title", "description", "reward", "estimated_minutes", "places", "most_places", "filters")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial["reward"] = Decimal(self.instance.reward_cents) / 100
        self.initial["filters"] = json.dumps(self.instance.filters, ensure_ascii=False)

    def clean_filters(self) -> list[dict[str, Any]]:
        try:
            found = DECODER.decode(self.cleaned_data["filters"] or "[]")
        except json.JSONDecodeError as error:
            raise forms.ValidationError(f"This can’t be read: {explain(error)}.") from error
        except (NotTaken, RecursionError) as error:
            raise forms.ValidationError(f"This can’t be stored: {explain_value(error)}.") from error
        if forbidden := find_forbidden_within(found):
            raise forms.ValidationError(f"A text contains {forbidden.name}, which can’t be stored. Remove it.")
        try:
            orjson.dumps(found)  # as it is sent to Prolific
        except orjson.JSONEncodeError as error:
            raise forms.ValidationError("This is nested too deeply to be sent.") from error
        if not isinstance(found, list) or not all(isinstance(each, dict) and each.get("filter_id") for each in found):
            raise forms.ValidationError("Enter a list of objects, each with filter_id.")
        return found

    def _list_stored(self) -> dict[str, Any]:
        """Return nothing before the first draft: what is suggested for it changes with the open places."""
        return super()._list_stored() if self.instance.pk else {}

    def read_values(self) -> dict[str, Any]:
        values = dict(self.cleaned_data)
        values["reward_cents"] = int(values.pop("reward") * 100)
        return values


class LimitForm(forms.Form):
    most_places = forms.IntegerField(label="Maximum places", min_value=1, max_value=10_000)


class RejectForm(forms.Form):
    category = forms.ChoiceField(label="Category", choices=[("", "Choose"), *submissions.CATEGORIES.items()])
    message = forms.CharField(
        label="Message to the participant",
        max_length=submissions.MOST_MESSAGE,
        help_text=f"At least {submissions.LEAST_MESSAGE} characters: what was wrong, and where.",
        widget=forms.Textarea(attrs={"rows": 5}),
    )


class BonusForm(forms.Form):
    lines = forms.CharField(
        label="Participants and amounts",
        max_length=20_000,
        help_text="One line each: the pseudonym, and the amount in units such as 1.50 or 1,50, not in cents. "
        "You can paste both columns from a spreadsheet.",
        widget=forms.Textarea(attrs={**_PLAIN, "rows": 8, "dir": "ltr"}),
    )
    why = forms.CharField(label="Reason", max_length=500, help_text="For the log. Prolific doesn’t show it.")
