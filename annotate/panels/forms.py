"""The form of a panel, the choice of its platform, a link to try, and what the platform says of sessions."""

import re
from typing import Any

from django import forms
from django.core.validators import RegexValidator

from annotate.models import Panel, PanelSession
from annotate.panels.sessions import BY_PLATFORM
from projects.language.amounts import write_percent
from projects.web.forms import EditForm, ValuesForm

_PARAMETER = RegexValidator(re.compile(r"\A[A-Za-z][A-Za-z0-9_.-]*\Z"), "Use letters, digits and _ . - without spaces.")
_CODE = RegexValidator(re.compile(r"\A[\w.-]+\Z", re.ASCII), "Use letters, digits and _ . - without spaces.")

GROUPS: dict[str, tuple[tuple[str, ...], ...]] = {
    "Link": (("participant_parameter",), ("session_parameter", "study_parameter"), ("study_id",)),
    "Session": (("hits_per_session", "minutes_per_session"), ("minutes_allowed",), ("counts_unfinished",)),
    "Completion codes": (
        *(("code_completed",), ("has_own_codes",), ("code_screened_out", "code_no_consent")),
        *(("code_failed_check", "code_nothing_left"), ("return_url",)),
    ),
    "Pay": (
        *(("paid_by",), ("minutes_expected",), ("reward_cents", "screened_out_cents"), ("currency", "fee_percent")),
    ),
}
"""The fields below each heading of the form, those of a row together."""
ONE_NEEDED = frozenset({"hits_per_session", "minutes_per_session", "code_completed"})
"""Fields that may be empty only where another one is filled in, so that none of them is called optional."""


class PanelForm(EditForm, ValuesForm):
    fee_percent = forms.DecimalField(
        label="Fee (%)",
        min_value=0,
        max_value=100,
        required=False,
        max_digits=5,
        decimal_places=2,
        help_text="What the platform charges on top of what it pays.",
    )

    class Meta:
        model = Panel
        fields = ("name", *(name for rows in GROUPS.values() for row in rows for name in row))
        labels = {
            "name": "Name",
            "participant_parameter": "Parameter with the participant’s ID",
            "session_parameter": "Parameter with the session’s ID",
            "study_parameter": "Parameter with the study’s ID",
            "study_id": "ID of the study",
            "hits_per_session": "HITs per session",
            "minutes_per_session": "Minutes per session",
            "minutes_allowed": "Time allowed (minutes)",
            "code_completed": "Code: completed",
            "has_own_codes": "Give each completed session its own random code",
            "code_screened_out": "Code: screened out",
            "code_no_consent": "Code: no consent",
            "code_failed_check": "Code: failed check",
            "code_nothing_left": "Code: nothing left",
            "return_url": "Return address",
            "paid_by": "Who pays",
            "minutes_expected": "Announced duration (minutes)",
            "reward_cents": "Reward (cents, or the smallest unit)",
            "screened_out_cents": "Reward when screened out (cents, or the smallest unit)",
            "currency": "Currency",
            "counts_unfinished": "Count HITs of sessions that were returned or timed out",
        }
        error_messages = {"currency": {"invalid": "Enter three capital letters, such as EUR."}}
        help_texts = {
            "name": "For managers. Participants don’t see it.",
            "session_parameter": "Empty if the platform has none.",
            "study_parameter": "Empty if the platform has none.",
            "study_id": "If given, participants of any other study are turned away.",
            "hits_per_session": "As many places are reserved when somebody arrives, or fewer if no more are left.",
            "minutes_per_session": "Instead of HITs: participants rate until this much active time has passed.",
            "minutes_allowed": "From arrival. Afterwards the session times out, and its places open again.",
            "code_failed_check": "For those who use up their attempts at the qualification test.",
            "code_nothing_left": "For those who arrive when no place is left. They see it at once.",
            "return_url": "Where participants go at the end. {code}, {participant} and {session} are filled in.",
            "paid_by": "If the platform pays, the ledger owes participants nothing for HITs and tests.",
            "minutes_expected": "As the platform announces a session. The hourly pay is estimated from it.",
            "reward_cents": "What the platform pays for a completed session. Empty if it pays no money. A change holds "
            "for those who finish afterwards.",
            "screened_out_cents": "For participants whom a survey answer screens out. Leave it empty to pay nothing.",
            "currency": "Its three letters, such as USD, GBP or EUR. Rewards are in its smallest unit: 150 is 1.50 EUR "
            "and 150 JPY.",
            "counts_unfinished": "Otherwise their places open again. The ratings are kept in both cases.",
        }

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("fee_percent", write_percent(self.instance.fee_share))
        for name, field in self.fields.items():
            if name.endswith("_parameter"):
                field.validators.append(_PARAMETER)
            elif name.startswith("code_"):
                field.validators.append(_CODE)
            if isinstance(field.widget, forms.TextInput):
                field.widget.attrs |= {"autocomplete": "off", "spellcheck": "false"}

    @property
    def groups(self) -> list[tuple[str, list[list[tuple[forms.BoundField, bool]]]]]:
        """Return the fields of each heading by rows, each with whether it may be empty only if another one isn't."""
        return [
            (name, [[(self[field], field in ONE_NEEDED) for field in row] for row in rows])
            for name, rows in GROUPS.items()
        ]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if (percent := cleaned.pop("fee_percent", None)) is not None:
            cleaned["fee_share"] = float(percent / 100)
        return cleaned


class LinkForm(forms.Form):
    link = forms.CharField(
        label="Link to test",
        max_length=2000,
        help_text="Paste a link as the platform opens it, with IDs filled in. Nothing is stored.",
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off", "spellcheck": "false"}),
    )


class RecordForm(forms.Form):
    state = forms.ChoiceField(
        label="Platform status",
        choices=[(state.value, PanelSession.State(state).label) for state in BY_PLATFORM],
    )
