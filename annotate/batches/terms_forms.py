"""Forms that change a batch: its limits, the judgments wanted, its state."""

from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotate.batches.judgments_wanted import parse_numbers
from annotate.batches.terms import MAX_JUDGMENTS
from annotate.models import Batch
from projects.errors import Refused
from projects.language.amounts import write_percent
from projects.web.forms import EditForm


class CapsForm(forms.Form):
    """How much of a batch one annotator may rate; an empty field sets no cap."""

    max_hits_per_annotator = forms.IntegerField(
        label="Maximum HITs per annotator", required=False, min_value=1, max_value=2**31 - 1
    )
    max_hits_per_day = forms.IntegerField(
        label="Maximum HITs per annotator per day", required=False, min_value=1, max_value=2**31 - 1
    )
    max_share_percent = forms.DecimalField(
        label="Maximum share of HITs per annotator (%)",
        required=False,
        min_value=Decimal("0.01"),
        max_value=Decimal(100),
        max_digits=5,
        decimal_places=2,
    )

    @staticmethod
    def initial_caps(batch: Batch) -> dict[str, Any]:
        share = batch.max_share
        return {
            "max_hits_per_annotator": batch.max_hits_per_annotator,
            "max_hits_per_day": batch.max_hits_per_day,
            "max_share_percent": None if share is None else write_percent(share),
        }

    def caps(self) -> dict[str, Any]:
        """Return the caps as the batch stores them, with the share from 0 to 1."""
        share = self.cleaned_data["max_share_percent"]
        return {
            "max_hits_per_annotator": self.cleaned_data["max_hits_per_annotator"],
            "max_hits_per_day": self.cleaned_data["max_hits_per_day"],
            "max_share": None if share is None else float(share / 100),
        }


class EditCapsForm(EditForm, CapsForm):
    """The caps of a batch that exists."""


class WantedForm(forms.Form):
    """A new number of judgments, for the whole batch or for some HITs."""

    judgments = forms.IntegerField(label="Judgments per candidate", min_value=1, max_value=MAX_JUDGMENTS)
    hits = forms.CharField(
        label="Only for these HITs",
        required=False,
        max_length=5_000,
        help_text="For example 1-5, 9. If empty, the whole batch.",
    )
    reopen = forms.BooleanField(label="Reopen the batch", required=False)
    why = forms.CharField(
        label="Reason",
        required=False,
        max_length=500,
        help_text="Recorded in the audit log. Required to reopen the batch.",
    )

    def clean_hits(self) -> list[int] | None:
        text: str = self.cleaned_data["hits"].strip()
        try:
            return parse_numbers(text) if text else None
        except Refused as refusal:
            raise ValidationError(refusal.message) from refusal


class StateForm(forms.Form):
    act = forms.ChoiceField(
        choices=[
            (act, act)
            for act in ("open", "pause", "close", "reopen", "archive", "delete", "pin", "pay-by-item", "pay-in-full")
        ]
    )
    why = forms.CharField(required=False, max_length=500)
