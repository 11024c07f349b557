"""What a judgment set is asked by its form."""

from typing import Any

from django import forms

from annotate.batches.trials import list_trials
from annotate.frames.criteria_in_use import criteria_in_use
from annotate.frames.stages import Stage
from annotate.models import Batch
from measures.gold_rules import GoldRule
from projects.models import Project
from results.scope.forms import STAGES, FacetsForm
from results.scope.gold_settings import MOST_RESAMPLES, RESAMPLES, SEED
from results.sets import freezing
from results.sets.settings import Settings
from results.sets.studies import find_studies

GOLDS = [
    (GoldRule.MEAN, "Mean of the judgments"),
    (GoldRule.MEDIAN, "Median of the judgments"),
    (GoldRule.Z, "Mean of z scores (normalised per annotator)"),
]


class SetForm(FacetsForm):
    """Which judgments, which texts, which gold score; where nothing is ticked, all are taken."""

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
        initial=True,
        help_text="Only affects z scores. Control items never get a score.",
    )
    seed = forms.IntegerField(
        label="Seed (confidence intervals)", required=False, initial=SEED, min_value=0, max_value=2**31 - 1
    )
    resamples = forms.IntegerField(
        label="Resamples", required=False, initial=RESAMPLES, min_value=100, max_value=MOST_RESAMPLES
    )

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        self.criteria_in_use = criteria_in_use(project)
        self.defaults = freezing.default_settings(project)
        self.fields["stage"].initial = self.defaults.stage
        self.fields["gold"].initial = self.defaults.gold
        self.fields["controls"].initial = self.defaults.controls_in_z
        if not list_trials(project).exists():
            del self.fields["stage"]
        batches = project.batches.exclude(state=Batch.State.DRAFT).order_by("number")
        self.offer("criteria", ((each.key, each.name) for each in self.criteria_in_use))
        self.offer("batches", ((each.number, f"{each.number} · {each.name}") for each in batches))
        self.offer_facets(project)
        of_studies = [(each.number, f"{each.number} · {each.name}") for each in find_studies(project)]
        if of_studies:
            self.fields["studies"].choices = of_studies  # type: ignore[attr-defined]
        else:
            del self.fields["studies"]

    def settings(self) -> Settings:
        """What was asked for; what a set holds by itself where nothing was."""
        if not self.is_bound:
            return self.defaults
        asked = self.cleaned_data
        return Settings(
            criteria=tuple(asked.get("criteria", ())),
            stage=Stage(asked.get("stage") or self.defaults.stage),
            batches=tuple(asked.get("batches", ())),
            **self.read_facets("datasets", "splits", "sources"),
            is_blind_only=asked["blind"],
            with_texts=asked["texts"],
            with_comments=asked["comments"],
            gold=GoldRule(asked["gold"] or self.defaults.gold),
            controls_in_z=asked["controls"],
            seed=SEED if asked["seed"] is None else asked["seed"],
            studies=tuple(sorted(asked.get("studies", ()))),
            n_resamples=RESAMPLES if asked["resamples"] is None else asked["resamples"],
        )
