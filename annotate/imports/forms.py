"""Forms of an import: the file, its format, and the options."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.text import format_lazy

from annotate.imports.labels import read_labels
from projects.errors import Refused
from projects.importing import ENCODINGS, FORMATS, CriterionColumn, Kind, Options, Preview
from projects.importing.import_options import EVERY_DATASET, parse_labels
from projects.models import Dataset

DETECT = "auto-detect"
DELIMITERS = {
    "": (DETECT, ""),
    "comma": ("commas", ","),
    "semicolon": ("semicolons", ";"),
    "tab": ("tabs", "\t"),
    "bar": ("pipes", "|"),
}
MARKS = {"": "", "point": "point", "comma": "comma", "either": "point or comma"}
FORMAT_NAMES = {
    "csv": "CSV",
    "tsv": "TSV",
    "xlsx": "Excel (.xlsx)",
    "json": "JSON, a list of objects",
    "jsonl": "JSON, one object a line",
    "parquet": "Parquet",
    "mocha": "MOCHA's JSON",
    "argilla": "Argilla's JSON",
    "label_studio": "Label Studio's JSON",
    "potato": "Potato's JSON",
    "dureader": "DuReader's JSON",
}


class FilesInput(forms.FileInput):
    allow_multiple_selected = True

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[Any]:
        return files.getlist(name) if hasattr(files, "getlist") else files.get(name) or []


class FilesField(forms.FileField):
    """One file or several; its value is a list."""

    widget = FilesInput

    def clean(self, data: list[Any], initial: Any = None) -> list[Any]:
        return [super(FilesField, self).clean(each, initial) for each in data or [None]]


class UploadForm(forms.Form):
    file = FilesField(
        label="File",
        max_length=None,
        help_text="CSV, TSV, Excel (.xlsx), JSON, JSONL, Parquet, MOCHA's JSON, or exports of Argilla, Label Studio, "
        "Potato and DuReader. Several Parquet files of one dataset can be chosen together. You see a preview before "
        "anything is stored.",
    )
    kind = forms.ChoiceField(
        label="Content",
        choices=[
            (
                Kind.CANDIDATES.value,
                "Passages, questions, references and candidates, with or without scores",
            ),
            (Kind.JUDGMENTS.value, "Judgments of existing candidates"),
        ],
        initial=Kind.CANDIDATES.value,
        widget=forms.RadioSelect,
    )


class ReadingForm(forms.Form):
    """The file format: how bytes become rows and columns."""

    format = forms.ChoiceField(
        label="Format",
        required=False,
        choices=[("", "by file name"), *((each, FORMAT_NAMES[each]) for each in FORMATS)],
    )
    encoding = forms.ChoiceField(
        label="Encoding",
        required=False,
        choices=[("", DETECT), *ENCODINGS.items()],
    )
    delimiter = forms.ChoiceField(
        required=False,
        label="Delimiter",
        choices=[(name, label) for name, (label, _) in DELIMITERS.items()],
    )
    quotes = forms.ChoiceField(
        required=False,
        label="Quotation marks",
        choices=[("", "enclose cells, as in CSV"), ("none", "ordinary characters")],
    )
    decimal = forms.ChoiceField(
        required=False,
        label="Decimal mark",
        choices=[("", DETECT), ("point", "point, as in 7.5"), ("comma", "comma, as in 7,5")],
    )

    def clean_delimiter(self) -> str:
        return DELIMITERS[self.cleaned_data["delimiter"]][1]

    def show_detected(self, preview: Preview) -> None:
        """Name the detected value beside each automatic choice, and ask for nothing that the format doesn't have."""
        for name in ("encoding", "delimiter"):
            if not getattr(preview, name):
                del self.fields[name]
        if not preview.delimiter:
            del self.fields["quotes"]
        delimiter = next((words for words, sign in DELIMITERS.values() if sign and sign == preview.delimiter), "")
        found = {"encoding": preview.encoding.upper(), "delimiter": delimiter, "decimal": MARKS[preview.decimal]}
        for name, detected in found.items():
            field = self.fields.get(name)
            if isinstance(field, forms.ChoiceField) and detected and not self[name].value():
                others = [choice for choice in field.widget.choices if choice[0]]
                field.choices = [("", f"{DETECT} ({detected})"), *others]


class CorrectedFileForm(forms.Form):
    file = forms.FileField(label="Corrected file", max_length=None, help_text="The settings and the mapping stay.")


class CorrectedFilesForm(CorrectedFileForm):
    file = FilesField(label="Corrected file", max_length=None, help_text="The settings and the mapping stay.")


class RatingsForm(forms.Form):
    """How the ratings of a file are read."""

    rater_criterion = forms.ChoiceField(
        required=False,
        label="Criterion of the scores",
        help_text="Used for lists of scores and for columns with one annotator's ratings.",
    )
    labels = forms.CharField(
        required=False,
        max_length=10_000,
        label="Labels",
        help_text="Words in place of numbers, one per line: Excellent=5, or n/a=missing.",
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
    )
    repeated = forms.ChoiceField(
        required=False,
        label="If an annotator rated a candidate twice",
        choices=[("", "report an error"), ("first", "keep the first rating"), ("last", "keep the last rating")],
        help_text="By judgment time, or else by line.",
    )
    criteria = forms.CharField(
        required=False,
        max_length=5_000,
        label="New criteria",
        help_text="One per line: column=key:low-high, for example fluency_1to5=fluency:1-5. Leave out the column if "
        "rows give the criterion, or each annotator has a column. Add :nominal if the points are categories, such as "
        "kinds of errors: error=error:0-3:nominal.",
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
    )
    skip_wrong_rows = forms.BooleanField(
        required=False,
        label="Skip rows with errors",
        help_text="They are listed with the reason before anything is imported.",
    )
    FOLDED: tuple[str, ...] = ()
    """Fields that most files don't need, shown below the others."""

    def __init__(self, known: Mapping[str, CriterionColumn], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["rater_criterion"]
        assert isinstance(field, forms.ChoiceField)
        kept = self.initial.get("rater_criterion") or ""
        own = [(kept, kept)] if kept and kept not in known else []
        names = [(each.key, f"{each.key}, {each.low}–{each.high}") for each in known.values()]
        field.choices = [
            ("", "automatic: the new criterion, if there is only one; otherwise correctness"),
            *names,
            *own,
        ]

    def open_fields(self) -> list[BoundField]:
        return [field for field in self if field.name not in self.FOLDED]

    def folded_fields(self) -> list[BoundField]:
        return [self[name] for name in self.FOLDED]

    def clean_labels(self) -> dict[str, float | None]:
        lines = [line.strip() for line in self.cleaned_data["labels"].splitlines()]
        try:
            # A line without points is a suggestion that nobody has completed: its ratings are reported as errors.
            return parse_labels(line for line in lines if line and not line.endswith("="))
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from refusal

    def clean_criteria(self) -> tuple[CriterionColumn, ...]:
        try:
            return tuple(
                CriterionColumn.parse(line.strip())
                for line in self.cleaned_data["criteria"].splitlines()
                if line.strip()
            )
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from refusal


class CandidatesForm(RatingsForm):
    """The options for rows of candidates."""

    FOLDED = ("with_scores", "rater_criterion", "labels", "repeated", "criteria")
    field_order = ("skip_wrong_rows", "dataset")

    dataset = forms.CharField(
        required=False,
        max_length=120,
        label="Dataset",
        help_text="For rows without a dataset. If empty, “main”.",
    )
    dataset_kind = forms.ChoiceField(
        required=False,
        label="Dataset type",
        choices=[("", "from file, else generative"), *Dataset.Kind.choices],
    )
    split = forms.CharField(
        required=False,
        max_length=40,
        label="Split",
        help_text="For passages without a split, for example train.",
    )
    with_scores = forms.BooleanField(
        required=False,
        label="Also import scores as judgments",
        help_text="From lists of scores, or columns for one annotator each. They become a closed batch.",
    )
    drop_equal = forms.ChoiceField(
        required=False,
        label="Exclude candidates equal to a reference",
        choices=[
            ("", "no"),
            ("exact", "if exactly equal"),
            ("normalised", "if equal after SQuAD normalisation"),
        ],
    )
    drop_numbers = forms.CharField(
        required=False,
        max_length=2_000,
        label="Exclude if candidate and reference are numbers",
        help_text=format_lazy("Dataset names, separated by commas; {every} means all datasets.", every=EVERY_DATASET),
    )
    second_reference_below = forms.FloatField(
        required=False,
        min_value=0.0,
        max_value=1.0,
        label="Turn further references into candidates below this overlap",
        help_text="Token F1 with the first reference, from 0 to 1. If empty, they stay references.",
        widget=forms.NumberInput(attrs={"step": "0.05"}),
    )
    multiple_choice = forms.BooleanField(
        required=False,
        label="Convert multiple choice to generative",
        help_text="The correct choice becomes the reference.",
    )

    def clean_drop_numbers(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.cleaned_data["drop_numbers"].split(",") if name.strip())


class JudgmentsForm(RatingsForm):
    """The options for rows of judgments."""

    field_order = ("skip_wrong_rows", "dataset", "labels", "repeated", "rater_criterion", "criteria")
    dataset = forms.CharField(
        required=False,
        max_length=120,
        label="Dataset",
        help_text="For rows without a dataset.",
    )


def read_initial(options: Options, known: Mapping[str, CriterionColumn]) -> dict[str, Any]:
    """Return the forms' initial values from stored options."""
    stored = options.as_dict()
    stored["delimiter"] = next((name for name, (_, sign) in DELIMITERS.items() if sign == options.delimiter), "")
    stored["labels"] = read_labels(options)
    stored["drop_numbers"] = ", ".join(options.drop_numbers)
    typed = [each for each in options.criteria if not each.column or not _is_known(each, known)]
    stored["criteria"] = "\n".join(map(str, typed))
    return stored


def _is_known(criterion: CriterionColumn, known: Mapping[str, CriterionColumn]) -> bool:
    return criterion.key in known and known[criterion.key].scale == criterion.scale
