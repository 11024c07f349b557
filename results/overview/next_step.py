"""The next step of a project: the first thing that is missing, in the order of the work."""

from dataclasses import dataclass

from django.urls import reverse

from annotate.batches.progress import Progress
from annotate.models import Batch
from projects.language.amounts import format_number, plural
from projects.models import Project

State = Batch.State


@dataclass(frozen=True)
class NextStep:
    """What the project waits for, and where that is done."""

    title: str
    text: str
    url: str = ""
    action: str = ""


@dataclass(frozen=True)
class Course:
    """How far the work has come; the batches are those that are not archived, the newest first."""

    project: Project
    has_candidates: bool
    n_annotators: int
    batches: list[Batch]
    progress: dict[int, Progress]

    @property
    def collecting(self) -> list[Batch]:
        return [batch for batch in self.batches if batch.kind != Batch.Kind.IMPORTED]

    @property
    def live(self) -> list[Batch]:
        return [batch for batch in self.collecting if batch.state in (State.OPEN, State.PAUSED)]

    @property
    def draft(self) -> Batch | None:
        return next((batch for batch in self.collecting if batch.state == State.DRAFT), None)

    @property
    def newest_trial(self) -> Batch | None:
        return next((batch for batch in self.collecting if batch.kind == Batch.Kind.TRIAL), None)

    def n_left(self, batches: list[Batch]) -> int:
        return sum(self.progress[batch.pk].n_left for batch in batches)


def find_next_step(course: Course, *, can_manage: bool) -> NextStep:
    """What managers have to do, else what everybody waits for; only managers are shown the way to their own part."""
    to_do = _import(course) or _make_batch(course) or _invite(course)
    if to_do is None and (waits := _wait(course)) is not None:
        return waits
    to_do = to_do or _end_trial(course) or _open_draft(course) or _plan_collection(course)
    if to_do is None:
        return _read_agreement(course)
    return to_do if can_manage else NextStep(to_do.title, "A manager of the project has to do this.")


def _import(course: Course) -> NextStep | None:
    if course.has_candidates:
        return None
    return NextStep(
        "Import candidates",
        "No data yet. Import a file with passages, questions, references and candidates.",
        reverse("annotate:import-new", args=[course.project.slug]),
        "Import file",
    )


def _end_trial(course: Course) -> NextStep | None:
    trial = course.newest_trial
    if trial is None or trial not in course.live:
        return None
    return NextStep(
        f"Close “{trial.name}”",
        "The trial is complete. Close it, read its results, then open the full collection.",
        reverse("annotate:batch-show", args=[course.project.slug, trial.number]),
        "Open trial",
    )


def _plan_collection(course: Course) -> NextStep | None:
    trial = course.newest_trial
    if trial is None or any(batch.kind == Batch.Kind.FULL for batch in course.batches):
        return None
    return NextStep(
        "Read the trial results",
        "Clarify the instructions where annotators differ. Then plan the full collection.",
        reverse("results:batch-results", args=[course.project.slug, trial.number]),
        "Read results",
    )


def _open_draft(course: Course) -> NextStep | None:
    if course.draft is None:
        return None
    return NextStep(
        f"Open “{course.draft.name}”",
        "The batch is a draft and not visible to annotators until you open it.",
        reverse("annotate:batch-show", args=[course.project.slug, course.draft.number]),
        "Open batch page",
    )


def _make_batch(course: Course) -> NextStep | None:
    if course.batches:
        return None
    return NextStep(
        "Create a batch",
        "Select candidates and the number of judgments for each. HITs and hours are estimated before you create it.",
        reverse("annotate:batch-new", args=[course.project.slug]),
        "Create a batch",
    )


def _invite(course: Course) -> NextStep | None:
    if course.n_annotators or not course.live:
        return None
    return NextStep(
        "Invite annotators",
        "A batch is open, but there are no annotators yet.",
        reverse("projects:invitation-new", args=[course.project.slug]),
        "Invite people",
    )


def _wait(course: Course) -> NextStep | None:
    n_left = course.n_left(course.live)
    if not n_left:
        return None
    if all(batch.state == State.PAUSED for batch in course.live):
        return NextStep("Work is paused", "Annotators receive no HITs until a batch is reopened.")
    at_work = next(batch for batch in course.live if course.progress[batch.pk].n_left)
    return NextStep(
        "Annotation in progress",
        plural(
            n_left,
            "%(n_left)s assignment remaining.",
            "%(n_left)s assignments remaining.",
        )
        % {"n_left": format_number(n_left)},
        reverse("annotate:batch-show", args=[course.project.slug, at_work.number]),
        "Open batch page",
    )


def _read_agreement(course: Course) -> NextStep:
    is_short = not course.live and course.n_left(course.collecting)
    return NextStep(
        "Check agreement",
        "No batch is open." if is_short else "All requested judgments are complete.",
        reverse("results:agreement", args=[course.project.slug]),
        "Show agreement",
    )
