"""The form of new metric runs: a box for each metric, and fields for its settings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.text import capfirst

from measures.metrics.registry import Registered
from measures.metrics.tokenising import MEANINGS
from measures.neural.folders import ModelFolder
from measures.neural.installed import list_models
from projects.models import Project
from results.learned.computing_time import estimate
from results.learned.usable_models import MODEL, find_models, preset_model
from results.metrics.registry import load_metrics, make_metric_key

USUAL = ("exact_match", "token_f1", "bleu_1", "bleu_4", "rouge_1", "rouge_2", "rouge_l", "meteor_2005", "chrf")
"""Metrics that the form ticks at first."""
TOKENISER = "tokeniser"
AGAINST = "against"


def explain(values: Iterable[str], meanings: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the choices of a setting, each with its meaning where one is declared."""
    return [(each, f"{each}: {meanings[each]}" if each in meanings else each) for each in values]


@dataclass(frozen=True)
class Choice:
    """One metric of the form: its box, its settings, and what this machine lacks to compute it."""

    registered: Registered
    box: BoundField
    settings: list[BoundField]
    variant: str
    lacks: str
    has_scores: bool
    """Whether the project has its scores with the default settings already."""
    model: str = ""
    """The model of a learned metric that is used unless another is chosen, with how long that takes."""

    @property
    def has_errors(self) -> bool:
        return any(field.errors for field in self.settings)


class ComputeForm(forms.Form):
    """A box for each known metric, and a field for each of its settings."""

    tokeniser = forms.ChoiceField(
        label="Tokenisation",
        required=False,
        choices=[("", "default of each metric"), *explain(MEANINGS, MEANINGS)],
        help_text="Applies to all word-based metrics. For Chinese, choose characters.",
        widget=forms.Select(attrs={"translate": "no"}),
    )
    against = forms.ChoiceField(
        label="References",
        required=False,
        choices=[
            ("all", "all references of the question"),
            ("others", "references other than the candidate itself"),
            ("first", "first reference other than the candidate itself"),
        ],
        help_text="A human-written candidate may also be a reference of its question.",
    )

    def __init__(self, project: Project, data: Any = None) -> None:
        super().__init__(data)
        self._metrics = load_metrics(project)
        listed = list_models()
        self._models = {name: find_models(each, listed) for name, each in self._metrics.items()}
        self._default_metrics = {
            name: each.make(**preset_model(each, self._models[name])) for name, each in self._metrics.items()
        }
        self._lacks = {name: metric.lacks() for name, metric in self._default_metrics.items()}
        done = set(project.metric_runs.done().values_list("subject", flat=True))
        self._scored = {
            name
            for name, metric in self._default_metrics.items()
            if make_metric_key("computed", name, metric.settings()) in done
        }
        for name, each in self._metrics.items():
            is_able = not self._lacks[name]
            # What has scores already is not ticked, so that sending the form again does not compute everything again.
            is_ticked = is_able and name in USUAL and name not in self._scored
            # A disabled box counts as not ticked, whatever is sent.
            self.fields[f"use:{name}"] = forms.BooleanField(
                label=each.title, required=False, disabled=not is_able, initial=is_ticked
            )
            for setting in _list_own_settings(each):
                self.fields[f"{name}:{setting.name}"] = make_field(setting)
            if models := self._models[name]:
                self.fields[f"{name}:{MODEL}"] = make_model_field(project, each, models)

    def families(self) -> Iterator[tuple[str, list[Choice]]]:
        """Yield each family with its metrics, small families first: they are the simple metrics.

        Those that can't be computed here come last, so that each reason is shown once, below all that it keeps away.
        """
        found: dict[str, list[Choice]] = {}
        # An adapted metric comes beside the one that it adapts.
        for name, each in sorted(self._metrics.items(), key=lambda item: item[1].title.removeprefix("Adapted ")):
            settings = [self[f"{name}:{setting.name}"] for setting in _list_own_settings(each)]
            variant = self._default_metrics[name].variant
            choice = Choice(
                each,
                self[f"use:{name}"],
                settings,
                variant,
                self._lacks[name],
                name in self._scored,
                self.fields[f"{name}:{MODEL}"].choices[0][1] if self._models[name] else "",  # type: ignore[attr-defined]
            )
            found.setdefault(each.family, []).append(choice)
        for family, choices in sorted(found.items(), key=lambda item: len(item[1])):
            yield family, sorted(choices, key=lambda choice: choice.lacks)

    def clean(self) -> dict[str, Any]:
        if not self.errors and not list(self.chosen()):
            raise forms.ValidationError("Select at least one metric.")
        return self.cleaned_data

    def chosen(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the name of each ticked metric with its settings."""
        for name, each in self._metrics.items():
            if self._lacks[name] or not self.cleaned_data.get(f"use:{name}"):
                continue
            settings = {setting.name: self._read_setting(name, setting) for setting in _list_own_settings(each)}
            if self.cleaned_data[TOKENISER] and TOKENISER in settings:
                settings[TOKENISER] = self.cleaned_data[TOKENISER]
            # Only metrics that compare with references have this setting.
            if self.cleaned_data[AGAINST] and len(_list_own_settings(each)) < len(each.settings()):
                settings[AGAINST] = self.cleaned_data[AGAINST]
            yield name, settings

    def _read_setting(self, name: str, setting: "Field[Any]") -> Any:
        """Return the value that was sent, or the default."""
        sent = self.cleaned_data.get(f"{name}:{setting.name}")
        if sent is None or sent == "":
            is_model = setting.name == MODEL and self._models[name]
            return self._models[name][0].name if is_model else find_default(setting)
        return sent


def _list_own_settings(metric: Registered) -> "list[Field[Any]]":
    """Return the settings of one metric alone. What answers are compared with is one field for all metrics."""
    return [setting for setting in metric.settings() if setting.name != AGAINST]


def make_field(setting: "Field[Any]") -> forms.Field:
    """Return the form field of a metric's setting, from its declaration."""
    default = find_default(setting)
    options: dict[str, Any] = {
        "label": capfirst(setting.name.replace("_", " ")),
        "help_text": capfirst(setting.metadata.get("meaning", "")),
        "required": False,
        "initial": default,
    }
    low, high = setting.metadata.get("low"), setting.metadata.get("high")
    if choices := setting.metadata.get("choices"):
        return forms.ChoiceField(choices=explain(choices, setting.metadata.get("meanings", {})), **options)
    # Tested before int, as True is an int.
    if isinstance(default, bool):
        return forms.BooleanField(**options)
    if isinstance(default, int):
        return forms.IntegerField(min_value=low, max_value=high or None, **options)
    if isinstance(default, float):
        return forms.FloatField(
            min_value=low, max_value=high or None, widget=forms.NumberInput(attrs={"step": "any"}), **options
        )
    return forms.CharField(max_length=200, **options)


def make_model_field(project: Project, metric: Registered, models: Sequence[ModelFolder]) -> forms.Field:
    """Return the field in which the model of a learned metric is chosen, with how long each will take."""
    choices = []
    for folder in models:
        cost = estimate(project, metric.name, metric.metric, folder)
        choices.append((folder.name, f"{folder.name} ({cost})" if cost else f"{folder.name} (time not known yet)"))
    return forms.ChoiceField(
        label="Model",
        choices=choices,
        required=False,
        initial=models[0].name,
        help_text="A registered model, with the approximate time for the candidates of this project",
    )


def find_default(setting: "Field[Any]") -> Any:
    return "" if setting.default is MISSING else setting.default
