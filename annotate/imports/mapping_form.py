"""The form that maps the columns of a file to fields."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.text import capfirst

from projects.importing import CriterionColumn, Preview
from projects.importing.fields import GROUPS, MULTIPLE

CRITERION = "criterion:"
"""What precedes the key of a criterion among the choices of a column, so that no key looks like a field."""
SHARED_FIELDS = {"", *MULTIPLE}
MOST_REFERENCES = 9
"""Fields for references that are offered; a file that has more uses a list."""


class MappingForm(forms.Form):
    """One field per column of the file. Form fields are numbered, because a column can have any name."""

    def __init__(
        self,
        preview: Preview,
        known: Mapping[str, CriterionColumn],
        chosen: Mapping[str, str],
        data: Any = None,
    ) -> None:
        super().__init__(data)
        self.preview = preview
        self.known = known
        self.guessed = {column: self._guess(column) for column in preview.columns}
        choices = _list_choices(preview, known)
        offered = dict(_flatten(choices))
        for number, column in enumerate(preview.columns):
            field = chosen.get(column) or self.guessed[column]
            # A mapping that was stored earlier may name a field that isn't offered, such as a further reference.
            own = [] if field in offered else [(field, capfirst(field.replace("_", " ")))]
            self.fields[f"column_{number}"] = forms.ChoiceField(choices=[*choices, *own], initial=field, label=column)

    def _guess(self, column: str) -> str:
        field = self.preview.mapping.get(column, "ignore")
        if field in self.preview.fields or field.startswith("reference_"):
            return field
        return f"{CRITERION}{column}" if column in self.known else "ignore"

    def initial_fields(self) -> dict[str, str]:
        """Return the field that is chosen for each column when the form is shown."""
        return {column: str(self[f"column_{number}"].initial) for number, column in enumerate(self.preview.columns)}

    def rows(self) -> Iterator[tuple[str, BoundField, list[str]]]:
        """Return each column with its form field and its cells in the preview rows."""
        for number, column in enumerate(self.preview.columns):
            yield column, self[f"column_{number}"], [row[number] for row in self.preview.rows]

    def clean(self) -> dict[str, Any]:
        seen: dict[str, str] = {}
        for number, column in enumerate(self.preview.columns):
            field = self.cleaned_data.get(f"column_{number}", "")
            if field not in SHARED_FIELDS and field in seen:
                self.add_error(
                    f"column_{number}",
                    f"The column “{seen[field]}” is already mapped to this field. Choose another field"
                    + (", such as Reference 2." if field == "reference" else "."),
                )
            seen.setdefault(field, column)
        return self.cleaned_data

    def mapping(self) -> dict[str, str]:
        """Return the choices that differ from the automatic mapping; columns of judgments are in `criteria`."""
        return {
            column: field
            for column, field in self._read_fields()
            if not field.startswith(CRITERION) and field != self.guessed[column]
        }

    def criteria(self) -> tuple[CriterionColumn, ...]:
        found = []
        for column, field in self._read_fields():
            each = self.known.get(field.removeprefix(CRITERION)) if field.startswith(CRITERION) else None
            if each is not None:
                found.append(CriterionColumn(key=each.key, low=each.low, high=each.high, kind=each.kind, column=column))
        return tuple(found)

    def _read_fields(self) -> Iterator[tuple[str, str]]:
        for number, column in enumerate(self.preview.columns):
            yield column, self.cleaned_data[f"column_{number}"]


def is_rating(field: str) -> bool:
    """Return whether a column with this field holds ratings."""
    return field in ("rater", "value") or field.startswith(CRITERION)


def _list_choices(preview: Preview, known: Mapping[str, CriterionColumn]) -> list[Any]:
    first = [name for name in ("metadata", "ignore") if name in preview.fields]
    rest = list(_name_fields(preview.fields, first))
    if "candidate" in preview.fields:
        return [*rest, *((heading, list(_name_fields(preview.fields, names))) for heading, names in GROUPS.items())]
    fields = list(_name_fields(preview.fields, (name for name in preview.fields if name not in first)))
    criteria = [
        (
            f"{CRITERION}{each.key}",
            f"Judgments: {each.key}, {each.low}–{each.high}",
        )
        for each in known.values()
    ]
    return [*rest, *([("Judgments per criterion", criteria)] if criteria else []), ("Field", fields)]


def _name_fields(labels: Mapping[str, str], names: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        yield name, labels[name]
        if name == "reference":
            yield from ((f"reference_{n}", f"Reference {n}") for n in range(2, MOST_REFERENCES + 1))


def _flatten(choices: list[Any]) -> Iterator[tuple[str, str]]:
    for value, label in choices:
        if isinstance(label, list):
            yield from label
        else:
            yield value, label
