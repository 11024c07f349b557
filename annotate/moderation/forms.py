"""Forms of decisions on members and on submitted work."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django import forms

from annotate.models import Assignment, Batch
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.moderation.work_filter import MARKS, WorkFilter
from annotate.onboarding.notices import LONGEST
from projects.models import Project
from projects.web.forms import WHY, WhyForm


class WarnForm(forms.Form):
    text = forms.CharField(
        label="Message",
        max_length=LONGEST,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="Shown on their desk until they confirm they have read it. Explain what to do differently.",
    )


class SuspendForm(forms.Form):
    why = forms.CharField(
        label="Reason",
        help_text="Recorded in the audit log, for managers. Don’t name anyone.",
        **WHY,
    )
    text = forms.CharField(
        label="Message to them",
        required=False,
        max_length=LONGEST,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Shown on their desk.",
    )


class RestoreForm(forms.Form):
    why = forms.CharField(label="Reason", help_text="Recorded in the audit log. Don’t name anyone.", **WHY)
    with_work = forms.BooleanField(label="Count excluded work again", required=False, initial=True)


class ExclusionForm(forms.Form):
    """The work that a removal excludes; sent by GET, so that it can be previewed."""

    scope = forms.ChoiceField(
        label="Exclude from results",
        choices=ExclusionScope.choices,
        widget=forms.RadioSelect,
        error_messages={"required": "Choose what to exclude."},
    )
    since = forms.DateField(
        label="Since",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="From midnight UTC.",
    )
    batch = forms.ModelChoiceField(
        label="Batch",
        queryset=Batch.objects.none(),
        required=False,
        to_field_name="number",
        empty_label="–",
    )
    reopens = forms.BooleanField(
        label="Reassign the work to other annotators",
        required=False,
        initial=True,
        help_text="Otherwise the batch page lists it under Shortfall.",
    )

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["batch"].queryset = project.batches.order_by("number")  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("scope") == ExclusionScope.SINCE and not cleaned.get("since") and "since" not in self.errors:
            self.add_error("since", "Enter a date.")
        if cleaned.get("scope") == ExclusionScope.BATCH and not cleaned.get("batch") and "batch" not in self.errors:
            self.add_error("batch", "Choose the batch.")
        return cleaned

    def exclusion(self) -> Exclusion:
        cleaned = self.cleaned_data
        scope, day = ExclusionScope(cleaned["scope"]), cleaned["since"]
        return Exclusion(
            scope=scope,
            since=datetime(day.year, day.month, day.day, tzinfo=UTC) if scope == ExclusionScope.SINCE else None,
            batch=cleaned["batch"] if scope == ExclusionScope.BATCH else None,
            reopens=cleaned["reopens"],
        )


class RemoveForm(forms.Form):
    why = forms.CharField(label="Reason", help_text="Recorded in the audit log. Don’t name anyone.", **WHY)
    reopen_batches = forms.BooleanField(label="Reopen closed batches", required=False)
    resolves_alerts = forms.BooleanField(label="Resolve their open alerts as acted on", required=False, initial=True)


class DecisionForm(forms.Form):
    """The submitted work that a decision is about, and the decision; sent by GET, so that it can be previewed.

    Its fields have no labels: the list and the preview send them as hidden inputs.
    """

    act = forms.ChoiceField(choices=[("approve", "approve"), ("reject", "reject")])
    batch = forms.IntegerField(required=False, min_value=1, max_value=10**9)
    annotator = forms.CharField(required=False, max_length=40)
    state = forms.ChoiceField(
        required=False, choices=[("", "any"), *((each, each) for each in Assignment.SUBMITTED_STATES)]
    )
    mark = forms.ChoiceField(required=False, choices=[("", "any"), *MARKS])
    answered = forms.BooleanField(required=False)
    inactive = forms.BooleanField(required=False)
    all = forms.BooleanField(required=False)
    absent = forms.BooleanField(required=False)
    until = forms.CharField(required=False, max_length=40)

    def clean_until(self) -> datetime | None:
        """Return when the list was shown, or None. Work submitted later is not decided on."""
        try:
            return datetime.fromisoformat(self.cleaned_data["until"]) if self.cleaned_data["until"] else None
        except ValueError as error:
            raise forms.ValidationError("This is not a valid time.") from error

    def make_list_query(self) -> str:
        """Return the query of the list that the decision was chosen in; filters with an error are left out."""
        names = ("batch", "annotator", "state", "mark", "answered", "inactive")
        kept = {name: self.data[name] for name in names if self.data.get(name) and name not in self.errors}
        return f"?{urlencode(kept)}" if kept else ""

    def work_filter(self, uuids: list[str]) -> WorkFilter:
        """Return the filter for the selected assignments, or for all in the list."""
        cleaned = self.cleaned_data
        if not cleaned["all"]:
            return WorkFilter(uuids=tuple(uuids), until=cleaned["until"])
        return WorkFilter(
            batch=cleaned["batch"],
            annotator=cleaned["annotator"],
            state=cleaned["state"],
            mark=cleaned["mark"],
            is_answered=cleaned["answered"],
            only_absent=cleaned["inactive"],
            until=cleaned["until"],
        )


class RejectForm(forms.Form):
    reason = forms.CharField(
        label="Reason",
        help_text="The annotator sees it and can reply once. Recorded in the audit log.",
        **WHY,
    )
    is_unpaid = forms.BooleanField(
        label="Unpaid",
        required=False,
        help_text="Take back the pay. Otherwise it is kept.",
    )
    reopen_batches = forms.BooleanField(label="Reopen closed batches", required=False)


class SetAsideForm(WhyForm):
    again = forms.BooleanField(required=False, widget=forms.HiddenInput)
