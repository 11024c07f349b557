"""Forms that read from a page's address which judgments and candidates it is about."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.http import QueryDict

from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.frames.stages import Stage, choose_stage
from annotate.models import Batch
from annotate.models.batch import find_batch_kinds
from projects.models import Candidate, Passage, Project
from results.scope.scopes import choose_among

# An empty value in an address means that nothing was chosen, so a split or source without a name needs one.
NONE = "(none)"
STAGES = [
    (Stage.FULL, "full collection"),
    (Stage.TRIAL, "trial"),
    (Stage.ALL, "full collection and trial"),
]


class BatchField(forms.ModelChoiceField[Batch]):
    def label_from_instance(self, obj: Batch) -> str:
        return f"{obj.number} · {obj.name}"


class ScopeForm(forms.Form):
    """Batch, stage and criterion; every field is optional."""

    batch = BatchField(
        label="Batch",
        queryset=Batch.objects.none(),
        required=False,
        to_field_name="number",
        empty_label="all batches",
    )
    stage = forms.ChoiceField(label="Stage", required=False, choices=STAGES)
    criterion = forms.ChoiceField(label="Criterion", required=False)

    def __init__(self, project: Project, *args: Any, any_criterion: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        self.dropped: dict[str, list[str]] = {}
        """The values that a script may still send for fields that were dropped, as there is nothing to choose."""
        self.fields["batch"].queryset = project.batches.all()  # type: ignore[attr-defined]
        self.kinds = find_batch_kinds(project)
        # Without trials there is one stage, and nothing to choose.
        if any(kind == Batch.Kind.TRIAL for kind, _state in self.kinds):
            self.propose("stage", self.default_stage)
        else:
            del self.fields["stage"]
            self.dropped["stage"] = [Stage.FULL, Stage.ALL]
        self.criteria = criteria_in_use(project)
        choices = [(criterion.key, criterion.name) for criterion in self.criteria]
        self.fields["criterion"].choices = [("", "all criteria"), *choices] if any_criterion else choices  # type: ignore[attr-defined]

    def propose(self, name: str, value: str) -> None:
        """Choose a value of a field unless another was sent."""
        self.fields[name].initial = value
        # A bound form shows what was sent and never `initial`: an address without a stage would leave the field
        # empty although the default stage is shown.
        if self.is_bound and not self.data.get(name):
            sent = self.data.dict() if isinstance(self.data, QueryDict) else self.data
            self.data = {**sent, name: value}

    def read_stage(self) -> Stage:
        """Return the stage that was sent, or the project's default stage."""
        sent = self.cleaned_data.get("stage") if self.is_bound and self.is_valid() else ""
        return Stage(sent) if sent else self.default_stage

    @property
    def default_stage(self) -> Stage:
        return choose_stage(self.kinds)


class FacetsForm(forms.Form):
    """Datasets, splits and sources of candidates; where nothing is ticked, all are included."""

    datasets = forms.MultipleChoiceField(label="Datasets", required=False, widget=forms.CheckboxSelectMultiple)
    splits = forms.MultipleChoiceField(label="Splits", required=False, widget=forms.CheckboxSelectMultiple)
    sources = forms.MultipleChoiceField(label="Sources", required=False, widget=forms.CheckboxSelectMultiple)
    blind = forms.BooleanField(label="Blind judgments only", required=False)

    def offer_facets(self, project: Project) -> None:
        """Offer the facets that the project has."""
        candidates = Candidate.objects.in_project(project).order_by()
        passages = Passage.objects.in_project(project).order_by("split")
        self.offer_names("datasets", project.datasets.values_list("name", flat=True))
        self.offer_names("splits", passages.values_list("split", flat=True).distinct())
        self.offer_names("sources", candidates.values_list("source", flat=True).distinct())

    def offer_names(self, name: str, values: Iterable[str]) -> None:
        """Offer these names as a reader looks for them: capital letters make no difference."""
        self.offer(name, ((value or NONE, value or "not given") for value in sorted(values, key=str.casefold)))

    def offer(self, name: str, choices: Iterable[tuple[Any, str]]) -> None:
        """Offer these choices, or drop the field where there are fewer than two."""
        found = list(choices)
        if len(found) < 2:
            del self.fields[name]
        else:
            self.fields[name].choices = found  # type: ignore[attr-defined]

    def read_facets(self, *names: str) -> dict[str, Any]:
        """Return what is ticked in these fields: nothing for a field that was not offered."""
        return {name: tuple("" if each == NONE else each for each in self.cleaned_data.get(name, ())) for name in names}


class JudgmentsForm(ScopeForm):
    """The judgments of one criterion, which figures are computed from."""

    blind = forms.BooleanField(label="Blind judgments only", required=False)

    @property
    def default_criterion(self) -> str:
        return self.criteria[0].key

    def scope(self) -> Scope:
        """Return the selected judgments. Raises Refused where the batch does not ask the criterion."""
        data = self.cleaned_data if self.is_bound else {}
        batch = data.get("batch")
        stage = self.read_stage()
        criteria = criteria_in_use(self.project, batch, stage=stage)
        return Scope(
            project=self.project,
            criterion=choose_among(criteria, data.get("criterion") or self.default_criterion),
            stage=stage,
            batch=batch,
            is_blind_only=bool(data.get("blind")),
        )
