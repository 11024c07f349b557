"""Forms of the qualification test; the rules are in `design` and `items`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.text import capfirst

from annotate.attempts.gradable_items import ItemSpec, find_faults, read_spec
from annotate.attempts.results import format_range
from annotate.imports.forms import ReadingForm
from annotate.models import Grant, QualificationItem, QualificationTest
from annotate.payments.ledger import pays_anything
from annotate.qualification.design import bounds
from annotate.qualification.items_from_file import LIMITS, read_range
from measures.rubric import ScaleKind, format_plain_number
from projects.errors import Refused
from projects.importing import Options
from projects.importing.limits import MIB
from projects.language.amounts import write_percent
from projects.rubric.rubrics import CriterionOnPage
from projects.web.forms import EditForm

MOST_TEXT = 100_000
"""Characters of one text of an item: longer than any passage that can be read in a test."""
PURPOSES = [("test", "Test"), ("practice", "Practice")]


class TestSettingsForm(EditForm):
    """The settings of the test."""

    # pytest would collect it for its name.
    __test__ = False

    n_items = forms.IntegerField(
        label="Items per attempt",
        required=False,
        **bounds("n_items"),
        help_text="Drawn at random for each attempt. If empty, all items.",
    )
    pass_percent = forms.DecimalField(
        label="Pass mark (%)",
        min_value=Decimal(0),
        max_value=Decimal(100),
        max_digits=5,
        decimal_places=2,
        help_text="80 means 8 of 10 items must be correct.",
    )
    max_attempts = forms.IntegerField(label="Attempts", **bounds("max_attempts"), help_text="Per person.")
    wait_hours = forms.IntegerField(
        label="Hours between attempts",
        **bounds("wait_hours"),
        help_text="0 allows an immediate retry.",
    )
    time_limit_minutes = forms.IntegerField(
        label="Time limit (minutes)",
        required=False,
        **bounds("time_limit_minutes"),
        help_text="If empty, there is no limit.",
    )
    feedback = forms.ChoiceField(
        label="Feedback after an attempt",
        choices=[(value, capfirst(label)) for value, label in QualificationTest.Feedback.choices],
        widget=forms.RadioSelect,
        help_text="People who have seen the correct ratings can repeat them. In that case, draw attempts from a "
        "larger pool.",
    )
    valid_days = forms.IntegerField(
        label="Valid for (days)",
        required=False,
        **bounds("valid_days"),
        help_text="If empty, the qualification doesn’t expire.",
    )
    cents = forms.IntegerField(
        label="Pay for the test (US cents)",
        **bounds("cents"),
        help_text="Paid once per person, pass or fail.",
    )
    seed = forms.IntegerField(
        label="Seed",
        **bounds("seed"),
        help_text="For the choice and order of items.",
    )

    def __init__(self, test: QualificationTest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A project without pay shows nothing about money, unless the test still has a rate from before.
        if not test.cents and not pays_anything(test.project):
            del self.fields["cents"]

    @staticmethod
    def initial_values(test: QualificationTest) -> dict[str, Any]:
        names = (
            "n_items",
            "max_attempts",
            "wait_hours",
            "time_limit_minutes",
            "feedback",
            "valid_days",
            "cents",
            "seed",
        )
        return {**{name: getattr(test, name) for name in names}, "pass_percent": write_percent(test.pass_share)}

    def values(self) -> dict[str, Any]:
        values = dict(self.cleaned_data)
        values["pass_share"] = float(values.pop("pass_percent") / 100)
        return values


class ItemForm(EditForm):
    """One item entered manually."""

    purpose = forms.ChoiceField(label="Used for", choices=PURPOSES, initial="test")
    passage_title = forms.CharField(label="Passage title", required=False, max_length=500)
    passage_text = forms.CharField(
        label="Passage",
        required=False,
        max_length=MOST_TEXT,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
        help_text="Items with the same title and passage are shown together.",
    )
    question = forms.CharField(
        label="Question", max_length=MOST_TEXT, widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"})
    )
    references = forms.CharField(
        label="References",
        required=False,
        max_length=MOST_TEXT,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        help_text="One per line.",
    )
    answer = forms.CharField(
        label="Answer to rate",
        required=False,
        max_length=MOST_TEXT,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        help_text="Leave it empty only if annotators should rate an empty answer.",
    )
    tolerance = forms.FloatField(
        label="Tolerance",
        min_value=0,
        max_value=1_000_000,
        initial=0,
        help_text="How far off still counts as correct, in scale points.",
    )
    explanation = forms.CharField(
        label="Explanation",
        required=False,
        max_length=MOST_TEXT,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        help_text="Why this rating is correct. Annotators see it after an attempt if feedback includes explanations.",
    )

    def __init__(
        self,
        criteria: Sequence[CriterionOnPage],
        *args: Any,
        item: QualificationItem | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.criteria = criteria
        self.item = item
        for criterion in criteria:
            expected = describe_expected(criterion)
            self.fields[f"expected_{criterion.key}"] = forms.CharField(
                label="Correct rating" if len(criteria) == 1 else f"Correct rating: {criterion.name}",
                max_length=40,
                help_text=f"{expected[:1].upper()}{expected[1:]}.",
            )
        order = ["purpose", "passage_title", "passage_text", "question", "references", "answer"]
        self.order_fields([*order, *(f"expected_{each.key}" for each in criteria), "tolerance", "explanation"])

    @staticmethod
    def initial_values(item: QualificationItem) -> dict[str, Any]:
        return {
            **{
                name: getattr(item, name)
                for name in (
                    "purpose",
                    "passage_title",
                    "passage_text",
                    "question",
                    "answer",
                    "explanation",
                )
            },
            "tolerance": format_plain_number(item.tolerance),
            # One per line, so line ends within a reference become spaces; `spec` keeps the originals if nothing
            # changes.
            "references": "\n".join(" ".join(each["text"].split("\n")) for each in item.references),
            **{f"expected_{key}": format_range(ends).replace(" to ", "-") for key, ends in item.expected.items()},
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        expected = {}
        for criterion in self.criteria:
            name = f"expected_{criterion.key}"
            if name not in cleaned:
                continue
            try:
                expected[criterion.key] = read_range(cleaned[name])
            except Refused as refusal:
                self.add_error(name, refusal.message)
        cleaned["expected"] = expected
        if not self.errors:
            for fault in find_faults(self.spec(cleaned), self.criteria):
                name = f"expected_{fault.key}" if fault.part == "expected" else fault.part
                self.add_error(name if name in self.fields else None, ValidationError(fault.reason))
        return cleaned

    def spec(self, cleaned: dict[str, Any] | None = None) -> ItemSpec:
        cleaned = self.cleaned_data if cleaned is None else cleaned
        # Opinions are not in the form; a line that was there before keeps its own.
        opinions = {each["text"]: each.get("opinion", "") for each in (self.item.references if self.item else [])}
        lines = [line.strip() for line in cleaned.get("references", "").splitlines()]
        spec = ItemSpec(
            question=cleaned.get("question", ""),
            answer=_normalise_lines(cleaned.get("answer", "")),
            expected=cleaned.get("expected", {}),
            purpose=cleaned.get("purpose", "test"),
            passage_title=cleaned.get("passage_title", ""),
            passage_text=_normalise_lines(cleaned.get("passage_text", "")),
            references=[{"text": line, "opinion": opinions.get(line, "")} for line in lines if line],
            tolerance=cleaned.get("tolerance") or 0.0,
            explanation=cleaned.get("explanation", ""),
        )
        # The field shows references without their opinions and line ends, so unchanged ones are taken from the item.
        if self.item is not None and "references" not in self.changed_data:
            spec = replace(spec, references=read_spec(self.item).references)
        return spec

    def _list_stored(self) -> dict[str, Any]:
        """Return digests: its texts may be as long as what a form may have altogether."""
        stored = super()._list_stored()
        return {name: sha256(str(value).encode()).hexdigest() for name, value in stored.items()}


def describe_expected(criterion: CriterionOnPage) -> str:
    """Return what a correct rating on this criterion may be, with a range on its own scale as the example."""
    scale = criterion.scale
    near = scale.high - (1 if scale.kind is ScaleKind.ORDINAL else (scale.high - scale.low) / 4)
    low, near_high, high = map(format_plain_number, (scale.low, near, scale.high))
    to = "-" if near >= 0 else " to "  # -2--1 can be read, though not by people
    return f"from {low} to {high}: a number, or a range such as {near_high}{to}{high}"


class FileForm(ReadingForm):
    """A file of items and how it is read; after an error the file is kept, and need not be given again."""

    file = forms.FileField(
        label="File",
        max_length=None,
        help_text="CSV, TSV, Excel (.xlsx), JSON, JSONL or Parquet.",
    )
    skip_wrong_rows = forms.BooleanField(
        required=False, label="Skip rows with errors", help_text="They are listed with the reason."
    )
    field_order = ("file", "skip_wrong_rows")

    def keep(self) -> None:
        """Accept no file: the one that is kept is read again."""
        self.fields["file"].required = False

    def clean_file(self) -> "UploadedFile[Any] | None":
        # Refused here, so that a file that will never be read is not kept either.
        upload: UploadedFile[Any] | None = self.cleaned_data["file"]
        if upload and (upload.size or 0) > LIMITS.file_bytes:
            raise ValidationError(f"The file is larger than {LIMITS.file_bytes // MIB} MB. Split it and try again.")
        return upload

    def options(self, mapping: Mapping[str, str]) -> Options:
        sent = self.cleaned_data
        names = ("format", "encoding", "delimiter", "quotes", "decimal", "skip_wrong_rows")
        return Options(**{name: sent[name] for name in names}, mapping=dict(mapping))


class CandidatesForm(forms.Form):
    """How rated candidates become items."""

    purpose = forms.ChoiceField(label="Used for", choices=PURPOSES, initial="test")
    tolerance = forms.FloatField(
        label="Tolerance",
        min_value=0,
        max_value=1_000_000,
        initial=0,
        help_text="How far off still counts as correct, in scale points.",
    )


class GrantForm(forms.Form):
    kind = forms.ChoiceField(choices=Grant.Kind.choices)
    why = forms.CharField(max_length=500)


def _normalise_lines(text: str) -> str:
    # Forms send Windows line ends; items with the same passage are grouped by its exact text.
    return text.replace("\r\n", "\n")
