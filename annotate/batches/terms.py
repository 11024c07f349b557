"""Terms: the settings of a batch, completed from the project's settings and checked."""

from dataclasses import dataclass, field, replace
from typing import Any

from annotate.batches import trials
from annotate.batches.control_plan import ControlPlan, check_plan
from annotate.models import Batch
from annotate.models.overlap_plan import OverlapPlan
from projects.errors import Refused
from projects.language.amounts import format_number
from projects.models import Membership, Project
from projects.rubric.rubrics import current_rubric

KINDS_THAT_RATE = (Membership.Kind.PERSON, Membership.Kind.SIMULATED)
"""The kinds of annotators who take HITs; the others are the authors of imported judgments."""
MAX_JUDGMENTS = 1_000
"""Of one candidate. It stops a slip of the keyboard, which would cost as much as it says."""
RANGES: dict[str, tuple[float, float]] = {
    "judgments": (1, MAX_JUDGMENTS),
    "hit_size": (1, 100),
    "cents_per_hit": (0, 100_000),
    "cents_per_item": (0, 100_000),
    "fee_share": (0, 1),
    "time_limit_minutes": (1, 60 * 24 * 14),
    "max_hits_per_annotator": (1, 2**31 - 1),
    "max_hits_per_day": (1, 2**31 - 1),
    "max_share": (0.000_1, 1),
    "priority": (-100, 100),
}
"""The minimum and maximum of each numeric term, generous enough for any real study and small enough to catch typos."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The settings of a batch. None takes the project's setting; with chosen annotators, judgments is their number."""

    name: str = ""
    kind: Batch.Kind = Batch.Kind.FULL
    judgments: int | None = None
    hit_size: int | None = None
    cents_per_hit: int | None = None
    cents_per_item: int | None = None
    fee_share: float | None = None
    is_pay_prorated: bool | None = None
    """Whether short HITs pay their share; None if only where annotators get personal HITs."""
    time_limit_minutes: int | None = None
    order: Batch.Order = Batch.Order.BREADTH
    priority: int = 0
    max_hits_per_annotator: int | None = None
    max_hits_per_day: int | None = None
    max_share: float | None = None
    annotators: tuple[Membership, ...] = ()
    requires_qualification: bool = True
    trial: Batch | None = None
    use_of_trial: str = ""
    plan: OverlapPlan | None = None
    presentation: Batch.Presentation = Batch.Presentation.PAGE
    must_read_to_end: bool = True
    controls: ControlPlan = field(default_factory=ControlPlan)

    def fields(self) -> dict[str, Any]:
        """Return the batch fields of terms that `check_terms` has completed."""
        return {name: getattr(self, name) for name in _COLUMNS} | {"control_plan": self.controls.as_json()}


# The terms that are columns of a batch under the same name.
_COLUMNS = (
    *("kind", "judgments", "hit_size", "presentation", "must_read_to_end", "order", "priority"),
    "requires_qualification",
    *("max_hits_per_annotator", "max_hits_per_day", "max_share", "trial", "use_of_trial", "plan"),
    *("cents_per_hit", "cents_per_item", "fee_share", "is_pay_prorated", "time_limit_minutes"),
)


def check_terms(project: Project, terms: Terms) -> Terms:
    """Return the terms completed from the project's settings. Raises Refused for impossible ones."""
    judgments = terms.judgments
    if terms.annotators:
        judgments = _check_named(project, terms)
    if judgments is None:
        raise Refused("Set the number of judgments per candidate.", field="judgments")
    filled = replace(
        terms,
        judgments=judgments,
        hit_size=project.hit_size if terms.hit_size is None else terms.hit_size,
        cents_per_hit=project.cents_per_hit if terms.cents_per_hit is None else terms.cents_per_hit,
        cents_per_item=project.cents_per_item if terms.cents_per_item is None else terms.cents_per_item,
        fee_share=project.fee_share if terms.fee_share is None else terms.fee_share,
        is_pay_prorated=(
            terms.controls.makes_personal_hits(terms.presentation)
            if terms.is_pay_prorated is None
            else terms.is_pay_prorated
        ),
        time_limit_minutes=(
            project.time_limit_minutes if terms.time_limit_minutes is None else terms.time_limit_minutes
        ),
    )
    _check_ranges(filled)
    trials.check_use(
        project, kind=filled.kind, trial=filled.trial, use=filled.use_of_trial, rubric=current_rubric(project)
    )
    return filled


def require_completed(value: int | None) -> int:
    """Return a term that `check_terms` has completed, which is never None. It tells the type checker so."""
    assert value is not None
    return value


def _check_named(project: Project, terms: Terms) -> int:
    for person in terms.annotators:
        is_of_project = person.project_id == project.pk and person.kind in KINDS_THAT_RATE
        if not (is_of_project and person.is_annotator and person.is_active):
            raise Refused(
                f"{person.pseudonym} is not an active annotator of this project.",
                field="annotators",
            )
    n_named = len({person.pk for person in terms.annotators})
    if n_named < len(terms.annotators):
        raise Refused("An annotator is listed twice.", field="annotators")
    if terms.judgments is not None and terms.judgments != n_named:
        raise Refused(
            f"Each of the {n_named} chosen annotators rates everything, so each candidate gets {n_named} "
            f"judgments, not {terms.judgments}."
        )
    if terms.use_of_trial == Batch.UseOfTrial.COUNT:
        raise Refused(
            "Each chosen annotator rates everything, so the trial’s judgments can’t be counted. Exclude its "
            "candidates or collect them again."
        )
    if terms.max_hits_per_annotator is not None or terms.max_share is not None:
        raise Refused("Each chosen annotator rates everything, so limits don’t apply.")
    return n_named


def _check_ranges(terms: Terms) -> None:
    sentences = {
        "judgments": f"Set 1 to {format_number(MAX_JUDGMENTS)} judgments per candidate.",
        "hit_size": "Set a HIT size of 1 to 100 candidates.",
        "cents_per_hit": "Set a pay of 0 to 100,000 cents per HIT.",
        "cents_per_item": "Set a pay of 0 to 100,000 cents per item.",
        "fee_share": "Set a platform fee from 0 to 1 (100 %).",
        "time_limit_minutes": "Set a time limit from 1 minute to 2 weeks.",
        "max_hits_per_annotator": "Set a maximum of at least 1 HIT per annotator.",
        "max_hits_per_day": "Set a maximum of at least 1 HIT per annotator per day.",
        "max_share": "Set a maximum share above 0, up to 1 (100 %).",
        "priority": "Set a priority from -100 to 100.",
    }
    values = {name: getattr(terms, name) for name in RANGES if getattr(terms, name) is not None}
    wrong = [name for name, value in values.items() if not RANGES[name][0] <= value <= RANGES[name][1]]
    if wrong:
        raise Refused(sentences[wrong[0]], field=wrong[0], details=[sentences[name] for name in wrong[1:]])
    check_plan(terms.controls, presentation=terms.presentation, hit_size=require_completed(terms.hit_size))
