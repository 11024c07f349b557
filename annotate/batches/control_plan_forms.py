"""Form fields of a batch's control plan and presentation."""

from dataclasses import asdict
from typing import Any

from django import forms

from annotate.batches.control_plan import MOST_A_HIT, QASCORE, QASCORE_HIT_SIZE, ControlPlan
from annotate.models import Batch
from projects.models import Rubric
from projects.web.forms import EditForm

DEFAULT_PLAN = ControlPlan()
MOST = 1_000
"""Highest interval and distance, in HITs, as `check_plan` has it."""


def _make_field(
    label: str, help_text: str = "", *, low: int = 0, high: int = MOST_A_HIT, **over: Any
) -> forms.IntegerField:
    return forms.IntegerField(label=label, required=False, min_value=low, max_value=high, help_text=help_text, **over)


class PlanForm(EditForm):
    """The numbers of a control plan; an empty field takes the default."""

    known_per_hit = _make_field("Known answers per HIT", "References of the same or of another question.")
    known_hit_every = _make_field("HIT of rated candidates every", "Number of HITs; 0 for never.", high=MOST)
    degraded_per_hit = forms.FloatField(
        label="Degraded answers per HIT",
        required=False,
        min_value=0,
        max_value=MOST_A_HIT,
        help_text="On average. Made from good answers and shown to annotators who rated those.",
    )
    repeats = _make_field(
        "Candidates to repeat",
        "In a separate HIT for one annotator, with further repeats to make it as long as the others.",
    )
    repeats_every = _make_field("HIT of repeats every", "Number of HITs; 0 for no repeats.", high=MOST)
    repeats_per_hit = _make_field("Repeats per HIT", "Only with one item at a time.")
    distance = _make_field("Distance, in HITs", "Minimum, from a candidate to its control.", low=1, high=MOST)
    item_distance = _make_field("Distance, in items", "Within a HIT, with one item at a time.")
    jitter = _make_field("Jitter", "Maximum random shift, in HITs.", low=1, high=MOST)
    control_seed = _make_field("Seed for controls", "The same seed gives the same pool.", high=2**31 - 1)

    def clean(self) -> dict[str, Any]:
        """Place the error of a lone number of repeats at the field of the other, which is still to be set."""
        cleaned = super().clean()
        if not ({"repeats", "repeats_every"} & set(self.errors)):
            if cleaned.get("repeats") and not cleaned.get("repeats_every"):
                self.add_error("repeats_every", "Set how often candidates are repeated, or repeat none.")
            elif cleaned.get("repeats_every") and not cleaned.get("repeats"):
                self.add_error("repeats", "Set how many candidates to repeat, or set how often to 0.")
        return cleaned

    def plan(self) -> ControlPlan:
        given = {name: self.cleaned_data.get(field) for field, name in PLAN_FIELDS.items()}
        return ControlPlan(**{name: value for name, value in given.items() if value is not None})

    @staticmethod
    def initial_plan(plan: ControlPlan) -> dict[str, Any]:
        # 6.0 is shown as 6: only the average of degraded answers may have decimals.
        numbers = asdict(plan)
        return {
            field: int(numbers[name]) if float(numbers[name]).is_integer() else numbers[name]
            for field, name in PLAN_FIELDS.items()
        }


# The seed of a batch's selection is a field of the same form, hence the other name.
PLAN_FIELDS = {name: "seed" if name == "control_seed" else name for name in PlanForm.base_fields}
"""The form field of each number of a plan."""


class PresentationForm(PlanForm):
    """The presentation of a new batch's items, and the controls among them."""

    presentation = forms.ChoiceField(
        label="Presentation",
        choices=[
            (Batch.Presentation.PAGE, "All items on one page"),
            (Batch.Presentation.ONE, "One item at a time, without going back"),
        ],
        initial=Batch.Presentation.PAGE,
        required=False,
        widget=forms.RadioSelect,
    )
    reading = forms.ChoiceField(
        label="Long answers",
        choices=[
            ("end", "Must be read to the end before they are rated"),
            ("free", "Can be rated at once"),
        ],
        initial="end",
        required=False,
        widget=forms.RadioSelect,
        help_text="Applies to answers that are longer than the annotator’s screen.",
    )

    def must_read_to_end(self) -> bool:
        return bool(self.cleaned_data["reading"] != "free")

    @property
    def shows_controls(self) -> bool:
        """Return whether anything differs from the defaults, so that the section is unfolded."""
        # As text, because a bound form has what was typed and an unbound one numbers.
        defaults = self.initial_for(None)
        return any(name in self.errors or str(self[name].value()) != str(value) for name, value in defaults.items())

    @staticmethod
    def initial_for(rubric: Rubric | None) -> dict[str, Any]:
        """Return the initial values that suit the rubric: QAScore's shows one item at a time, with its controls."""
        if rubric is None or rubric.preset != "qascore":
            return {"presentation": Batch.Presentation.PAGE, "reading": "end", **PlanForm.initial_plan(DEFAULT_PLAN)}
        return {
            "presentation": Batch.Presentation.ONE,
            "reading": "end",
            "hit_size": QASCORE_HIT_SIZE,
            **PlanForm.initial_plan(QASCORE),
        }
