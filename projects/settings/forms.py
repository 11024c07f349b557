"""Forms of a project's own settings."""

from decimal import Decimal
from typing import Any, cast

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import Field
from django.utils.text import format_lazy

from projects.models import Project
from projects.settings.lifecycle import SLUG_RULE, why_not_slug

NUMBERS = (
    "hit_size",
    "time_limit_minutes",
    "cents_per_hit",
    "cents_per_item",
    "approve_after_days",
    "hourly_floor_cents",
    "revision_minutes",
)
"""Settings whose limits are those of the stored value."""
SHOWN = ("shows_question_type", "shows_entities", "shows_reference_opinion", "shows_candidate_opinion")
"""What the rating page shows beside passage, question, references and candidates, where the project asks for it."""


class NewProjectForm(forms.Form):
    name = forms.CharField(label="Name", max_length=120)
    slug = forms.CharField(
        label="Address",
        max_length=60,
        help_text=format_lazy("{} {}", SLUG_RULE, "It cannot be changed later."),
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )
    description = forms.CharField(
        label="Description", required=False, max_length=5_000, widget=forms.Textarea(attrs={"rows": 3})
    )

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if reason := why_not_slug(slug):
            raise ValidationError(reason)
        return slug


class SettingsForm(forms.Form):
    name = forms.CharField(label="Name", max_length=120)
    description = forms.CharField(
        label="Description",
        required=False,
        max_length=5_000,
        help_text="What the study is about. Annotators read it on their desk.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    hit_size = forms.IntegerField(label="HIT size", help_text="Candidates on a page, at most.")
    time_limit_minutes = forms.IntegerField(
        label="Time limit, in minutes", help_text="After it the HIT is free for others. Late work is kept."
    )
    cents_per_hit = forms.IntegerField(label="US cents for a HIT")
    cents_per_item = forms.IntegerField(label="US cents for an item", help_text="On top of what is paid for the HIT.")
    fee_percent = forms.DecimalField(
        label="Platform fee, in per cent",
        max_digits=6,
        decimal_places=3,
        min_value=Decimal(0),
        max_value=Decimal(100),
        help_text="What a crowd platform takes on top of the pay; 0 without one.",
    )
    approve_after_days = forms.IntegerField(
        label="Days until HITs are approved by themselves",
        required=False,
        help_text="Leave it empty if a manager is to approve each.",
    )
    hourly_floor_cents = forms.IntegerField(
        label="Least pay for an hour, in US cents",
        required=False,
        help_text="Where the measured time gives less, managers are warned. Leave it empty for no warning.",
    )
    revision_minutes = forms.IntegerField(
        label="Minutes in which a submitted HIT can be changed",
        help_text="Both versions are kept, the newest counts. 0: what is submitted stays as it is.",
    )
    language = forms.ChoiceField(
        label="Language of the annotators' pages",
        choices=settings.LANGUAGES,
        help_text="Annotators can choose another one for themselves.",
    )
    shows_question_type = forms.BooleanField(label="The type of the question", required=False)
    shows_entities = forms.BooleanField(label="The entities that a right answer names", required=False)
    shows_reference_opinion = forms.BooleanField(label="The opinion of each reference (yes, no, …)", required=False)
    shows_candidate_opinion = forms.BooleanField(
        label="The opinion that each candidate was predicted to have", required=False
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in NUMBERS:
            _take_limits(self.fields[name], name)

    def shown(self) -> list[forms.BoundField]:
        return [self[name] for name in SHOWN]

    @staticmethod
    def initial_of(project: Project) -> dict[str, Any]:
        names = ("name", "description", "language", *NUMBERS, *SHOWN)
        percent = Decimal(str(project.fee_share)) * 100
        return {**{name: getattr(project, name) for name in names}, "fee_percent": f"{percent.normalize():f}"}

    def values(self) -> dict[str, Any]:
        values = dict(self.cleaned_data)
        values["fee_share"] = float(values.pop("fee_percent") / 100)
        return values


class DeleteForm(forms.Form):
    typed = forms.CharField(
        label="Type the project's address",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )


def _take_limits(field: forms.Field, name: str) -> None:
    """The limits of the stored value, so that they stand in one place."""
    of = cast("Field[Any, Any]", Project._meta.get_field(name))
    low = max((v.limit_value for v in of.validators if isinstance(v, MinValueValidator)), default=0)
    high = min((v.limit_value for v in of.validators if isinstance(v, MaxValueValidator)), default=2**31 - 1)
    field.validators += [MinValueValidator(low), MaxValueValidator(high)]
    field.widget.attrs.update({"min": low, "max": high})
