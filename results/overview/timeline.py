"""The timeline of a project: how far each stage is, how fast it goes, and what it pays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, Q

from annotate.batches.control_plan import ControlPlan
from annotate.batches.costs import Rates
from annotate.batches.progress import Progress, Speed, measure_common_speed
from annotate.models import Attempt, Batch, Panel, QualificationItem, QualificationTest
from annotate.payments import ledger
from projects.models import Project

KINDS = (Batch.Kind.TRIAL, Batch.Kind.FULL)


@dataclass(frozen=True)
class StageProgress:
    """How many people took the qualification test, and how many of them passed."""

    n_people: int
    n_passed: int


@dataclass(frozen=True)
class Pay:
    """Cents of a stage: earned so far by state of payment, and an estimate for the judgments still wanted."""

    sums: ledger.Sums
    to_come: int = 0
    """What the project itself will owe, or owe at most (`is_most`)."""
    is_most: bool = False
    others: str = ""
    """Who else pays for what is left, such as Prolific; empty where the project pays for all of it."""
    is_credit: bool = False
    """Whether the others pay in credit alone."""


@dataclass(frozen=True)
class StageLine:
    """One stage: test or HITs, `speed` while it is collecting, `pay` for those who may see the project's money.

    The speed's hours left are those without `n_stuck`, the open assignments that no one can take.
    """

    label: str
    taken: StageProgress | None = None
    progress: Progress | None = None
    is_live: bool = False
    n_stuck: int = 0
    speed: Speed | None = None
    pay: Pay | None = None


@dataclass(frozen=True)
class Timeline:
    """The stages that have begun and, for managers of a project that pays, the money of all of them."""

    stages: tuple[StageLine, ...]
    money: ledger.Sums | None = None
    floor_cents: int | None = None
    has_panel_pay: bool = False
    """Whether platforms pay, too, which is not in the money."""

    @property
    def is_under_floor(self) -> bool:
        return self.money is not None and self.money.hourly.is_under(self.floor_cents)


@dataclass(frozen=True)
class Payers:
    """Who pays people besides the project, and whether the project pays any annotator."""

    others: str = ""
    is_credit: bool = False
    """Whether the others pay in credit alone, as SONA does where it has no reward."""
    pays_own: bool = True
    has_panel_pay: bool = False
    """Whether a platform pays money, or has."""


def build_timeline(
    project: Project,
    batches: Sequence[Batch],
    progress: Mapping[int, Progress],
    *,
    stuck: Mapping[int, int],
    has_money: bool,
) -> Timeline:
    """Return the stages so far. The batches are all of the project's, with their progress and stuck assignments.

    What people earn is for managers of a project that pays (`has_money`): researchers see progress alone.

    A stage begins with its first batch that was opened, the qualification with its test.
    """
    sums = {stage.key: stage.sums for stage in ledger.sum_by_stage(project)} if has_money else {}
    payers = _find_payers(project) if has_money else Payers()
    stages = [_make_qualification_stage(project, sums if has_money else None)]
    for kind in KINDS:
        begun = [batch for batch in batches if batch.kind == kind and batch.state != Batch.State.DRAFT]
        pay = _estimate_pay(begun, progress, sums.get(kind, ledger.Sums()), payers) if has_money else None
        stages.append(_make_collection_stage(kind, begun, progress, stuck, pay) if begun else None)
    return Timeline(
        stages=tuple(stage for stage in stages if stage is not None),
        money=sum(sums.values(), ledger.Sums()) if has_money else None,
        floor_cents=project.hourly_floor_cents,
        has_panel_pay=payers.has_panel_pay,
    )


def _make_qualification_stage(project: Project, sums: dict[str, ledger.Sums] | None) -> StageLine | None:
    taken = Q(attempts__purpose=QualificationItem.Purpose.TEST, attempts__finished_at__isnull=False)
    test = (
        QualificationTest.objects.filter(project=project)
        .exclude(state=QualificationTest.State.DRAFT)
        .annotate(
            n_people=Count("attempts__annotator", distinct=True, filter=taken),
            n_passed=Count(
                "attempts__annotator", distinct=True, filter=taken & Q(attempts__state=Attempt.State.PASSED)
            ),
        )
        .first()
    )
    if test is None:
        return None
    return StageLine(
        label=str(ledger.STAGES["qualification"]),
        taken=StageProgress(n_people=test.n_people, n_passed=test.n_passed),
        is_live=test.state == QualificationTest.State.OPEN,
        pay=None if sums is None else Pay(sums.get("qualification", ledger.Sums())),
    )


def _make_collection_stage(
    kind: Batch.Kind,
    batches: list[Batch],
    progress: Mapping[int, Progress],
    stuck: Mapping[int, int],
    pay: Pay | None,
) -> StageLine:
    whole = sum((progress[batch.pk] for batch in batches), Progress())
    live = _list_live(batches)
    n_stuck = sum(stuck.get(batch.pk, 0) for batch in live)
    n_to_do = sum(progress[batch.pk].n_left for batch in live) - n_stuck
    return StageLine(
        label=str(ledger.STAGES[kind]),
        progress=whole,
        is_live=bool(live),
        n_stuck=n_stuck,
        speed=measure_common_speed(live, n_to_do) if live else None,
        pay=pay,
    )


def _list_live(batches: Sequence[Batch]) -> list[Batch]:
    return [batch for batch in batches if batch.state in (Batch.State.OPEN, Batch.State.PAUSED)]


def _find_payers(project: Project) -> Payers:
    """Return who pays for the work that is left: the platforms of open panels, the project, or both."""
    own = project.memberships.people().active().annotators().filter(is_paid_elsewhere=False)
    panels = list(
        project.panels.filter(paid_by=Panel.Payer.PLATFORM)
        .order_by()
        .values_list("platform", "reward_cents", "ended_at", Exists(own))
    )
    has_panel_pay = any(reward for _, reward, _, _ in panels)
    rewards = [(Panel.Platform(platform), reward) for platform, reward, ended_at, _ in panels if ended_at is None]
    platforms = {platform for platform, _ in rewards}
    if not platforms:
        return Payers(has_panel_pay=has_panel_pay)
    (platform, *more) = platforms
    is_known = not more and platform != Panel.Platform.GENERIC
    return Payers(
        others=str(platform.label) if is_known else "the platform",
        is_credit=platforms == {Panel.Platform.SONA} and not any(reward for _, reward in rewards),
        pays_own=panels[0][-1],  # the same in every row: asked with them, it takes no statement of its own
        has_panel_pay=has_panel_pay,
    )


def _estimate_pay(batches: Sequence[Batch], progress: Mapping[int, Progress], sums: ledger.Sums, payers: Payers) -> Pay:
    """Return a stage's pay. Participants of panels get no batch that names its annotators: the project pays for it."""
    named, shared = 0, 0
    others = ""
    for batch in _list_live(batches):
        cents = _estimate_rest(batch, progress[batch.pk])
        if batch.has_named_annotators or not payers.others:
            named += cents
        elif progress[batch.pk].n_left:
            shared += cents if payers.pays_own else 0
            others = payers.others
    is_most = shared > 0 and bool(others)
    return Pay(sums, named + shared, is_most=is_most, others=others, is_credit=bool(others) and payers.is_credit)


def _estimate_rest(batch: Batch, progress: Progress) -> int:
    """Return the estimated cents of the places left, at the mean number of items per HIT, with its controls."""
    # HITs differ in size, and which are left changes all the time, so each counts as a mean one.
    items = batch.n_items / batch.n_hits if batch.n_hits else 0
    items += ControlPlan.read(batch.control_plan).count_in_hit(batch.presentation)
    return round(progress.n_left * Rates.of_batch(batch).expect_pay(items))
