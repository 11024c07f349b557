"""The forms of judgment sets: a new one, retiring one, and the replacement of a retired one."""

from typing import Any

from django import forms

from annotate.batches.trials import list_trials
from annotate.frames.criteria_in_use import criteria_in_use
from annotate.frames.stages import Stage
from annotate.models import Batch
from measures.gold_rules import GoldRule
from projects.errors import Refused
from projects.models import Project
from results.models import JudgmentSet
from results.scope.forms import STAGES, FacetsForm
from results.sets import citing, freezing, retiring
from results.sets.licences import CHOICES
from results.sets.settings import Settings
from results.sets.studies import find_studies

GOLDS = [
    (GoldRule.MEAN, "Mean of the judgments"),
    (GoldRule.MEDIAN, "Median of the judgments"),
    (GoldRule.Z, "Mean of z scores (normalised per annotator)"),
]


class SetForm(FacetsForm):
    """Which judgments, which texts, which gold score; where nothing is ticked, all are included."""

    criteria = forms.MultipleChoiceField(label="Criteria", required=False, widget=forms.CheckboxSelectMultiple)
    stage = forms.ChoiceField(label="Stage", required=False, choices=STAGES)
    batches = forms.TypedMultipleChoiceField(
        label="Batches", required=False, widget=forms.CheckboxSelectMultiple, coerce=int
    )
    texts = forms.BooleanField(
        label="Texts of passages, questions, references and candidates",
        required=False,
        initial=True,
        help_text="Required for MOCHA files. Check the licence of your data.",
    )
    comments = forms.BooleanField(
        label="Annotators' comments",
        required=False,
        help_text="Free text that may contain personal data.",
    )
    surveys = forms.BooleanField(
        label="Answers to surveys",
        required=False,
        help_text="Only to questions marked “May be published”, of annotators who allowed it. Together "
        "such answers can identify a person: read them first.",
    )
    studies = forms.TypedMultipleChoiceField(
        label="Metric evaluations",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        coerce=int,
        help_text="Includes their settings, figures, tables and metric scores. None by default.",
    )
    gold = forms.ChoiceField(label="Gold score", required=False, choices=GOLDS, widget=forms.RadioSelect)
    controls = forms.BooleanField(
        label="Include control ratings in z-score normalisation",
        required=False,
        help_text="Only affects z scores. Control items never get a score.",
    )
    authors = forms.CharField(
        label="Authors",
        required=False,
        max_length=citing.MOST_AUTHORS * citing.AUTHOR_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="One per line: “Family, Given”, or an organisation in braces, {University of X}. "
        "If you name none, the project is cited.",
    )
    licence = forms.ChoiceField(
        label="Licence",
        required=False,
        choices=[("", "not stated"), *CHOICES],
        help_text="Without one, others may not reuse the set, and it can’t be added after freezing.",
    )
    languages = forms.CharField(
        label="Languages of the texts", required=False, max_length=200, help_text="Codes such as en, de."
    )

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.criteria_in_use = criteria_in_use(project)
        self.defaults = freezing.default_settings(project)
        # The project's own settings are ticked at first, and hold where a field is left out.
        self.fields["stage"].initial = self.defaults.stage
        self.fields["gold"].initial = self.defaults.gold
        self.fields["controls"].initial = self.defaults.controls_in_z
        self.fields["authors"].initial = "\n".join(self.defaults.authors)
        self.fields["licence"].initial = self.defaults.licence
        self.fields["languages"].initial = ", ".join(self.defaults.languages)
        # Without a trial there is one stage, and nothing to choose.
        if not list_trials(project).exists():
            del self.fields["stage"]
        batches = project.batches.exclude(state=Batch.State.DRAFT).order_by("number")
        self.offer("criteria", ((each.key, each.name) for each in self.criteria_in_use))
        self.offer("batches", ((each.number, f"{each.number} · {each.name}") for each in batches))
        self.offer_facets(project)
        self.offered_studies = list(find_studies(project))
        if self.offered_studies:
            names = {each.key: each.name for each in self.criteria_in_use}
            self.fields["studies"].choices = [  # type: ignore[attr-defined]
                (each.number, f"{each.number} · {each.name} ({names.get(key, key)})")
                for each in self.offered_studies
                for key in [each.settings["criterion"]]
            ]
        else:
            del self.fields["studies"]

    def clean_authors(self) -> tuple[str, ...]:
        if "authors" not in self.data:
            return self.defaults.authors
        authors = tuple(" ".join(line.split()) for line in self.cleaned_data["authors"].splitlines() if line.strip())
        _check_terms(authors=authors)
        return authors

    def clean_licence(self) -> str:
        return self.cleaned_data["licence"] if "licence" in self.data else self.defaults.licence

    def clean_languages(self) -> tuple[str, ...]:
        if "languages" not in self.data:
            return self.defaults.languages
        languages = tuple(dict.fromkeys(self.cleaned_data["languages"].replace(",", " ").lower().split()))
        _check_terms(languages=languages)
        return languages

    def settings(self) -> Settings:
        """Return the selected settings, with the project's defaults where nothing was sent."""
        if not self.is_bound:
            return self.defaults
        data = self.cleaned_data
        return Settings(
            criteria=tuple(data.get("criteria", ())),
            stage=Stage(data.get("stage") or self.defaults.stage),
            batches=tuple(data.get("batches", ())),
            **self.read_facets("datasets", "splits", "sources"),
            is_blind_only=data["blind"],
            with_texts=data["texts"],
            with_comments=data["comments"],
            with_surveys=data["surveys"],
            gold=GoldRule(data["gold"] or self.defaults.gold),
            controls_in_z=data["controls"],
            studies=tuple(sorted(data.get("studies", ()))),
            authors=data["authors"],
            licence=data["licence"],
            languages=data["languages"],
        )


class _SetField(forms.ModelChoiceField[JudgmentSet]):
    """A judgment set by its number."""

    default_error_messages = dict.fromkeys(
        ("invalid_choice", "required"), "Choose a frozen set that is not retired as the replacement."
    )

    def label_from_instance(self, judgment_set: JudgmentSet) -> str:
        return f"{judgment_set.number} · {judgment_set.name}"


class ReplacementForm(forms.Form):
    """Which set replaces a retired one."""

    replacement = _SetField(queryset=JudgmentSet.objects.none(), to_field_name="number", empty_label=None)

    def __init__(self, judgment_set: JudgmentSet, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["replacement"].queryset = retiring.find_replacements(judgment_set)  # type: ignore[attr-defined]

    def has_choices(self) -> bool:
        return self.fields["replacement"].queryset.exists()  # type: ignore[attr-defined,no-any-return]

    def read_replacement(self) -> JudgmentSet | None:
        """Return the chosen set. Raises Refused for one that cannot be chosen."""
        self.full_clean()
        if "replacement" in self.errors:
            raise Refused(str(self.errors["replacement"][0]))
        found: JudgmentSet | None = self.cleaned_data["replacement"]
        return found


class RetireForm(ReplacementForm):
    """Why a set is retired, and which set replaces it, if there is one already."""

    why = forms.CharField(
        label="Reason",
        max_length=retiring.WHY_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Shown to everyone who uses the set.",
    )
    replacement = _SetField(
        queryset=JudgmentSet.objects.none(),
        to_field_name="number",
        required=False,
        empty_label="none yet",
        help_text="You can also choose or freeze a replacement later.",
    )
    field_order = ("why", "replacement")


def _check_terms(*, authors: tuple[str, ...] = (), languages: tuple[str, ...] = ()) -> None:
    try:
        citing.refuse_wrong_terms(authors, "", languages)
    except Refused as refusal:
        raise forms.ValidationError(refusal.message) from refusal
