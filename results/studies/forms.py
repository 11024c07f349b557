"""The form of a new metric evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django import forms
from django.http import QueryDict

from annotate.batches.trials import list_trials
from annotate.frames.criteria_in_use import criteria_in_use, criteria_to_come
from annotate.frames.stages import Stage
from annotate.models import Batch
from annotate.models.quality import GOLD_RULES
from measures.ceiling import Design
from measures.gold_rules import GoldRule
from projects.errors import Refused
from projects.models import Project, Question
from results.scope.forms import NONE, STAGES, BatchField, FacetsForm
from results.scope.gold_settings import LARGEST_SEED, MOST_RESAMPLES, RESAMPLES, SEED
from results.scope.human_sources import CHOICES, IN, explain_human_sources
from results.scope.scopes import choose_criterion, choose_criterion_to_measure, find_batch
from results.studies.kinds import Kind
from results.studies.metrics_chosen import choose_runs, current_runs, make_labels
from results.studies.running import NAME_LENGTH
from results.studies.settings import DESIGNS, Settings, default_settings

MOST_SPLITS = 10
"""The most evaluations that one request makes; a split may have any name, so there may be many."""
_ABOUT_HUMANS = (
    "If they are systems, choose “count them as systems”. If they are kept apart, segment-level correlation has a "
    "table of their own. The choice is kept for the project, also for the page Systems."
)
FACETS = ("datasets", "splits", "sources", "question_types")


class StudyForm(FacetsForm):
    """Which metrics, gold scores and candidates; where nothing is ticked, all are included."""

    name = forms.CharField(
        label="Name",
        required=False,
        max_length=NAME_LENGTH,
        help_text="Default: the type of evaluation.",
    )
    metrics = forms.MultipleChoiceField(
        label="Metrics",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one metric."},
    )
    criterion = forms.ChoiceField(label="Criterion")
    stage = forms.ChoiceField(label="Stage", required=False, choices=STAGES)
    batch = BatchField(
        label="Batch",
        queryset=Batch.objects.none(),
        required=False,
        to_field_name="number",
        empty_label="all batches",
    )
    gold = forms.ChoiceField(label="Gold score", choices=GOLD_RULES)
    least = forms.IntegerField(
        label="Minimum judgments per candidate", required=False, initial=1, min_value=1, max_value=1000
    )
    question_types = forms.MultipleChoiceField(
        label="Question types", required=False, widget=forms.CheckboxSelectMultiple
    )
    as_zero = forms.BooleanField(
        label="Count missing scores as zero",
        required=False,
        help_text=(
            "Otherwise candidates without a score from any selected metric are excluded, so that all "
            "metrics use the same candidates."
        ),
    )
    design = forms.ChoiceField(
        label="Raters",
        required=False,
        choices=list(DESIGNS.items()),
        help_text=(
            "For the ceiling: whether the same people rated every candidate. If raters differ, how strict they are is "
            "part of the error."
        ),
    )
    humans = forms.ChoiceField(
        label="Human sources",
        choices=list(CHOICES.items()),
        widget=forms.RadioSelect,
        error_messages={"required": "Choose what to do with candidates that people may have written."},
    )
    each_split = forms.BooleanField(
        label="One evaluation per split",
        required=False,
        help_text=(
            "Creates a separate evaluation for each split, such as dev and test; two of them are shown side by side. "
            "The figures of this type cover all chosen candidates and can't be divided by split afterwards."
        ),
    )
    resamples = forms.IntegerField(label="Resamples", required=False, min_value=100, max_value=MOST_RESAMPLES)
    seed = forms.IntegerField(label="Seed", required=False, initial=SEED, min_value=0, max_value=LARGEST_SEED)

    def __init__(self, project: Project, kind: Kind, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project, self.kind = project, kind
        self.defaults = default_settings(project)
        self.runs = [run for run in current_runs(project) if kind.takes(run)]
        # Minimal pairs may come with scores, so they are evaluated before anything is judged.
        self.criteria = criteria_in_use(project) or (criteria_to_come(project) if kind.is_of_pairs else [])
        labels = make_labels(self.runs)
        self.fields["metrics"].choices = list(labels.items())  # type: ignore[attr-defined]
        self.fields["metrics"].initial = list(labels)
        self.fields["criterion"].choices = [(each.key, each.name) for each in self.criteria]  # type: ignore[attr-defined]
        # No metric can be compared with categories in a way that means something.
        self.fields["criterion"].initial = next((each.key for each in self.criteria if each.has_order), None)
        self.fields["batch"].queryset = project.batches.exclude(state=Batch.State.DRAFT)  # type: ignore[attr-defined]
        self.fields["gold"].initial = self.defaults["gold"]
        self.fields["stage"].initial = self.defaults["stage"]
        if not list_trials(project).exists():
            del self.fields["stage"]
        self.offer_facets(project)
        types = Question.objects.in_project(project).order_by("type")
        self.offer_names("question_types", types.values_list("type", flat=True).distinct())
        reasons = {} if kind.is_of_pairs else explain_human_sources(project)
        self.human_sources = tuple(reasons)
        if self.human_sources:
            self.fields["humans"].help_text = " ".join([*reasons.values(), _ABOUT_HUMANS])
            self.fields["humans"].label = f"Human sources ({', '.join(self.human_sources)})"
            self.fields["humans"].initial = project.human_sources
        else:
            del self.fields["humans"]
        # A field without effect would mislead.
        if kind.shows_splits or "splits" not in self.fields:
            del self.fields["each_split"]
        if not kind.is_resampled:
            del self.fields["resamples"]
        elif kind.resampled_for:
            self.fields["resamples"].help_text = kind.resampled_for
        if not kind.has_seed:
            del self.fields["seed"]
        # Where the default depends on the metrics, the field stays empty, and its help says so.
        if kind.is_resampled and kind.choose_resamples(2) == kind.choose_resamples(100):
            self.fields["resamples"].initial = RESAMPLES
        if not kind.has_ceiling:
            del self.fields["design"]
        self.own = list(kind.fields(project))
        self.fields.update(kind.fields(project))

    @property
    def own_fields(self) -> list[forms.BoundField]:
        """The fields of this kind of evaluation alone."""
        return [self[name] for name in self.own]

    @property
    def facet_fields(self) -> list[forms.BoundField]:
        """The fields that filter candidates, as far as the project leaves a choice."""
        return [self[name] for name in FACETS if name in self.fields]

    def settings(self) -> Settings:
        """Return the settings, with defaults where nothing was sent.

        The project's rule on adjudicated scores is fixed now.
        """
        data = self.cleaned_data
        batch = data.get("batch")
        return Settings(
            criterion=data["criterion"],
            metrics=tuple(data["metrics"]),
            stage=Stage(data.get("stage") or self.defaults["stage"]),
            batch=batch.number if batch else None,
            is_blind_only=data["blind"],
            **self.read_facets(*FACETS),
            gold=GoldRule(data["gold"]),
            controls_in_z=self.defaults["controls_in_z"],
            adjudication_wins=self.defaults["adjudication_wins"],
            least_judgments=data["least"] or 1,
            as_zero=data["as_zero"],
            design=data.get("design") or Design.ONE_WAY.value,
            n_resamples=data.get("resamples") or self.kind.choose_resamples(len(data["metrics"])),
            humans=data.get("humans", ""),
            human_sources=self.human_sources,
            options={name: data[name] for name in self.own},
        )

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if data.get("each_split") and not 2 <= len(self._list_splits()) <= MOST_SPLITS:
            self.add_error("each_split", f"Choose 2 to {MOST_SPLITS} splits, or leave out “One evaluation per split”.")
        return data

    def list_settings(self) -> list[Settings]:
        """Return the settings of each evaluation to request: one, or one for each split."""
        settings = self.settings()
        if not self.cleaned_data.get("each_split"):
            return [settings]
        return [replace(settings, splits=(split,)) for split in self._list_splits()]

    def _list_splits(self) -> tuple[str, ...]:
        """Return the chosen splits; without a choice, those that the project has. None is no split."""
        chosen: tuple[str, ...] = self.read_facets("splits")["splits"]
        offered = [value for value, _label in self.fields["splits"].choices if value != NONE]  # type: ignore[attr-defined]
        return tuple(filter(None, chosen)) or tuple(offered)

    def read_seed(self) -> int:
        seed: int | None = self.cleaned_data.get("seed")
        return SEED if seed is None else seed


def fill_in(project: Project, kind: Kind, given: Mapping[str, Any]) -> StudyForm:
    """Return the form as if it had been sent as offered, except for the given values by name of field."""
    blank, data = StudyForm(project, kind), QueryDict(mutable=True)
    for name, field in blank.fields.items():
        value = given.get(name, blank.get_initial_for_field(field, name))
        # A page asks once; commands and scripts of before went on without an answer, and get a warning.
        if name == "humans":
            value = value or IN
        values = value if isinstance(value, list) else [value]
        # An empty or false value is not sent, as a browser would not.
        data.setlist(name, [str(each) for each in values if each is not None and each is not False and each != ""])
    return StudyForm(project, kind, data)


def fill_by_names(
    project: Project,
    kind: Kind,
    *,
    criterion: str = "",
    batch: int | None = None,
    metrics: Sequence[str] = (),
    facets: Mapping[str, Sequence[str]] | None = None,
    given: Mapping[str, Any] | None = None,
) -> StudyForm:
    """Return the form filled in as commands and scripts name things: metrics by name, a batch by its number.

    `facets` are filters by name of field, an empty value for “not given”; `given` are other fields. Raises Refused for
    a batch, criterion, metric or filter that the project does not have.
    """
    found = None if batch is None else find_batch(project, batch)
    # Pairs may come with scores before any batch asks a criterion.
    choose = choose_criterion_to_measure if kind.is_of_pairs else choose_criterion
    fields: dict[str, Any] = {
        "criterion": choose(project, key=criterion, batch=found).key,
        "batch": found and found.number,
        **{name: [each or NONE for each in values] for name, values in (facets or {}).items() if values},
        **(given or {}),
    }
    if metrics:
        fields["metrics"] = [run.subject for run in choose_runs(current_runs(project), metrics)]
    form = fill_in(project, kind, {name: value for name, value in fields.items() if value not in (None, "", [])})
    for name, values in (facets or {}).items():
        if values and name not in form.fields:
            raise Refused(f"The project has no {name.replace('_', ' ')} to choose from.", field=name)
    if fields.get("stage") == Stage.TRIAL and "stage" not in form.fields:
        raise Refused("The project has no trial.", field="stage")
    return form
