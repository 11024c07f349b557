"""The form of the agreement pages."""

from typing import Any

from django import forms

from annotate.frames.criteria_in_use import Scope
from measures.ceiling import Design
from projects.models import Criterion
from results.scope.forms import JudgmentsForm
from results.scope.gold_settings import ITEMS, PARTS
from results.scope.scopes import scope_settings


class AgreementForm(JudgmentsForm):
    level = forms.ChoiceField(
        label="Level",
        required=False,
        choices=[("", "level of the criterion"), *Criterion.Level.choices],
    )
    by = forms.ChoiceField(
        label="By",
        required=False,
        choices=[(name, name.replace("_", " ")) for name in PARTS],
    )
    unit = forms.ChoiceField(
        label="Interval over",
        required=False,
        choices=[("", "passages, if shared"), (ITEMS, "candidates")],
    )
    design = forms.ChoiceField(
        label="Raters",
        required=False,
        choices=[
            ("", "differ by candidate"),
            (Design.CROSSED.value, "same for all"),
            (Design.AUTO.value, "detect"),
        ],
    )

    def settings(self, kind: str, scope: Scope) -> dict[str, Any]:
        """Return the settings of a report of this kind, with every default; `read_scope` reads the scope back."""
        data = self.cleaned_data if self.is_bound else {}
        return {
            **scope_settings(scope),
            "level": data.get("level") or scope.criterion.level,
            **({"by": data.get("by") or "dataset"} if kind == "agreement" else {}),
            # Only where it was chosen, so that the address of a question stays what it was.
            **({"unit": data["unit"]} if data.get("unit") else {}),
            **({"design": data["design"]} if kind == "agreement" and data.get("design") else {}),
        }
