"""Forms of batches; the rules are in `creating`, `terms` and `lifecycle`."""

from decimal import Decimal
from typing import Any

from django import forms
from django.db.models import Count
from django.utils.text import capfirst

from annotate.batches import trials
from annotate.batches.control_plan_forms import PresentationForm
from annotate.batches.selection import Selection, count_by_facet
from annotate.batches.terms import KINDS_THAT_RATE, MAX_JUDGMENTS, Terms
from annotate.batches.terms_forms import CapsForm
from annotate.models import Batch, QualificationTest
from annotate.payments.ledger import pays_anything
from projects.language.amounts import format_number, plural, write_percent
from projects.models import Candidate, Membership, MinimalPair, Project, Question
from projects.rubric.rubrics import current_rubric

NONE = "(none)"
"""The value of a checkbox for candidates without a split or source: an empty one would look unticked."""
NONE_GIVEN = "not given"
PAY = ("cents_per_hit", "cents_per_item", "short_hits", "fee_percent")
"""Fields that are hidden in projects that pay nothing."""
SHORT_HITS = {"": None, "item": True, "hit": False}
"""The choices of the pay for short HITs, as terms have them."""


class TrialField(forms.ModelChoiceField[Batch]):
    def label_from_instance(self, obj: Batch) -> str:
        return f"{obj.number} · {obj.name} ({obj.get_state_display()})"


class NewBatchForm(PresentationForm, CapsForm):
    """The selection and terms of a new batch."""

    name = forms.CharField(
        label="Name",
        required=False,
        max_length=120,
        help_text="If empty, the batch is named after its number.",
    )
    kind = forms.ChoiceField(
        label="Stage",
        choices=[(Batch.Kind.FULL, "Full collection"), (Batch.Kind.TRIAL, "Trial")],
        initial=Batch.Kind.FULL,
        widget=forms.HiddenInput,
    )
    trial = TrialField(
        label="Trial",
        queryset=Batch.objects.none(),
        required=False,
        to_field_name="number",
        empty_label=None,
    )
    use_of_trial = forms.ChoiceField(
        label="Use of trial judgments",
        choices=[(value, capfirst(label)) for value, label in Batch.UseOfTrial.choices],
        initial=Batch.UseOfTrial.LEAVE_OUT,
        required=False,
        widget=forms.RadioSelect,
        help_text="Trial judgments stay out of the results unless they are counted here.",
    )
    datasets = forms.MultipleChoiceField(label="Datasets", required=False, widget=forms.CheckboxSelectMultiple)
    splits = forms.MultipleChoiceField(label="Splits", required=False, widget=forms.CheckboxSelectMultiple)
    sources = forms.MultipleChoiceField(label="Sources", required=False, widget=forms.CheckboxSelectMultiple)
    types = forms.MultipleChoiceField(label="Question types", required=False, widget=forms.CheckboxSelectMultiple)
    sample = forms.IntegerField(
        label="Sample size",
        required=False,
        min_value=1,
        max_value=10_000_000,
        help_text="In candidates. Whole passages are drawn so that each dataset keeps its share.",
    )
    seed = forms.IntegerField(
        label="Seed",
        initial=0,
        min_value=0,
        max_value=2**31 - 1,
        help_text="For the sample and the order of HITs. The same seed gives the same result.",
    )
    with_pairs = forms.BooleanField(label="Include candidates of minimal pairs", required=False)
    only_pairs = forms.BooleanField(label="Only candidates of minimal pairs", required=False)
    judgments = forms.IntegerField(
        label="Judgments per candidate",
        required=False,
        min_value=1,
        max_value=MAX_JUDGMENTS,
        help_text="Each by a different annotator.",
    )
    annotators = forms.ModelMultipleChoiceField(
        label="Or choose annotators",
        queryset=Membership.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Each of them rates everything, and no one else does.",
    )
    requires_qualification = forms.BooleanField(
        label="Only qualified annotators",
        required=False,
        initial=True,
        help_text="Applies while the project’s qualification test is open.",
    )
    hit_size = forms.IntegerField(
        label="HIT size",
        min_value=1,
        max_value=100,
        help_text="Maximum candidates per page, all of one passage.",
    )
    cents_per_hit = forms.IntegerField(label="US cents per HIT", min_value=0, max_value=100_000)
    cents_per_item = forms.IntegerField(label="US cents per item", min_value=0, max_value=100_000)
    short_hits = forms.ChoiceField(
        label="Pay for short HITs",
        choices=[
            ("", "By item if the batch has personal HITs"),
            ("item", "By item: a HIT with fewer items pays its share"),
            ("hit", "In full, like any other HIT"),
        ],
        required=False,
        help_text="Applies to all HITs alike, so that pay doesn’t reveal personal HITs.",
    )
    fee_percent = forms.DecimalField(
        label="Platform fee (%)",
        min_value=Decimal(0),
        max_value=Decimal(100),
        max_digits=6,
        decimal_places=3,
    )
    time_limit_minutes = forms.IntegerField(label="Time limit (minutes)", min_value=1, max_value=60 * 24 * 14)
    order = forms.ChoiceField(
        label="Assignment order",
        choices=[(value, capfirst(label)) for value, label in Batch.Order.choices],
        initial=Batch.Order.BREADTH,
    )
    priority = forms.IntegerField(
        label="Priority",
        initial=0,
        min_value=-100,
        max_value=100,
        help_text="Open batches with a higher priority are assigned first.",
    )

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        # Fields are numbered: a type's value is no name for a field.
        self.numbers_by_type: dict[str, str] = {}
        counts = count_by_facet(project)
        for name, rows in counts.items():
            self._offer(name, rows)
        self.fields["annotators"].queryset = (  # type: ignore[attr-defined]
            project.memberships.active().annotators().filter(kind__in=KINDS_THAT_RATE).select_related("user")
        )
        self.fields["annotators"].label_from_instance = _format_name  # type: ignore[attr-defined]
        self._offer_trial_and_test()
        if any(type_ for type_, _n in counts["types"]):
            self._offer_questions_by_type()
        if not MinimalPair.objects.filter(question__dataset__project=project).exists():
            del self.fields["with_pairs"], self.fields["only_pairs"]
        if not pays_anything(project):
            for name in PAY:
                del self.fields[name]

    def _offer_trial_and_test(self) -> None:
        """Ask about the trial and the qualification test only if there are any."""
        found = trials.list_trials(self.project)
        if self["kind"].value() == Batch.Kind.TRIAL or not found:
            del self.fields["trial"], self.fields["use_of_trial"]
        else:
            self.fields["trial"].queryset = found  # type: ignore[attr-defined]
            self.fields["trial"].initial = found[0].number
            if len(found) == 1:
                self.fields["trial"].widget = forms.HiddenInput()
        if not QualificationTest.objects.filter(project=self.project).exists():
            del self.fields["requires_qualification"]

    def _offer_questions_by_type(self) -> None:
        """Offer a number of questions to draw for each type."""
        counts = dict(
            Candidate.objects.judgeable_in(self.project)
            .order_by()
            .values_list("question__type")
            .annotate(n=Count("question", distinct=True))
        )
        for number, type_ in enumerate(Question.Type):
            if type_ not in counts:
                continue
            n = counts[type_]
            self.numbers_by_type[f"questions{number}"] = type_.value
            self.fields[f"questions{number}"] = forms.IntegerField(
                label=str(capfirst(type_.label)),
                help_text=plural(n, "of %(n)s question", "of %(n)s questions") % {"n": format_number(n)},
                required=False,
                min_value=1,
                max_value=10_000_000,
            )

    @property
    def questions_by_type(self) -> list[forms.BoundField]:
        return [self[name] for name in self.numbers_by_type]

    @property
    def shows_questions_by_type(self) -> bool:
        """Return whether these fields are unfolded: one has a value or an error."""
        return any(field.value() or field.errors for field in self.questions_by_type)

    def _offer(self, name: str, rows: list[tuple[str, int]]) -> None:
        """Offer the values that the project has, by name, with their numbers; drop the field if there is only one."""
        if len(rows) < 2:
            del self.fields[name]
            return
        self.fields[name].choices = [  # type: ignore[attr-defined]
            (value or NONE, f"{value or NONE_GIVEN} ({n:,})")
            for value, n in sorted(rows, key=lambda row: row[0].casefold())
        ]

    @staticmethod
    def initial_values(project: Project, kind: str = "") -> dict[str, Any]:
        is_trial = kind == Batch.Kind.TRIAL
        names = ("hit_size", "cents_per_hit", "cents_per_item", "time_limit_minutes")
        return {
            **{name: getattr(project, name) for name in names},
            "fee_percent": write_percent(project.fee_share),
            "kind": Batch.Kind.TRIAL if is_trial else Batch.Kind.FULL,
            "sample": trials.N_CANDIDATES if is_trial else None,
            "judgments": trials.N_JUDGMENTS if is_trial else 1,
            **PresentationForm.initial_for(current_rubric(project)),
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        annotators = cleaned.get("annotators")
        # With chosen annotators, the number of judgments is theirs, whatever the other field has.
        if annotators:
            cleaned["judgments"] = None
        elif not cleaned.get("judgments") and "judgments" not in self.errors:
            self.add_error("judgments", "Set the number of judgments, or choose annotators below.")
        if cleaned.get("sample") and any(cleaned.get(name) for name in self.numbers_by_type):
            self.add_error("sample", "Set a sample size or questions by type, not both.")
        return cleaned

    @property
    def shows_order_and_caps(self) -> bool:
        """Return whether order and caps are unfolded: one has an error, or a cap is set."""
        caps = [self[name] for name in ("max_hits_per_annotator", "max_hits_per_day", "max_share_percent")]
        fields = (self["order"], self["priority"], *caps)
        return any(field.errors for field in fields) or any(cap.value() for cap in caps)

    def selection(self) -> Selection:
        cleaned = self.cleaned_data

        def chosen(name: str) -> tuple[str, ...]:
            return tuple("" if value == NONE else value for value in cleaned.get(name, ()))

        return Selection(
            datasets=chosen("datasets"),
            splits=chosen("splits"),
            sources=chosen("sources"),
            types=chosen("types"),
            questions={
                type_: cleaned[name] for name, type_ in self.numbers_by_type.items() if cleaned[name] is not None
            },
            sample=cleaned["sample"],
            seed=cleaned["seed"],
            with_pairs=cleaned.get("with_pairs", False),
            only_pairs=cleaned.get("only_pairs", False),
        )

    def _find_trial(self) -> Batch | None:
        """Return the trial that the form refers to: the chosen one, or the latest."""
        if not self.cleaned_data.get("use_of_trial"):
            return None
        return self.cleaned_data.get("trial") or trials.list_trials(self.project).first()

    def terms(self) -> Terms:
        cleaned, trial = self.cleaned_data, self._find_trial()
        return Terms(
            name=cleaned["name"],
            kind=Batch.Kind(cleaned["kind"]),
            judgments=cleaned["judgments"],
            annotators=tuple(cleaned["annotators"]),
            requires_qualification=cleaned.get("requires_qualification", True),
            trial=trial,
            use_of_trial=cleaned.get("use_of_trial", "") if trial else "",
            hit_size=cleaned["hit_size"],
            cents_per_hit=cleaned.get("cents_per_hit", 0),
            cents_per_item=cleaned.get("cents_per_item", 0),
            fee_share=float(cleaned.get("fee_percent", 0) / 100),
            is_pay_prorated=SHORT_HITS[cleaned.get("short_hits", "")],
            time_limit_minutes=cleaned["time_limit_minutes"],
            order=Batch.Order(cleaned["order"]),
            priority=cleaned["priority"],
            **self.caps(),
            presentation=Batch.Presentation(cleaned["presentation"] or Batch.Presentation.PAGE),
            must_read_to_end=self.must_read_to_end(),
            controls=self.plan(),
        )


def _format_name(membership: Membership) -> str:
    if membership.user is None:
        return membership.pseudonym
    return f"{membership.user.get_username()} ({membership.pseudonym})"
