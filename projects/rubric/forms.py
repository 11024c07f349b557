"""The form of a custom rubric: its name and a formset of criteria."""

import re
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.utils.text import slugify

from measures.rubric import KEY_RULE, MOST_KEY_CHARACTERS, CriterionSpec, Level, Scale, ScaleKind, has_order, is_key
from projects.models import Criterion

MOST_POINTS = 101
"""A scale from 0 to 100."""
MOST_CRITERIA = 20
"""The form of the largest HIT then has 2,300 fields, within DATA_UPLOAD_MAX_NUMBER_FIELDS."""
SLIDER_LOW, SLIDER_HIGH = 0, 100
FARTHEST_POINT = 1_000_000
"""As in the database's constraint criterion_scale_range."""
ANCHOR = re.compile(r"\s*(-?[0-9]{1,7})\s*[:=–]\s*(.+?)\s*")


class RubricForm(forms.Form):
    name = forms.CharField(label="Name", max_length=120, help_text="For example “Fluency and correctness”.")
    based_on = forms.IntegerField(widget=forms.HiddenInput, min_value=0, max_value=2**31 - 1)


class CriterionForm(forms.Form):
    name = forms.CharField(label="Name", max_length=80)
    key = forms.CharField(
        label="Key",
        max_length=MOST_KEY_CHARACTERS,
        required=False,
        help_text="Column name in exports. If empty, it is derived from the name.",
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )
    statement = forms.CharField(
        label="Question to the annotator",
        max_length=1_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    kind = forms.ChoiceField(
        label="Scale",
        choices=[
            (Criterion.Kind.ORDINAL, "Points"),
            (Criterion.Kind.CONTINUOUS, "Slider, 0 to 100"),
        ],
        help_text="Points are the whole numbers from a lowest to a highest value. A slider takes any number from 0 to "
        "100, with decimals.",
    )
    low = forms.IntegerField(
        label="Lowest value",
        required=False,
        initial=1,
        min_value=-FARTHEST_POINT,
        max_value=FARTHEST_POINT,
    )
    high = forms.IntegerField(
        label="Highest value",
        required=False,
        initial=5,
        min_value=-FARTHEST_POINT,
        max_value=FARTHEST_POINT,
    )
    anchors = forms.CharField(
        label="Labels of the points",
        required=False,
        max_length=10_000,
        help_text=(
            "One point per line: value, label and explanation, for example “5: Same meaning: extra words are fine”. "
            "The label is shown on the button."
        ),
        widget=forms.Textarea(attrs={"rows": 5}),
    )
    level = forms.ChoiceField(
        label="Level of measurement",
        choices=[("", "the usual one of the scale"), *Criterion.Level.choices],
        required=False,
        help_text="Used for agreement by default; other levels can be selected there. Points are usually "
        "ordinal, two points nominal, and a slider interval. Choose nominal for categories without an order, such as "
        "kinds of errors.",
    )
    is_reversed = forms.BooleanField(label="Reversed (lower is better)", required=False)
    used_for_quality = forms.BooleanField(
        label="Use for annotator quality",
        required=False,
        initial=True,
        help_text="Ratings on this criterion help to find poor work. A wrong answer among the controls is checked "
        "on the first such criterion alone, so put the one about correctness first. Categories without an order are "
        "checked in the qualification test alone.",
    )

    def clean_key(self) -> str:
        key: str = self.cleaned_data["key"]
        if key and not is_key(key):
            raise ValidationError(KEY_RULE)
        return key

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if "name" in cleaned and "key" in cleaned and not cleaned["key"]:
            # With underscores, as in other names of columns; `slugify` writes hyphens.
            cleaned["key"] = re.sub(r"[-_]+", "_", slugify(cleaned["name"]))[:MOST_KEY_CHARACTERS].strip("_")
            if not cleaned["key"]:
                self.add_error("key", "Enter a key: it cannot be derived from this name.")
        if "kind" in cleaned:
            self._clean_scale(cleaned)
        return cleaned

    def _clean_scale(self, cleaned: dict[str, Any]) -> None:
        if cleaned["kind"] == Criterion.Kind.CONTINUOUS:
            low, high = SLIDER_LOW, SLIDER_HIGH
            # The page hides both fields then, and an error beside them too.
            self.errors.pop("low", None)
            self.errors.pop("high", None)
            if cleaned.get("level") == Level.NOMINAL:
                self.add_error(
                    "level",
                    (
                        "Nominal agreement is not meaningful on a slider, because almost all ratings differ. "
                        "Choose another level."
                    ),
                )
        else:
            if cleaned.get("low") is None or cleaned.get("high") is None:
                if not self.errors.keys() & {"low", "high"}:
                    self.add_error("low", "Enter the lowest and the highest value.")
                return
            low, high = cleaned["low"], cleaned["high"]
            if high < low:
                self.add_error("high", "The highest value must be above the lowest.")
                return
            if not 2 <= high - low + 1 <= MOST_POINTS:
                self.add_error(
                    "high",
                    f"The scale needs 2 to {MOST_POINTS} points.",
                )
                return
        try:
            cleaned["scale"] = Scale(kind=ScaleKind(cleaned["kind"]), low=low, high=high)
        except ValueError as error:
            self.add_error("low", str(error))
            return
        # Two points have nothing between them, so “ordinal” would say too much.
        if not cleaned.get("level") or (cleaned["level"] == Level.ORDINAL and cleaned["scale"].points):
            cleaned["level"] = cleaned["scale"].usual_level
        if cleaned.get("is_reversed") and not has_order(cleaned["level"], low, high):
            self.add_error("is_reversed", "Categories without an order have no lower and better end. Untick this.")
        cleaned["texts"] = self._read_anchors(cleaned.get("anchors", ""), cleaned["scale"])

    def _read_anchors(self, text: str, scale: Scale) -> dict[int, str]:
        found: dict[int, str] = {}
        for n, line in enumerate(text.splitlines(), start=1):
            if not line.strip():
                continue
            match = ANCHOR.fullmatch(line)
            if match is None:
                self.add_error("anchors", f"Line {n}: enter the value, a colon and its label.")
                continue
            value = int(match[1])
            if not scale.low <= value <= scale.high:
                self.add_error("anchors", f"Line {n}: {value} is not on the scale.")
            elif value in found:
                self.add_error("anchors", f"Line {n}: {value} already has a label.")
            else:
                found[value] = match[2]
        return found

    def spec(self) -> CriterionSpec:
        cleaned = self.cleaned_data
        return CriterionSpec(
            key=cleaned["key"],
            name=cleaned["name"],
            statement=cleaned["statement"],
            scale=cleaned["scale"],
            anchors=cleaned["texts"],
            reversed=cleaned["is_reversed"],
            level=Level(cleaned["level"]),
        )

    @staticmethod
    def make_initial(criterion: Criterion) -> dict[str, Any]:
        names = ("name", "key", "statement", "kind", "low", "high", "level", "is_reversed", "used_for_quality")
        anchors = sorted(criterion.anchors, key=lambda anchor: -anchor["value"])
        lines = [f"{anchor['value']}: {anchor['text']}" for anchor in anchors]
        return {**{name: getattr(criterion, name) for name in names}, "anchors": "\n".join(lines)}


if TYPE_CHECKING:
    Criteria = forms.BaseFormSet[CriterionForm]
else:
    Criteria = forms.BaseFormSet


class BaseCriterionFormSet(Criteria):
    """At least one criterion, and no key twice."""

    def kept(self) -> list[CriterionForm]:
        """Return the valid criteria, without those removed and those added but left empty."""
        return [form for form in self.forms if form.cleaned_data and form not in self.deleted_forms]

    def clean(self) -> None:
        if any(self.errors):
            return
        keys = [form.cleaned_data["key"] for form in self.kept()]
        if not keys:
            raise ValidationError("A rubric needs at least one criterion.")
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            raise ValidationError("Two criteria have the same key {twice}.".format(twice=", ".join(twice)))


CriterionFormSet = cast(
    "type[BaseCriterionFormSet]",
    forms.formset_factory(
        CriterionForm,
        formset=BaseCriterionFormSet,
        extra=0,
        min_num=1,
        validate_min=True,
        max_num=MOST_CRITERIA,
        absolute_max=MOST_CRITERIA,
        validate_max=True,
        can_delete=True,
    ),
)
