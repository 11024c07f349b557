"""Forms of an overlap plan: judgments for each part of the data, collection settings, and the start."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django import forms
from django.db.models import Count
from django.utils.text import capfirst

from annotate.batches.control_plan_forms import PresentationForm
from annotate.models import Batch
from annotate.planning.hit_presentation import Presentation
from annotate.planning.overlap import ANY, MAX_JUDGMENTS, Rule, count_judgments_wanted
from projects.language.amounts import format_number, plural
from projects.models import Candidate, Dataset, Project, Question
from projects.web.forms import EditForm

SPLIT_ORDER = {"train": 0, "dev": 1, "validation": 2, "test": 3}


class PlanForm(EditForm):
    """One field for each part of the data; an empty one collects nothing.

    Parts are kinds of datasets and splits, and question types too if `by_type`.
    """

    name = forms.CharField(label="Name", max_length=100, initial="Overlap plan")

    def __init__(
        self, project: Project, *args: Any, rules: tuple[Rule, ...] = (), by_type: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.by_type = by_type
        counts = (
            Candidate.objects.to_rate_in(project)
            .order_by()
            .values_list("dataset__kind", "question__passage__split", "question__type")
            .annotate(n=Count("pk"))
        )
        sizes: Counter[tuple[str, str, str]] = Counter()
        for kind, split, type_, n in counts:
            sizes[kind, split, type_ if by_type else ANY] += n
        self.has_types = by_type or len({row[2] for row in counts}) > 1
        # Fields are numbered, because a split can have any name.
        self.parts: dict[str, tuple[str, str, str]] = {}
        # Other splits come after the usual ones, by name.
        for part in sorted(sizes, key=lambda part: (part[0], SPLIT_ORDER.get(part[1], 9), part[1], part[2])):
            _, split, type_ = part
            n = sizes[part]
            field = f"judgments{len(self.parts)}"
            self.parts[field] = part
            label = split or "no split"
            self.fields[field] = forms.IntegerField(
                label=f"{label}, {Question.Type(type_).label}" if by_type else label,
                help_text=plural(n, "%(n)s candidate", "%(n)s candidates") % {"n": format_number(n)},
                required=False,
                min_value=0,
                max_value=MAX_JUDGMENTS,
                initial=count_judgments_wanted(rules, *part),
            )

    def parts_by_kind(self) -> list[tuple[str, list[forms.BoundField]]]:
        """Return the fields of each kind of dataset, in the order of the splits."""
        found: dict[str, list[forms.BoundField]] = {}
        for name, (kind, _split, _type) in self.parts.items():
            found.setdefault(str(capfirst(Dataset.Kind(kind).label)), []).append(self[name])
        return list(found.items())

    def rules(self) -> tuple[Rule, ...]:
        return tuple(
            Rule(kind, split, self.cleaned_data[name], type_)
            for name, (kind, split, type_) in self.parts.items()
            if self.cleaned_data[name] is not None
        )


class CollectionForm(PresentationForm):
    """The collection settings of the new batches; fields that are not sent keep the values of the last ones."""

    hit_size = forms.IntegerField(
        label="HIT size",
        required=False,
        min_value=1,
        max_value=100,
        help_text="Maximum items per page, including controls.",
    )

    def __init__(self, presentation: Presentation, sent: Mapping[str, str]) -> None:
        self.usual = {
            "hit_size": presentation.hit_size,
            "presentation": presentation.presentation,
            "reading": "end" if presentation.must_read_to_end else "free",
            **self.initial_plan(presentation.controls),
        }
        super().__init__({**self.usual, **{name: sent[name] for name in self.base_fields if name in sent}})

    def read(self) -> Presentation:
        """Return the settings of a valid form."""
        cleaned = self.cleaned_data
        return Presentation(
            hit_size=cleaned["hit_size"] or self.usual["hit_size"],
            presentation=cleaned["presentation"] or self.usual["presentation"],
            must_read_to_end=(cleaned["reading"] or self.usual["reading"]) == "end",
            controls=self.plan(),
        )


class StartForm(forms.Form):
    """The use of trial judgments, and whether the batches open immediately."""

    use_of_trial = forms.ChoiceField(choices=[("", ""), *Batch.UseOfTrial.choices], required=False)
    opens = forms.BooleanField(required=False)
    why = forms.CharField(required=False, max_length=500)
