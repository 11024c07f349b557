"""The form of a panel, the choice of its platform, a link to try, and what the platform says of sessions."""

import re

from django import forms
from django.core.validators import RegexValidator

from annotate.models import Outcome, Panel, PanelSession
from annotate.panels.sessions import BY_PLATFORM
from annotate.payments.ledger import pays_anything

_PARAMETER = RegexValidator(re.compile(r"[A-Za-z][A-Za-z0-9_.-]*\Z"), "Use letters, digits and _ . - without spaces.")
_CODE = RegexValidator(re.compile(r"[\w.-]+\Z", re.ASCII), "Use letters, digits and _ . - without spaces.")


class PanelForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Panel
        fields = (
            "name",
            "participant_parameter",
            "session_parameter",
            "study_parameter",
            "study_id",
            "hits_per_session",
            "minutes_per_session",
            "minutes_allowed",
            "code_completed",
            "has_own_codes",
            *(f"code_{outcome}" for outcome in Outcome.values if outcome != Outcome.COMPLETED),
            "return_url",
            "paid_by",
            "counts_unfinished",
        )
        labels = {
            "name": "Name",
            "participant_parameter": "Parameter with the participant’s id",
            "session_parameter": "Parameter with the session’s id",
            "study_parameter": "Parameter with the study’s id",
            "study_id": "Id of the study",
            "hits_per_session": "HITs per session",
            "minutes_per_session": "Minutes per session",
            "minutes_allowed": "Time allowed (minutes)",
            "code_completed": "Code: completed",
            "has_own_codes": "Give each completed session a random code of its own",
            "code_screened_out": "Code: screened out",
            "code_no_consent": "Code: no consent",
            "code_failed_check": "Code: failed check",
            "code_nothing_left": "Code: nothing left",
            "return_url": "Return address",
            "paid_by": "Who pays",
            "counts_unfinished": "Count HITs of sessions that were returned or timed out",
        }
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
            "counts_unfinished": "Otherwise their places open again. The ratings are kept in both cases.",
        }

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        if not pays_anything(self.instance.project):
            del self.fields["paid_by"]
        for name, field in self.fields.items():
            if name.endswith("_parameter"):
                field.validators.append(_PARAMETER)
            elif name.startswith("code_"):
                field.validators.append(_CODE)
            if isinstance(field.widget, forms.TextInput):
                field.widget.attrs |= {"autocomplete": "off", "spellcheck": "false"}

    def _post_clean(self) -> None:
        """Leave the row alone: the act that stores it checks what goes together, under its lock."""


class LinkForm(forms.Form):
    link = forms.CharField(
        label="Link to try",
        max_length=2000,
        help_text="Paste a link as the platform opens it, with ids filled in. Nothing is stored.",
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off", "spellcheck": "false"}),
    )


class RecordForm(forms.Form):
    state = forms.ChoiceField(
        label="The platform says",
        choices=[(state.value, PanelSession.State(state).label) for state in BY_PLATFORM],
    )
