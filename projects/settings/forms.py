"""Forms of creating, changing and deleting a project."""

from decimal import Decimal
from typing import Any, cast

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import Field

from measures.rubric_presets import DEFAULT_PRESET, PRESETS
from projects.language.amounts import write_percent
from projects.models import Project, User
from projects.settings.copying import copy_project, list_copyable
from projects.settings.lifecycle import SLUG_RULE, create_project, derive_slug, explain_invalid_slug
from projects.web.forms import EditForm

NUMBERS = (
    "hit_size",
    "time_limit_minutes",
    "cents_per_hit",
    "cents_per_item",
    "approve_after_days",
    "hourly_floor_cents",
    "revision_minutes",
)
"""Settings whose limits are those of the model's field."""
SWITCHES = ("hides_references", "rates_identical_once", "requires_second_factor")
SHOWN = ("shows_question_type", "shows_entities", "shows_reference_opinion", "shows_candidate_opinion")
"""What the rating page can show besides passage, question, references and candidates, if the owner turns it on."""


class NewProjectForm(forms.Form):
    name = forms.CharField(label="Name", max_length=120)
    slug = forms.CharField(
        label="Address",
        max_length=60,
        required=False,
        help_text=f"Made from the name if empty. {SLUG_RULE} Can't be changed later.",
        widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}),
    )
    start = forms.ChoiceField(
        label="Start from",
        required=False,
        help_text="A template is a preset rubric with matching instructions. A copy has the settings, rubric, "
        "instructions, consent form and qualification test of a project that you manage, but no data and no people.",
    )
    language = forms.ChoiceField(
        label="Language of the annotators' pages",
        choices=settings.LANGUAGES,
        initial=settings.LANGUAGE_CODE,
        required=False,
        help_text="The scale and the instructions of a template start in this language. A copy keeps its own.",
    )
    description = forms.CharField(
        label="Description", required=False, max_length=5_000, widget=forms.Textarea(attrs={"rows": 3})
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.copyable = {project.slug: project for project in list_copyable(user)}
        templates = [(f"preset:{preset.key}", preset.name) for preset in PRESETS.values()]
        groups: list[tuple[str, list[tuple[str, str]]]] = [("Templates", [*templates, ("blank", "Blank")])]
        if self.copyable:
            mine = [(f"copy:{slug}", f"{project.name} ({slug})") for slug, project in self.copyable.items()]
            groups.append(("Copy of a project", mine))
        self.fields["start"].choices = groups  # type: ignore[attr-defined]
        self.fields["start"].initial = f"preset:{DEFAULT_PRESET}"

    def clean_language(self) -> str:
        return self.cleaned_data["language"] or settings.LANGUAGE_CODE

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug and (reason := explain_invalid_slug(slug)):
            raise ValidationError(reason)
        return slug

    def create(self, owner: User) -> Project:
        """Create the project of a valid form. Raises Refused if its address is in use."""
        sent = self.cleaned_data
        who = {"name": sent["name"], "owner": owner, "description": sent["description"]}
        slug = sent["slug"] or derive_slug(sent["name"])
        kind, _, key = (sent["start"] or f"preset:{DEFAULT_PRESET}").partition(":")
        if kind == "copy":
            return copy_project(source=self.copyable[key], slug=slug, **who)
        return create_project(slug=slug, language=sent["language"], preset=key, **who)


class SettingsForm(EditForm):
    name = forms.CharField(label="Name", max_length=120)
    description = forms.CharField(
        label="Description",
        required=False,
        max_length=5_000,
        help_text="What the project is about. Shown to annotators.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    hit_size = forms.IntegerField(label="HIT size", help_text="Maximum number of candidates per HIT.")
    time_limit_minutes = forms.IntegerField(
        label="Time limit (minutes)", help_text="After this time the HIT is offered to others. Late work is kept."
    )
    cents_per_hit = forms.IntegerField(label="Pay per HIT (US cents)")
    cents_per_item = forms.IntegerField(label="Pay per item (US cents)", help_text="Added to the pay per HIT.")
    fee_percent = forms.DecimalField(
        label="Platform fee (%)",
        max_digits=6,
        decimal_places=3,
        min_value=Decimal(0),
        max_value=Decimal(100),
        help_text="Fee of a crowd platform on top of the pay; 0 if none.",
    )
    approve_after_days = forms.IntegerField(
        label="Automatic approval after (days)",
        required=False,
        help_text="Leave empty if managers approve each HIT.",
    )
    hourly_floor_cents = forms.IntegerField(
        label="Minimum hourly rate (US cents)",
        required=False,
        help_text="Managers are warned if the measured hourly rate is lower. Leave empty for no warning.",
    )
    revision_minutes = forms.IntegerField(
        label="Revision period after submission (minutes)",
        help_text="Both versions are kept; the newest counts. 0: no revision.",
    )
    language = forms.ChoiceField(
        label="Language of the annotators' pages",
        choices=settings.LANGUAGES,
        help_text="Annotators can choose another language.",
    )
    shows_question_type = forms.BooleanField(label="Question type", required=False)
    shows_entities = forms.BooleanField(label="Entities in the correct answer", required=False)
    shows_reference_opinion = forms.BooleanField(label="Opinion of each reference (yes, no, …)", required=False)
    shows_candidate_opinion = forms.BooleanField(
        label="Predicted opinion of each candidate (yes, no, …)", required=False
    )
    hides_references = forms.BooleanField(
        label="Hide the references",
        required=False,
        help_text="Annotators then rate by the passage alone. Applies to all pages of annotators at once.",
    )
    rates_identical_once = forms.BooleanField(
        label="Rate identical answers once",
        required=False,
        help_text="Of a question’s candidates with exactly the same text, new batches take one. In scores of systems "
        "and metric evaluations, its ratings count for each source that gave it. Existing batches keep their "
        "candidates.",
    )
    requires_second_factor = forms.BooleanField(
        label="Require a second factor for managers",
        required=False,
        help_text="Managers and owners without one are led to set it up before they can go on. Until then their API "
        "tokens are refused too.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in NUMBERS:
            _take_limits(self.fields[name], name)

    def shown(self) -> list[forms.BoundField]:
        return [self[name] for name in SHOWN]

    @staticmethod
    def make_initial(project: Project) -> dict[str, Any]:
        """Return the form's initial values: the project's settings, with the fee in per cent."""
        names = ("name", "description", "language", *SWITCHES, *NUMBERS, *SHOWN)
        return {**{name: getattr(project, name) for name in names}, "fee_percent": write_percent(project.fee_share)}

    def values(self) -> dict[str, Any]:
        """Return the settings as the project stores them, with the fee as a share."""
        values = dict(self.cleaned_data)
        values["fee_share"] = float(values.pop("fee_percent") / 100)
        return values


class DeleteForm(forms.Form):
    typed = forms.CharField(
        label="Enter the project address to confirm",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )


def _take_limits(field: forms.Field, name: str) -> None:
    """Give a form field the limits of the model's field, so that each limit is written once."""
    stored = cast("Field[Any, Any]", Project._meta.get_field(name))
    low = max((v.limit_value for v in stored.validators if isinstance(v, MinValueValidator)), default=0)
    high = min((v.limit_value for v in stored.validators if isinstance(v, MaxValueValidator)), default=2**31 - 1)
    field.validators += [MinValueValidator(low), MaxValueValidator(high)]
    field.widget.attrs.update({"min": low, "max": high})
