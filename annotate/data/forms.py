"""Forms of the data's pages."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from projects.errors import Refused
from projects.models import Dataset
from projects.splitting import parse_shares


class SplitForm(forms.Form):
    shares = forms.CharField(
        label=gettext_lazy("Shares"),
        max_length=400,
        initial="train=75, dev=10, test=15",
        help_text=gettext_lazy(
            "Names and shares of the candidates, parted by commas. They need not add up to a hundred."
        ),
    )
    seed = forms.IntegerField(
        label=gettext_lazy("Seed"),
        initial=0,
        min_value=0,
        max_value=2**31 - 1,
        help_text=gettext_lazy("The same seed splits the same data the same way."),
    )
    datasets = forms.ModelMultipleChoiceField(
        label=gettext_lazy("Datasets"),
        queryset=Dataset.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("None chosen means all."),
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
