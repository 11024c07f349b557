"""Forms of annotator quality: the rules, and how an alert was resolved."""

from dataclasses import fields
from typing import Any

from django import forms

from annotate.models import Finding, QualityRules
from annotate.quality.degraded_tests import DESCRIPTIONS, TestDescription
from annotate.reviews.forms import MAX_NOTE
from measures.quality.thresholds import Thresholds
from projects.web.forms import EditForm

_DEFAULTS = {field.name: field.default for field in fields(Thresholds)}
_SHARES: dict[str, str] = {
    "known_good": "Known answers correct: good",
    "known_poor": "Known answers correct: poor",
    "degraded_good": "Degraded scored lower: good",
    "degraded_poor": "Degraded scored lower: poor",
    "agreement_good": "Correlation with others, relative to their median: good",
    "agreement_poor": "Correlation with others, relative to their median: poor",
    "overlap_good": "Correlation with references, relative to others’: good",
    "overlap_poor": "Correlation with references, relative to others’: poor",
    "repeats_good": "Repeats within one point: good",
    "repeats_poor": "Repeats within one point: poor",
    "length_poor": "Correlation with length: poor from",
    "length_above": "Correlation with length: excess over others’",
    "same_share": "Share of one score: poor from",
    "same_above": "Share of one score: excess over others’, relative to the remainder",
    "poor_good": "Items rejected in review: good",
    "poor_poor": "Items rejected in review: poor",
    "typical_least": "Lowest median correlation used for comparison",
    "bias_part": "Mean difference from others, relative to the scale",
    "pace_part": "Time per word, relative to others’ median",
    "fast_share": "Share of items faster than reading speed",
    "returned_share": "Share of HITs returned",
    "degraded_level": "Degraded test passed below p",
}
"""In the order of the page, which shows two in a row: those that belong together come first."""
PAIRS = (
    *(("known_poor", "known_good"), ("degraded_poor", "degraded_good"), ("agreement_poor", "agreement_good")),
    *(("overlap_poor", "overlap_good"), ("repeats_poor", "repeats_good"), ("poor_good", "poor_poor")),
)
"""Pairs of thresholds of which the first must be below the second; of items rejected, the good level is the lower."""


class RulesForm(EditForm):
    spot_check_share = forms.FloatField(
        label="Share of each annotator’s submitted HITs",
        min_value=0,
        max_value=1,
        help_text="From 0 to 1. 0.05 checks 1 in 20 HITs, spread over time; 0 checks none.",
    )
    spot_check_floor = forms.IntegerField(
        label="Minimum per annotator",
        min_value=0,
        max_value=1000,
        help_text="HITs, even for annotators with few.",
    )
    chance = forms.FloatField(
        label="False alarm probability",
        min_value=1e-6,
        max_value=0.2,
        help_text="Maximum probability that good work triggers an alert by chance in one check.",
    )
    least_items = forms.IntegerField(label="Minimum items before an alert", min_value=5, max_value=10_000)
    degraded_test = forms.ChoiceField(
        label="Degraded test",
        choices=[(each.test.value, each.name) for each in DESCRIPTIONS],
        widget=forms.RadioSelect,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, label in _SHARES.items():
            self.fields[name] = forms.FloatField(label=label, min_value=0, max_value=1)

    @classmethod
    def initial_values(cls, rules: QualityRules) -> dict[str, Any]:
        kept = {name: value for name, value in rules.thresholds.items() if name in _DEFAULTS}
        return {
            **{name: getattr(value, "value", value) for name, value in _DEFAULTS.items()},
            **kept,
            "spot_check_share": rules.spot_check_share,
            "spot_check_floor": rules.spot_check_floor,
        }

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        for low, high in PAIRS:
            if low in cleaned and high in cleaned and cleaned[low] >= cleaned[high]:
                self.add_error(low, f"This must be below “{_SHARES[high]}”.")
        return cleaned

    @property
    def spot_checks(self) -> list[forms.BoundField]:
        return [self["spot_check_share"], self["spot_check_floor"]]

    @property
    def main(self) -> list[forms.BoundField]:
        return [self["chance"], self["least_items"]]

    @property
    def degraded_tests(self) -> list[tuple[forms.boundfield.BoundWidget, TestDescription]]:
        """Return the radio button of each test with its description."""
        return list(zip(self["degraded_test"], DESCRIPTIONS, strict=True))

    @property
    def levels(self) -> list[forms.BoundField]:
        return [self[name] for name in _SHARES]


class SettleForm(forms.Form):
    state = forms.ChoiceField(
        label="Outcome",
        choices=[
            (Finding.State.DISMISSED.value, "Dismissed: the work is acceptable"),
            (Finding.State.ACTED.value, "Acted on: annotator contacted, warned, suspended or removed"),
        ],
        widget=forms.RadioSelect,
        initial=Finding.State.DISMISSED.value,
    )
    note = forms.CharField(
        label="Note",
        required=False,
        max_length=MAX_NOTE,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Recorded in the audit log. Don’t name anyone.",
    )
