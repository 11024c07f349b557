"""Forms of the texts that annotators read: instructions with worked examples, and the consent form."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.core.exceptions import ValidationError

from measures.rubric import check_value, format_plain_number
from projects.rubric.rubrics import CriterionOnPage
from projects.texts.examples import LONGEST, MOST_EXAMPLES, NEEDED, Example
from projects.texts.versions import MOST_CHARACTERS


class TextForm(forms.Form):
    """A text in Markdown, and the version it is based on, by which a change made meanwhile is noticed."""

    text = forms.CharField(
        max_length=MOST_CHARACTERS,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 24, "dir": "auto", "spellcheck": "true"}),
    )
    based_on = forms.IntegerField(widget=forms.HiddenInput, min_value=0, max_value=2**31 - 1)
    empty = "Enter a text."

    def clean_text(self) -> str:
        text: str = self.cleaned_data["text"].replace("\r\n", "\n")
        if not text.strip():
            raise ValidationError(self.empty)
        return text


class InstructionsForm(TextForm):
    empty = "Enter instructions for annotators."

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["text"].label = "Instructions (Markdown)"


class ConsentForm(TextForm):
    empty = "Enter the consent text."

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["text"].label = "Consent (Markdown)"


def _text(name: str, label: str, rows: int, help_text: str = "") -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=LONGEST[name],
        required=name in NEEDED,
        help_text=help_text,
        widget=forms.Textarea(attrs={"rows": rows, "dir": "auto"}),
    )


class ExampleForm(forms.Form):
    """A worked example: its texts, and the correct rating on each criterion of the rubric."""

    passage = _text(
        "passage",
        "Passage excerpt",
        3,
        "Only the part needed to understand the rating.",
    )
    question = _text("question", "Question", 2)
    reference = _text("reference", "Reference", 2)
    candidate = _text("candidate", "Candidate", 2)
    why = _text("why", "Explanation", 3)

    def __init__(self, *args: Any, criteria: Sequence[CriterionOnPage] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.criteria = criteria
        for place, criterion in enumerate(criteria):
            step = "any" if criterion.kind == "continuous" else "1"
            self.fields[f"rating{place}"] = forms.FloatField(
                label=f"Correct rating ({criterion.low} to {criterion.high})"
                if len(criteria) == 1
                else f"{criterion.name} ({criterion.low} to {criterion.high})",
                widget=forms.NumberInput(attrs={"min": criterion.low, "max": criterion.high, "step": step}),
            )
        self.order_fields(["passage", "question", "reference", "candidate", *self._rating_names(), "why"])

    def ratings(self) -> list[forms.BoundField]:
        return [self[name] for name in self._rating_names()]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for name, criterion in zip(self._rating_names(), self.criteria, strict=True):
            value = cleaned.get(name)
            if value is not None and (wrong := check_value(criterion.scale, value)):
                self.add_error(name, wrong)
        return cleaned

    def example(self) -> Example:
        cleaned = self.cleaned_data
        pairs = zip(self._rating_names(), self.criteria, strict=True)
        return Example(
            ratings={criterion.key: cleaned[name] for name, criterion in pairs},
            **{name: cleaned[name].replace("\r\n", "\n") for name in LONGEST},
        )

    @staticmethod
    def make_initial(example: Example, criteria: Sequence[CriterionOnPage]) -> dict[str, Any]:
        ratings = {
            f"rating{place}": format_plain_number(example.ratings[criterion.key])
            for place, criterion in enumerate(criteria)
            if criterion.key in example.ratings
        }
        return {**{name: getattr(example, name) for name in LONGEST}, **ratings}

    def _rating_names(self) -> list[str]:
        return [f"rating{place}" for place in range(len(self.criteria))]


if TYPE_CHECKING:
    Examples = forms.BaseFormSet[ExampleForm]
else:
    Examples = forms.BaseFormSet


class BaseExampleFormSet(Examples):
    def add_fields(self, form: ExampleForm, index: int | None) -> None:
        super().add_fields(form, index)
        form.fields["DELETE"].label = "Remove this example"

    def kept(self) -> list[Example]:
        """Return the valid examples, without those removed and those added but left empty."""
        return [form.example() for form in self.forms if form.cleaned_data and form not in self.deleted_forms]


ExampleFormSet = cast(
    "type[BaseExampleFormSet]",
    forms.formset_factory(
        ExampleForm,
        formset=BaseExampleFormSet,
        extra=0,
        max_num=MOST_EXAMPLES,
        absolute_max=MOST_EXAMPLES,
        validate_max=True,
        can_delete=True,
    ),
)
