"""Forms of systems and of replication."""

from collections.abc import Mapping
from typing import Any

from django import forms

from annotate.models import Batch
from annotate.reviews.adjudication import Gold
from measures.system_pairs import PairTest
from projects.models import Project
from results.scope.forms import BatchField, ScopeForm
from results.scope.human_sources import IN, explain_human_sources
from results.systems.system_pairs import TESTS, Measure


class SystemsForm(ScopeForm):
    test = forms.ChoiceField(label="Test of pairs", required=False, choices=list(TESTS.items()))
    values = forms.ChoiceField(
        label="Compared by",
        required=False,
        choices=[(Measure.Z.value, "z scores"), (Measure.RAW.value, "ratings")],
    )
    blind = forms.BooleanField(label="Blind judgments only", required=False)
    # Pages ask in a form of its own, which keeps the choice with the project.
    humans = forms.ChoiceField(required=False, choices=Project.HumanSources.choices, widget=forms.HiddenInput)

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(project, *args, any_criterion=True, **kwargs)
        self.human_reasons = explain_human_sources(project)
        self.human_sources = tuple(self.human_reasons)

    @property
    def choice(self) -> str:
        """What is done with human sources: what was sent, or what is kept with the project."""
        sent: str = self.cleaned_data.get("humans", "") if self.is_bound else ""
        return sent or self.project.human_sources

    def settings(self, gold: Gold) -> dict[str, Any]:
        """Return the settings of the report, which holds every criterion."""
        data = self.cleaned_data if self.is_bound else {}
        batch = data.get("batch")
        return {
            "stage": self.read_stage().value,
            "batch": batch.number if batch else None,
            "blind": bool(data.get("blind")),
            "controls": gold.with_controls,
            "test": data.get("test") or PairTest.SIGN_FLIP.value,
            "values": data.get("values") or Measure.Z.value,
            **self._choose_human_sources(),
        }

    def _choose_human_sources(self) -> dict[str, Any]:
        # Only where they are kept apart, so that figures computed without a choice are found again.
        if not self.human_sources or self.choice in ("", IN):
            return {}
        return {"humans": self.choice, "human_sources": list(self.human_sources)}


class ReplicationForm(forms.Form):
    """Two batches to compare."""

    first = BatchField(
        label="First batch",
        queryset=Batch.objects.none(),
        required=False,
        to_field_name="number",
        empty_label="select",
    )
    second = BatchField(
        label="Second batch",
        queryset=Batch.objects.none(),
        required=False,
        to_field_name="number",
        empty_label="select",
    )

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("first", "second"):
            self.fields[name].queryset = project.batches.all()  # type: ignore[attr-defined]
        self.has_two_batches = len(project.batches.values("pk")[:2]) == 2

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        first, second = data.get("first"), data.get("second")
        # One batch alone would quietly compare nothing.
        if bool(first) != bool(second):
            raise forms.ValidationError("Select two batches.")
        if first and first == second:
            raise forms.ValidationError("Select two different batches.")
        return data

    def settings(self, systems: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the settings of the report on two batches, or None where no two are chosen."""
        if not self.is_bound or not self.is_valid() or not self.cleaned_data["first"]:
            return None
        batches = {name: self.cleaned_data[name].number for name in ("first", "second")}
        shared = ("blind", "controls", "humans", "human_sources")
        return {**batches, **{name: systems[name] for name in shared if name in systems}}
