"""Forms of the data's pages."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotate.data.pairs import PHENOMENA, Written, fetch_written
from projects.errors import Refused
from projects.models import Dataset, MinimalPair
from projects.splitting import parse_shares


class SplitForm(forms.Form):
    shares = forms.CharField(
        label="Shares",
        max_length=400,
        initial="train=75, dev=10, test=15",
        help_text="Split names with their share of candidates, separated by commas. Shares don’t need to add up "
        "to 100.",
    )
    seed = forms.IntegerField(
        label="Seed",
        initial=0,
        min_value=0,
        max_value=2**31 - 1,
        help_text="The same seed gives the same split.",
    )
    datasets = forms.ModelMultipleChoiceField(
        label="Datasets",
        queryset=Dataset.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="If none is selected, all are split.",
    )

    def __init__(self, *args: Any, datasets: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["datasets"]
        assert isinstance(field, forms.ModelMultipleChoiceField)
        field.queryset = datasets

    def clean_shares(self) -> dict[str, float]:
        try:
            return parse_shares(self.cleaned_data["shares"])
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from refusal


MOST_CHARACTERS = 20_000
"""Of a text that is typed into a form; imported ones may be longer."""
MAX_SCORE = 1e9
"""The limit of given scores, whose scale can be any."""


def _text_field(label: str, help_text: str) -> forms.CharField:
    return forms.CharField(
        label=label,
        help_text=help_text,
        max_length=MOST_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto", "spellcheck": "true"}),
    )


def _format_number(value: str | float | None) -> str | float | None:
    """Return a whole number without a decimal point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _score_field(label: str) -> forms.FloatField:
    widget = forms.NumberInput(attrs={"step": "any", "inputmode": "decimal"})
    return forms.FloatField(label=label, required=False, min_value=-MAX_SCORE, max_value=MAX_SCORE, widget=widget)


class PairForm(forms.Form):
    """Two texts that differ in one thing, the phenomenon, and human scores if they are known.

    The texts of a pair in use are shown and can't be changed.
    """

    text_1 = _text_field("Better candidate", "The answer that people should score higher.")
    text_2 = _text_field(
        "Other candidate",
        "Nearly the same, but worse in one respect. Change as little as possible.",
    )
    phenomenon = forms.CharField(
        label="Phenomenon",
        required=False,
        max_length=MinimalPair._meta.get_field("phenomenon").max_length,
        help_text="What the two differ in. Choose one or enter your own; metric accuracy is shown for each.",
        widget=forms.TextInput(attrs={"list": "phenomena", "autocomplete": "off", "dir": "auto"}),
    )
    score_1 = _score_field("Score of the better candidate")
    score_2 = _score_field("Score of the other candidate")

    def __init__(self, *args: Any, pair: MinimalPair | None = None, is_used: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if pair is not None:
            written = fetch_written(pair)
            self.initial = {name: _format_number(getattr(written, name)) for name in self.fields}
        # Django ignores what is sent for a disabled field, so that no request can change texts in use.
        if is_used:
            for name in ("text_1", "text_2"):
                self.fields[name].disabled = True

    def clean_phenomenon(self) -> str:
        """Return the phenomenon in the spelling of the list, whatever its case."""
        words = " ".join(self.cleaned_data["phenomenon"].split())
        return words.lower() if words.lower() in PHENOMENA else words

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        # Browsers send line ends as CRLF. Texts from files have LF, and equal texts are found by exact comparison.
        for name in ("text_1", "text_2"):
            if not self.fields[name].disabled and cleaned.get(name):
                cleaned[name] = cleaned[name].replace("\r\n", "\n")
        scores = [name for name in ("score_1", "score_2") if cleaned.get(name) is not None]
        if len(scores) == 1 and not self.errors:
            missing = "score_2" if scores == ["score_1"] else "score_1"
            self.add_error(missing, ValidationError("Give both scores or none."))
        return cleaned

    def written(self) -> Written:
        return Written(**{name: self.cleaned_data[name] for name in self.fields})
