"""The form of the page of disagreements."""

from typing import Any

from django import forms

from annotate.frames.criteria_in_use import Scope
from results.scope.forms import JudgmentsForm
from results.scope.scopes import scope_settings


class DisagreementForm(JudgmentsForm):
    by = forms.ChoiceField(
        label="Show",
        required=False,
        choices=[
            ("items", "candidates"),
            ("passages", "passages"),
            ("pairs", "pairs of annotators"),
        ],
    )

    def read_grouping(self) -> str:
        return (self.cleaned_data.get("by") if self.is_bound else "") or "items"

    def settings(self, scope: Scope) -> dict[str, Any]:
        """Return the settings of the report on pairs, which the agreement pages share."""
        return {**scope_settings(scope), "level": scope.criterion.level}
