"""The form in which annotators answer a survey, made of its questions."""

from collections.abc import Sequence

from django import forms
from django.utils.html import format_html
from django.utils.translation import gettext as _

from annotate.models import SurveyQuestion
from projects.language.languages import locale

Kind = SurveyQuestion.Kind

LONGEST_ANSWER = 2000
"""About a page."""
LARGEST_NUMBER = 1_000_000_000
"""Where a question names no limit. A number of hundreds of digits has no median."""
MOST_BUTTONS = 8
"""Choices with more answers are a list to open."""


class SurveyForm(forms.Form):
    """One field for each question, and the permission to publish where a question asks for it."""

    def __init__(self, questions: Sequence[SurveyQuestion], *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.questions = questions
        for question in questions:
            field = _make_field(question)
            # Managers' words may run the other way than the page.
            field.label, field.required = format_html("<bdi>{}</bdi>", question.text), question.is_required
            if question.is_published:
                field.help_text = _("May be published")
            self.fields[f"q{question.position}"] = field
        if any(question.is_published for question in questions):
            self.fields["may_publish"] = forms.BooleanField(
                required=False,
                label=_("My answers marked “May be published” may be published under a random name."),
                help_text=_("You don't have to allow this. The other answers are never published."),
            )

    def read_answers(self) -> dict[int, str | int]:
        """Return the answers of a valid form by position, without those left empty."""
        found = {question.position: self.cleaned_data[f"q{question.position}"] for question in self.questions}
        return {position: value for position, value in found.items() if value not in (None, "")}

    def may_publish(self) -> bool:
        return bool(self.cleaned_data.get("may_publish"))


def _make_field(question: SurveyQuestion) -> forms.Field:
    match question.kind:
        case Kind.CHOICE:
            return _make_choice(question, [(option, option) for option in question.options])
        case Kind.SCALE:
            low, high = question.low or 0, question.high or 0
            points = [(str(value), _label_point(question, value)) for value in range(low, high + 1)]
            return _make_choice(question, points, is_number=True, is_long=False)
        case Kind.LANGUAGE:
            return _make_choice(question, list_languages(), is_long=True)
        case Kind.NUMBER:
            low = -LARGEST_NUMBER if question.low is None else question.low
            high = LARGEST_NUMBER if question.high is None else question.high
            return forms.IntegerField(min_value=low, max_value=high)
    return forms.CharField(max_length=LONGEST_ANSWER, widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}))


def _make_choice(
    question: SurveyQuestion, choices: list[tuple[str, str]], *, is_number: bool = False, is_long: bool | None = None
) -> forms.Field:
    is_long = len(choices) > MOST_BUTTONS if is_long is None else is_long
    empty = [("", "–" if is_long else _("No answer"))] if is_long or not question.is_required else []
    widget = forms.Select() if is_long else forms.RadioSelect()
    # As the questions; a list to open has room for text alone, whose direction the browser finds by itself.
    shown = choices if is_long else [(value, format_html("<bdi>{}</bdi>", label)) for value, label in choices]
    return forms.TypedChoiceField(
        choices=[*empty, *shown], coerce=int if is_number else str, empty_value="", widget=widget
    )


def _label_point(question: SurveyQuestion, value: int) -> str:
    ends = {question.low: question.low_label, question.high: question.high_label}
    return f"{value}: {label}" if (label := ends.get(value)) else str(value)


def list_languages() -> list[tuple[str, str]]:
    """Return code and name of each language with a code of two letters, by its name in the language of the page."""
    named = [(code, str(name)) for code, name in locale().languages.items() if len(code) == 2]
    return [*sorted(named, key=lambda each: each[1].casefold()), ("other", _("Another language"))]
