"""The form of the sample-size planner."""

from typing import Any

from django import forms

from annotate.frames.criteria_in_use import Scope
from projects.models import Criterion
from results.agreement.precision import JUDGMENTS, MOST_JUDGMENTS, WIDTH
from results.scope.forms import JudgmentsForm
from results.scope.scopes import scope_settings


class PlannerForm(JudgmentsForm):
    level = forms.ChoiceField(
        label="Level",
        required=False,
        choices=[("", "level of the criterion"), *Criterion.Level.choices],
    )
    resample = forms.ChoiceField(
        label="Intervals over",
        required=False,
        choices=[("", "passages, if shared"), ("items", "candidates"), ("passages", "passages")],
    )
    width = forms.FloatField(
        label="CI width",
        required=False,
        min_value=0.005,
        max_value=1,
        widget=forms.NumberInput(attrs={"step": "any", "placeholder": WIDTH, "inputmode": "decimal"}),
    )
    judgments = forms.CharField(
        label="Judgments per candidate",
        required=False,
        max_length=40,
        widget=forms.TextInput(attrs={"placeholder": ", ".join(map(str, JUDGMENTS)), "inputmode": "numeric"}),
    )

    def clean_judgments(self) -> tuple[int, ...]:
        """Return up to five whole numbers of judgments per candidate, each at least two."""
        words = self.cleaned_data["judgments"].replace(",", " ").split()
        # Three digits at most, so that int() never meets a text of a million.
        if not all(word.isascii() and word.isdigit() and len(word) < 4 for word in words):
            raise forms.ValidationError("Enter whole numbers separated by commas, for example 2, 3, 5.")
        numbers = sorted({int(word) for word in words})
        if any(not 2 <= number <= MOST_JUDGMENTS for number in numbers) or len(numbers) > 5:
            raise forms.ValidationError(
                f"Enter up to five numbers from 2 to {MOST_JUDGMENTS}. Agreement requires at least two judgments per "
                "candidate."
            )
        return tuple(numbers)

    def read_width(self) -> float:
        return (self.cleaned_data.get("width") if self.is_bound else None) or WIDTH

    def settings(self, scope: Scope) -> dict[str, Any]:
        """Return the settings of the report. The width is not among them: it is looked up in the planned widths."""
        data = self.cleaned_data if self.is_bound else {}
        return {
            **scope_settings(scope),
            "level": data.get("level") or scope.criterion.level,
            "judgments": list(data.get("judgments") or JUDGMENTS),
            # None: whole passages wherever candidates share one.
            "by_passage": {"items": False, "passages": True}.get(data.get("resample", "")),
        }
