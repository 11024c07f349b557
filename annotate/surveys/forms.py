"""The form of a survey: its introduction and a formset of questions."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.core.exceptions import ValidationError

from annotate.models import Survey, SurveyQuestion
from annotate.onboarding.survey_form import list_languages
from annotate.onboarding.surveys import describe_survey_question
from projects.language.names import shorten_name

Kind = SurveyQuestion.Kind

MOST_QUESTIONS = 30
MOST_OPTIONS = 50
"""Enough for a list of languages or fields of study."""
MOST_POINTS = 11
"""A scale from 0 to 10 is the longest that surveys use."""
OPTION_LENGTH = 200
# No answer has more digits. Stored ranges may: `read_range` reads those too.
_RANGE = re.compile(r"-?[0-9]{1,10}(?:\s*[-–]\s*-?[0-9]{1,10})?")
KINDS = (
    (Kind.CHOICE, "choice: one of several answers"),
    (Kind.NUMBER, "number"),
    (Kind.TEXT, "text"),
    (Kind.LANGUAGE, "language, from a list"),
    (Kind.SCALE, "scale, from a lowest to a highest value"),
)


class SurveyHeadForm(forms.Form):
    introduction = forms.CharField(
        label="Introduction",
        required=False,
        max_length=2000,
        help_text="Shown above the questions. Say what the answers are for.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    version = forms.IntegerField(widget=forms.HiddenInput)


class QuestionForm(forms.Form):
    text = forms.CharField(label="Question", max_length=500)
    kind = forms.ChoiceField(label="Kind", choices=KINDS, initial=Kind.CHOICE)
    options = forms.CharField(
        label="Answers",
        required=False,
        max_length=MOST_OPTIONS * (OPTION_LENGTH + 2),
        help_text="For choice questions: two or more, one per line.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    low = forms.IntegerField(
        label="Lowest value",
        required=False,
        min_value=-1_000_000,
        max_value=1_000_000,
        help_text="Needed for scales, optional for numbers.",
    )
    high = forms.IntegerField(
        label="Highest value",
        required=False,
        min_value=-1_000_000,
        max_value=1_000_000,
        help_text="Needed for scales, optional for numbers.",
    )
    low_label = forms.CharField(
        label="Label of the lowest value", required=False, max_length=100, help_text="For scales."
    )
    high_label = forms.CharField(
        label="Label of the highest value", required=False, max_length=100, help_text="For scales."
    )
    is_required = forms.BooleanField(label="Required", required=False, initial=True)
    is_published = forms.BooleanField(
        label="May be published",
        required=False,
        help_text="Frozen sets can then include the answers of annotators who allow it, by pseudonym.",
    )
    screens_out = forms.CharField(
        label="Screens out",
        required=False,
        max_length=MOST_OPTIONS * (OPTION_LENGTH + 2),
        help_text="Answers that screen the annotator out, one per line: as above, numbers or ranges such as 0-17, or "
        "language codes such as en.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    screens_others = forms.BooleanField(label="Screen out every other answer instead", required=False)

    def __init__(self, *args: Any, moment: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if moment == Survey.Moment.AFTER:
            del self.fields["screens_out"], self.fields["screens_others"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        cleaned["options"] = _read_lines(cleaned.get("options", ""))
        cleaned["screens_out"] = _read_lines(cleaned.get("screens_out", ""))
        cleaned.setdefault("screens_others", False)
        kind, low, high = cleaned.get("kind"), cleaned.get("low"), cleaned.get("high")
        if kind == Kind.CHOICE:
            self._check_options(cleaned["options"])
        elif kind == Kind.SCALE and (low is None or high is None or not 2 <= high - low + 1 <= MOST_POINTS):
            self.add_error("high", f"Enter the lowest and the highest value of a scale of 2 to {MOST_POINTS} points.")
        elif low is not None and high is not None and low > high:
            self.add_error("high", "The highest value is below the lowest.")
        if cleaned["screens_out"]:
            self._check_screening(cleaned)
        elif cleaned["screens_others"]:
            self.add_error("screens_others", "Name the answers that don’t screen out.")
        return cleaned

    def _check_options(self, options: list[str]) -> None:
        if not 2 <= len(options) <= MOST_OPTIONS:
            self.add_error("options", f"Enter 2 to {MOST_OPTIONS} answers, one per line.")
        elif len(set(options)) < len(options):
            self.add_error("options", "Two answers are the same.")
        elif any(len(option) > OPTION_LENGTH for option in options):
            self.add_error("options", f"An answer is longer than {OPTION_LENGTH} characters.")

    def _check_screening(self, cleaned: dict[str, Any]) -> None:
        kind, named = cleaned.get("kind"), cleaned["screens_out"]
        if kind == Kind.TEXT:
            self.add_error("screens_out", "A text can’t screen out. Choose another kind.")
        elif not cleaned.get("is_required"):
            self.add_error("is_required", "A question that screens out must be required.")
        elif unknown := [entry for entry in named if not _is_answer(kind or "", entry, cleaned["options"])]:
            self.add_error("screens_out", f"“{shorten_name(unknown[0])}” is no answer to this question.")

    def question(self) -> dict[str, Any]:
        """Return the question of a valid form, without what its kind doesn't have."""
        cleaned = {name: value for name, value in self.cleaned_data.items() if name not in ("DELETE", "ORDER")}
        if cleaned["kind"] != Kind.CHOICE:
            cleaned["options"] = []
        if cleaned["kind"] not in (Kind.NUMBER, Kind.SCALE):
            cleaned["low"] = cleaned["high"] = None
        if cleaned["kind"] != Kind.SCALE:
            cleaned["low_label"] = cleaned["high_label"] = ""
        return cleaned

    @staticmethod
    def make_initial(question: SurveyQuestion) -> dict[str, Any]:
        values = describe_survey_question(question)
        return {**values, "options": "\n".join(question.options), "screens_out": "\n".join(question.screens_out)}


def _is_answer(kind: str, entry: str, options: Iterable[str]) -> bool:
    if kind == Kind.CHOICE:
        return entry in options
    if kind == Kind.LANGUAGE:
        return entry in dict(list_languages())
    return _RANGE.fullmatch(entry) is not None


def _read_lines(text: str) -> list[str]:
    return [line for each in text.splitlines() if (line := " ".join(each.split()))]


if TYPE_CHECKING:
    Questions = forms.BaseFormSet[QuestionForm]
else:
    Questions = forms.BaseFormSet


class BaseQuestionFormSet(Questions):
    """Questions in the order of their numbers, without those removed and those added but left empty."""

    def kept(self) -> list[dict[str, Any]]:
        written = [form for form in self.forms if form not in self.deleted_forms and form.cleaned_data.get("text")]
        # Questions without a number come last, in the order of the page.
        numbers = [form.cleaned_data.get("ORDER") for form in written]
        ranked = sorted(zip(numbers, written, strict=True), key=lambda each: (each[0] is None, each[0] or 0))
        return [form.question() for _number, form in ranked]

    def clean(self) -> None:
        if not any(self.errors) and not self.kept():
            raise ValidationError("A survey needs at least one question.")


QuestionFormSet = cast(
    "type[BaseQuestionFormSet]",
    forms.formset_factory(
        QuestionForm,
        formset=BaseQuestionFormSet,
        extra=0,
        min_num=1,
        max_num=MOST_QUESTIONS,
        absolute_max=MOST_QUESTIONS,
        validate_max=True,
        can_delete=True,
        can_order=True,
    ),
)
