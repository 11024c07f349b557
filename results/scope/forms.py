"""What the result pages are asked by their address."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.db.models import Count

from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.frames.stages import Stage, choose_stage, fetch_kinds
from annotate.models import Batch
from projects.models import Candidate, Passage, Project
from results.scope.scopes import choose_among

NONE = "(none)"
"""What a form calls a part without a name."""
STAGES = [
    (Stage.FULL, "full collection"),
    (Stage.TRIAL, "trial"),
    (Stage.ALL, "both together"),
]


class BatchField(forms.ModelChoiceField[Batch]):
    def label_from_instance(self, obj: Batch) -> str:
        return f"{obj.number} · {obj.name}"


class ScopeForm(forms.Form):
    """Which judgments; every field may be left out."""

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
        self.fields["batch"].queryset = project.batches.all()  # type: ignore[attr-defined]
        self.kinds = fetch_kinds(project)
        if any(kind == Batch.Kind.TRIAL for kind, _state in self.kinds):
            self.fields["stage"].initial = self.default_stage
            if self.is_bound and not self.data.get("stage"):
                self.data = {**self.data.dict(), "stage": self.default_stage}  # type: ignore[attr-defined]
        else:
            del self.fields["stage"]
        self.criteria = criteria_in_use(project)
        choices = [(criterion.key, criterion.name) for criterion in self.criteria]
        self.fields["criterion"].choices = [("", "all criteria"), *choices] if any_criterion else choices  # type: ignore[attr-defined]

    def asked_stage(self) -> Stage:
        """The stage that was asked for, or the default one."""
        asked = self.cleaned_data.get("stage") if self.is_bound and self.is_valid() else ""
        return Stage(asked) if asked else self.default_stage

    @property
    def default_stage(self) -> Stage:
        return choose_stage(self.kinds)


class FacetsForm(forms.Form):
    """Which answers, by where they belong; where nothing is ticked, all are taken."""

    datasets = forms.MultipleChoiceField(label="Datasets", required=False, widget=forms.CheckboxSelectMultiple)
    splits = forms.MultipleChoiceField(label="Splits", required=False, widget=forms.CheckboxSelectMultiple)
    sources = forms.MultipleChoiceField(label="Sources", required=False, widget=forms.CheckboxSelectMultiple)
    blind = forms.BooleanField(label="Blind judgments only", required=False)

    def offer_places(self, project: Project) -> None:
        """Offer what the project has, the sources with most candidates first."""
        counted = Candidate.objects.of(project).order_by().values_list("source").annotate(n=Count("pk"))
        passages = Passage.objects.filter(dataset__project=project).order_by("split")
        self.offer_named("datasets", project.datasets.values_list("name", flat=True))
        self.offer_named("splits", passages.values_list("split", flat=True).distinct())
        self.offer_named("sources", (source for source, _n in counted.order_by("-n", "source")))

    def offer_named(self, name: str, values: Iterable[str]) -> None:
        self.offer(name, ((value or NONE, value or "none given") for value in values))

    def offer(self, name: str, choices: Iterable[tuple[Any, str]]) -> None:
        """Offer these; a single one is no choice."""
        found = list(choices)
        if len(found) < 2:
            del self.fields[name]
        else:
            self.fields[name].choices = found  # type: ignore[attr-defined]

    def asked_places(self, *names: str) -> dict[str, Any]:
        """What is ticked of these fields; none of a field that was not offered."""
        return {name: tuple("" if each == NONE else each for each in self.cleaned_data.get(name, ())) for name in names}


class JudgmentsForm(ScopeForm):
    """The judgments of one criterion that figures are computed from."""

    blind = forms.BooleanField(label="Blind judgments only", required=False)

    def scope(self) -> Scope:
        """The judgments that are asked for. Raises Refused where the batch does not ask the criterion."""
        asked = self.cleaned_data if self.is_bound else {}
        batch = asked.get("batch")
        criteria = criteria_in_use(self.project, batch) if batch else self.criteria
        return Scope(
            project=self.project,
            criterion=choose_among(criteria, asked.get("criterion") or self.criteria[0].key),
            stage=self.asked_stage(),
            batch=batch,
            is_blind_only=bool(asked.get("blind")),
        )
