"""Forms of the gold-score page, and of the project's gold rule."""

from typing import Any

from django import forms

from annotate.frames.criteria_in_use import Scope
from annotate.models.quality import GOLD_RULES
from annotate.reviews.adjudication import Gold
from results.scope.forms import JudgmentsForm
from results.scope.scopes import scope_settings

PARTS = [
    ("dataset", "dataset"),
    ("split", "split"),
    ("source", "source"),
    ("dataset and source", "dataset and source"),
]


class GoldForm(JudgmentsForm):
    rule = forms.ChoiceField(label="Gold score", required=False, choices=GOLD_RULES)
    by = forms.ChoiceField(label="By", required=False, choices=PARTS)

    def settings(self, scope: Scope, gold: Gold) -> dict[str, Any]:
        """Return the settings of the report. The rule is not among them: the report holds the scores by every rule."""
        return {**scope_settings(scope), "controls": gold.with_controls, "settled": gold.adjudication_wins}


class RuleForm(forms.Form):
    """The project's rule for gold scores."""

    rule = forms.ChoiceField(label="Gold score", choices=GOLD_RULES)
    with_controls = forms.BooleanField(
        label="Include control ratings in z-score normalisation",
        help_text="Only affects z scores. Control items never get a score.",
        required=False,
    )
