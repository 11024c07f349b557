"""The forms of score files: how a file is read, and which of its columns are imported."""

from collections.abc import Iterator
from typing import Any

from django import forms
from django.forms import BoundField

from annotate.imports.forms import DELIMITERS, ReadingForm
from projects.importing import Options
from projects.models import Project
from results.models import ScoreFile
from results.score_import.reading import NAME_LENGTH


class ScoreOptionsForm(ReadingForm):
    """How a file of scores is read."""

    dataset = forms.ChoiceField(
        label="Dataset",
        required=False,
        help_text="For rows without a dataset. Required only if an ID occurs in several datasets.",
    )
    id_column = forms.CharField(
        label="Candidate ID column",
        required=False,
        max_length=200,
        help_text="Required if it is not named candidate_id or id.",
    )

    field_order = ("id_column", "dataset")

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["dataset"]
        assert isinstance(field, forms.ChoiceField)
        names = list(project.datasets.values_list("name", flat=True))
        field.choices = [("", "as the file says"), *((name, name) for name in names)]

    def options(self) -> Options:
        sent = self.cleaned_data
        column = sent["id_column"].strip()
        return Options(
            format=sent["format"],
            encoding=sent["encoding"],
            delimiter=sent["delimiter"],
            quotes=sent["quotes"],
            decimal=sent["decimal"],
            dataset=sent["dataset"],
            mapping={column: "candidate_id"} if column else {},
        )


class ScoreFileForm(ScoreOptionsForm):
    """A file of scores, and how it is read."""

    file = forms.FileField(
        label="File",
        max_length=None,
        help_text="CSV, TSV, Excel (.xlsx), JSON, JSONL, Parquet or MOCHA predictions. A higher score must mean a "
        "better answer: negate error rates, such as TER or WER, before you upload them.",
    )
    field_order = ("file", "dataset")


def read_initial(options: Options) -> dict[str, Any]:
    """Return the initial values of the form from stored options."""
    stored = options.as_dict()
    stored["delimiter"] = next((name for name, (_, sign) in DELIMITERS.items() if sign == options.delimiter), "")
    stored["id_column"] = next((column for column, field in options.mapping.items() if field == "candidate_id"), "")
    return stored


class TakeForm(forms.Form):
    """Which columns of a file are imported, and the metric of each."""

    def __init__(self, job: ScoreFile, data: Any = None) -> None:
        super().__init__(data)
        # Fields are named by number, because a column may have any name.
        self._columns = [each for each in (job.report or {}).get("columns", []) if each["n"]]
        for number, each in enumerate(self._columns):
            self.fields[f"take_{number}"] = forms.BooleanField(
                label=each["column"], required=False, initial=each["is_taken"]
            )
            self.fields[f"name_{number}"] = forms.CharField(
                label="Metric name", required=False, max_length=NAME_LENGTH, initial=each["name"]
            )

    def rows(self) -> Iterator[tuple[dict[str, Any], BoundField, BoundField]]:
        for number, each in enumerate(self._columns):
            yield each, self[f"take_{number}"], self[f"name_{number}"]

    def names(self) -> dict[str, str]:
        sent = self.cleaned_data
        return {
            each["column"]: sent[f"name_{number}"]
            for number, each in enumerate(self._columns)
            if sent.get(f"take_{number}")
        }
