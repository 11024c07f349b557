"""Forms of watching quality: the rules, how a finding is settled, what a reviewer says of each item."""

from dataclasses import fields
from typing import Any

from django import forms

from annotate.models import Finding, QualityRules
from annotate.reviews.forms import MAX_NOTE
from measures.quality.degraded import DegradedTest
from measures.quality.findings import Thresholds

_DEFAULTS = {field.name: field.default for field in fields(Thresholds)}
_SHARES: dict[str, str] = {
    "known_good": "Known answers right: good",
    "known_poor": "Known answers right: poor",
    "degraded_good": "Degraded scored lower: good",
    "degraded_poor": "Degraded scored lower: poor",
    "agreement_good": "Correlation with the others, as a part of their median: good",
    "agreement_poor": "Correlation with the others, as a part of their median: poor",
    "overlap_good": "Correlation with shared words, as a part of the others’: good",
    "overlap_poor": "Correlation with shared words, as a part of the others’: poor",
    "repeats_good": "Repeats within one point: good",
    "repeats_poor": "Repeats within one point: poor",
    "typical_least": "Weakest median correlation to compare with",
    "length_poor": "Correlation with length from which it is poor",
    "length_above": "How far above the others’ correlation with length",
    "same_share": "Share of one score from which it is poor",
    "same_above": "How far above the others’ share of that score, as a part of what is left",
    "poor_good": "Items reviewed poor: good",
    "poor_poor": "Items reviewed poor: poor",
    "bias_part": "Mean difference to the others, as a part of the scale",
    "pace_part": "Time for a word to read, as a part of the others’ median",
    "fast_share": "Share of items faster than can be read",
    "returned_share": "Share of HITs given back",
    "degraded_level": "The degraded test is passed below p",
}
PAIRS = (
    *(("known_poor", "known_good"), ("degraded_poor", "degraded_good"), ("agreement_poor", "agreement_good")),
    *(("overlap_poor", "overlap_good"), ("repeats_poor", "repeats_good"), ("poor_good", "poor_poor")),
)
"""The first of each must lie below the second."""


class RulesForm(forms.Form):
    spot_check_share = forms.FloatField(
        label="Share of each annotator’s submitted HITs",
        min_value=0,
        max_value=1,
        help_text="0.05 draws one in twenty, spread over time. 0 draws none.",
    )
    spot_check_floor = forms.IntegerField(
        label="At least so many of each annotator",
        min_value=0,
        max_value=1000,
        help_text="Also of those who did few.",
    )
    chance = forms.FloatField(
        label="Chance of a false alarm",
        min_value=1e-6,
        max_value=0.2,
        help_text="The most probable that good work makes a finding by bad luck at one check.",
    )
    least_items = forms.IntegerField(label="Items rated before anything is found", min_value=5, max_value=10_000)
    degraded_test = forms.ChoiceField(
        label="Test of degraded answers",
        choices=[
            (DegradedTest.SIGNED_RANK.value, "signed rank, each against its source"),
            (DegradedTest.PAIRED_T.value, "paired t, each against its source"),
            (DegradedTest.MANN_WHITNEY.value, "Mann-Whitney, against all ordinary items"),
            (DegradedTest.RANK_SUM.value, "rank sum, against all ordinary items"),
        ],
        help_text="The last two pass few careful annotators where many answers are rated low anyway.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, label in _SHARES.items():
            self.fields[name] = forms.FloatField(label=label, min_value=0, max_value=1)

    @classmethod
    def initial_of(cls, rules: QualityRules) -> dict[str, Any]:
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
                self.add_error(low, f"This must lie below “{_SHARES[high]}”.")
        return cleaned

    @property
    def spot_checks(self) -> list[forms.BoundField]:
        return [self["spot_check_share"], self["spot_check_floor"]]

    @property
    def main(self) -> list[forms.BoundField]:
        return [self["chance"], self["least_items"], self["degraded_test"]]

    @property
    def levels(self) -> list[forms.BoundField]:
        return [self[name] for name in _SHARES]


class SettleForm(forms.Form):
    state = forms.ChoiceField(
        label="What became of it",
        choices=[
            (Finding.State.DISMISSED.value, "Dismissed: the work is good enough"),
            (Finding.State.ACTED.value, "Acted on: warned, suspended, removed or spoken to"),
        ],
        widget=forms.RadioSelect,
        initial=Finding.State.DISMISSED.value,
    )
    note = forms.CharField(
        label="Note",
        required=False,
        max_length=MAX_NOTE,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="It goes into the log. Name no person there.",
    )
