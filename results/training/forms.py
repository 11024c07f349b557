"""The form of a new training."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict

from annotate.frames.criteria_in_use import name_criteria
from measures.neural.lerc.inputs import SEGMENTS
from measures.neural.lerc.settings import MOST_TOKENS, RATES, SEEDS, Settings
from projects.errors import Refused
from projects.models import Dataset, Passage, Project
from results.models import JudgmentSet, Training
from results.scope.gold_settings import LARGEST_SEED, SEED
from results.training.reading import list_criteria
from results.training.requesting import NAME_LENGTH, list_encoders
from results.training.training_plan import DRAWN, OF_SET, SPLITS, TrainingPlan

MOST_NUMBERS = 10


class SetField(forms.ModelChoiceField[JudgmentSet]):
    def label_from_instance(self, obj: JudgmentSet) -> str:
        return f"{obj.number} · {obj.name}"


class NumbersField(forms.CharField):
    """Several numbers with spaces or commas between them."""

    def __init__(self, *, kind: type[int] | type[float], **kwargs: Any) -> None:
        super().__init__(max_length=200, **kwargs)
        self.kind = kind

    def clean(self, value: Any) -> list[float]:
        words = str(super().clean(value)).replace(",", " ").split()
        try:
            numbers: list[float] = [self.kind(word) for word in words]
        except ValueError:
            example = " ".join(f"{each:g}" for each in (RATES if self.kind is float else SEEDS))
            raise forms.ValidationError(f"Enter numbers with spaces between them, such as {example}.") from None
        if not 1 <= len(numbers) <= MOST_NUMBERS:
            raise forms.ValidationError(f"Enter 1 to {MOST_NUMBERS} numbers.")
        return numbers


class TrainingForm(forms.Form):
    """What is trained on which judgments; the defaults are those of MOCHA, with shorter inputs."""

    name = forms.CharField(
        label="Name",
        max_length=NAME_LENGTH,
        help_text="Letters, digits, dots, hyphens and underscores. The metric is offered as lerc: with this name.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    set = SetField(label="Judgment set", queryset=JudgmentSet.objects.none(), to_field_name="number", empty_label=None)
    criterion = forms.ChoiceField(label="Criterion")
    encoder = forms.ChoiceField(label="Encoder")
    table = forms.ChoiceField(
        label="What to train",
        choices=[
            (Training.Table.ALL, "one model, which becomes a metric"),
            (Training.Table.OOD, "table: each dataset left out in turn"),
            (Training.Table.ABLATIONS, "table: ablations of the input"),
            (Training.Table.LEARNING_CURVE, "table: learning curve over shares of the passages"),
        ],
        initial=Training.Table.ALL,
        help_text="A table trains several models for its figures and keeps none.",
    )
    held_out = forms.ChoiceField(
        label="Held-out dataset",
        required=False,
        help_text="It leaves training and dev, and is the test.",
    )
    splits = forms.ChoiceField(label="Splits", choices=list(SPLITS.items()), initial=OF_SET)
    inputs = forms.MultipleChoiceField(
        label="Input",
        choices=[(name, name) for name in SEGMENTS],
        initial=list(SEGMENTS),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose the reference, the candidate, or both."},
    )
    max_length = forms.IntegerField(
        label="Length, in tokens",
        initial=128,
        min_value=8,
        max_value=MOST_TOKENS,
        help_text="Long passages are cut at their end. Time grows with it.",
    )
    epochs = forms.IntegerField(label="Epochs", initial=3, min_value=1, max_value=100)
    batch_size = forms.IntegerField(label="Batch size", initial=32, min_value=1, max_value=256)
    rates = NumbersField(kind=float, label="Learning rates", initial=" ".join(f"{rate:g}" for rate in RATES))
    seeds = NumbersField(
        kind=int, label="Seeds", initial=" ".join(map(str, SEEDS)), help_text="Each rate is trained once with each."
    )
    augments = forms.BooleanField(
        label="Add rows as MOCHA's code does",
        required=False,
        initial=True,
        help_text=(
            "Each question's reference as its own answer, scored 5; answers scored 5 swapped with their reference."
        ),
    )
    seed = forms.IntegerField(
        label="Seed of drawn splits", required=False, initial=SEED, min_value=0, max_value=LARGEST_SEED
    )

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sets = list_sets(project)
        self.encoders = list_encoders()
        self.fields["set"].queryset = self.sets  # type: ignore[attr-defined]
        if newest := self.sets.first():
            self.fields["set"].initial = newest.number
        keys = dict.fromkeys(key for each in self.sets for key in list_criteria(each))
        criteria = name_criteria(project)
        self._choose("criterion", [(key, criteria.get(key, key)) for key in keys])
        self._choose("encoder", [(each.name, each.name) for each in self.encoders])
        # A set without the split dev can't choose a learning rate.
        if not Passage.objects.in_project(project).filter(split="dev").exists():
            self.fields["splits"].initial = DRAWN
        names = Dataset.objects.filter(project=project).order_by("name").values_list("name", flat=True)
        if len(names) > 1:
            self._choose("held_out", [("", "none"), *((name, name) for name in names)])
        else:
            del self.fields["held_out"]

    def _choose(self, name: str, choices: list[tuple[str, str]]) -> None:
        self.fields[name].choices = choices  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                data["lerc"] = self._make_settings(data)
            except ValueError as error:
                raise forms.ValidationError(str(error)) from error
        return data

    def plan(self, *, pretraining: Mapping[str, Any] | None = None) -> TrainingPlan:
        """Return the plan of a valid form."""
        data = self.cleaned_data
        digests = {each.name: each.digest for each in self.encoders}
        return TrainingPlan(
            encoder=data["encoder"],
            digest=digests[data["encoder"]],
            held_out=data.get("held_out", ""),
            splits=data["splits"],
            seed=SEED if data["seed"] is None else data["seed"],
            lerc=data["lerc"],
            pretraining=dict(pretraining or {}),
        )

    @staticmethod
    def _make_settings(data: Mapping[str, Any]) -> Settings:
        return Settings(
            inputs=tuple(data["inputs"]),
            rates=tuple(data["rates"]),
            seeds=tuple(int(seed) for seed in data["seeds"]),
            epochs=data["epochs"],
            batch_size=data["batch_size"],
            max_length=data["max_length"],
            augments=data["augments"],
        )


def list_sets(project: Project) -> "QuerySet[JudgmentSet]":
    """Return the sets that can be trained on, the newest first."""
    return project.judgment_sets.frozen().filter(retired_at=None)


def fill_in(project: Project, given: Mapping[str, Any]) -> TrainingForm:
    """Return the form as if it had been sent as offered, except for the given values by name of field.

    Raises Refused for a held-out dataset where there is one dataset, and for no criterion where the set has several.
    """
    blank, data = TrainingForm(project), QueryDict(mutable=True)
    if given.get("held_out") and "held_out" not in blank.fields:
        raise Refused("The project has one dataset, so none can be held out.", field="held_out")
    chosen = blank.sets.filter(number=given["set"]).first()
    if chosen is not None and not given.get("criterion"):
        keys = list_criteria(chosen)
        if len(keys) > 1:
            raise Refused(f"The set has several criteria. Choose one of: {', '.join(keys)}.", field="criterion")
        given = {**given, "criterion": next(iter(keys), None)}
    for name, field in blank.fields.items():
        value = given.get(name)
        value = blank.get_initial_for_field(field, name) if value is None else value
        if value is None and getattr(field, "choices", None):
            # A browser sends the first of a list that has no other choice.
            value = next((key for key, _label in field.choices), "")  # type: ignore[attr-defined]
        if isinstance(field, NumbersField) and not isinstance(value, str):
            value = " ".join(map(str, value))
        values = value if isinstance(value, list | tuple) else [value]
        data.setlist(name, [str(each) for each in values if each not in (None, "", False)])
    return TrainingForm(project, data)
