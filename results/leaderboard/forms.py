"""The form of the leaderboard: the judgments, and one dataset or split."""

from typing import Any

from django import forms

from annotate.frames.criteria_in_use import Scope
from annotate.reviews.adjudication import Gold
from projects.models import Passage, Project
from results.scope.forms import NONE, JudgmentsForm
from results.scope.human_sources import IN, find_human_sources
from results.scope.scopes import scope_settings


class LeaderboardForm(JudgmentsForm):
    dataset = forms.ChoiceField(label="Dataset", required=False)
    split = forms.ChoiceField(label="Split", required=False)

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(project, *args, **kwargs)
        passages = Passage.objects.in_project(project).order_by("split")
        if self.criteria:
            self.propose("criterion", self.default_criterion)
        self._offer("dataset", "all datasets", list(project.datasets.values_list("name", flat=True)))
        self._offer("split", "all splits", list(passages.values_list("split", flat=True).distinct()))

    @property
    def default_criterion(self) -> str:
        # Metrics are ranked by correlations, which mean nothing for categories.
        return next((each.key for each in self.criteria if each.has_order), self.criteria[0].key)

    def _offer(self, name: str, every: str, values: list[str]) -> None:
        choices = [(value or NONE, value or "not given") for value in values]
        if len(choices) < 2:
            del self.fields[name]
            self.dropped[name] = [value for value, _label in choices]
            return
        self.fields[name].choices = [("", every), *choices]  # type: ignore[attr-defined]

    def settings(self, scope: Scope, gold: Gold) -> dict[str, Any]:
        """Return the settings of the report."""
        data = self.cleaned_data if self.is_bound else {}
        return {
            **scope_settings(scope),
            "gold": gold.rule.value,
            "controls": gold.with_controls,
            "adjudication_wins": gold.adjudication_wins,
            "datasets": [data["dataset"]] if data.get("dataset") else [],
            "splits": ["" if data["split"] == NONE else data["split"]] if data.get("split") else [],
            **self._choose_human_sources(),
        }

    def _choose_human_sources(self) -> dict[str, Any]:
        # Without a choice they count as systems, and the page warns of it.
        sources = find_human_sources(self.project)
        return {"humans": self.project.human_sources or IN, "human_sources": list(sources)} if sources else {}
