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
    return to_do if can_manage else NextStep(to_do.title, "A manager of the project does this.")


def _import(course: Course) -> NextStep | None:
    if course.has_candidates:
        return None
    return NextStep(
        "Import candidates",
        "There is nothing to judge yet. A file holds passages, questions, references and candidates.",
        reverse("annotate:import-new", args=[course.project.slug]),
        "Import a file",
    )


def _end_trial(course: Course) -> NextStep | None:
    trial = course.newest_trial
    if trial is None or trial not in course.live:
        return None
    return NextStep(
        f"Close “{trial.name}”",
        "The trial has all its judgments. Close it and read its results, then the full collection can open.",
        reverse("annotate:batch-show", args=[course.project.slug, trial.number]),
        "Look at the trial",
    )


def _plan_collection(course: Course) -> NextStep | None:
    trial = course.newest_trial
    if trial is None or any(batch.kind == Batch.Kind.FULL for batch in course.batches):
        return None
    return NextStep(
        "Read the trial’s results",
        "Where annotators differ, say more in the instructions. Then plan the full collection.",
        reverse("results:batch-results", args=[course.project.slug, trial.number]),
        "Read the results",
    )


def _open_draft(course: Course) -> NextStep | None:
    if course.draft is None:
        return None
    return NextStep(
        f"Open “{course.draft.name}”",
        "The batch is a draft: nobody is served its HITs until it is opened.",
        reverse("annotate:batch-show", args=[course.project.slug, course.draft.number]),
        "Look at the batch",
    )


def _make_batch(course: Course) -> NextStep | None:
    if course.batches:
        return None
    return NextStep(
        "Make a batch",
        "Choose candidates and how often each is to be judged; you see the HITs and hours before it is made.",
        reverse("annotate:batch-new", args=[course.project.slug]),
        "Make a batch",
    )


def _invite(course: Course) -> NextStep | None:
    if course.n_annotators or not course.live:
        return None
    return NextStep(
        "Invite annotators",
        "A batch is open and nobody can work on it yet.",
        reverse("projects:invitation-new", args=[course.project.slug]),
        "Invite people",
    )


def _wait(course: Course) -> NextStep | None:
    n_left = course.n_left(course.live)
    if not n_left:
        return None
    if all(batch.state == State.PAUSED for batch in course.live):
        return NextStep("The work is paused", "Nobody is served a HIT until a batch is opened again.")
    at_work = next(batch for batch in course.live if course.progress[batch.pk].n_left)
    return NextStep(
        "Annotators are at work",
        plural(
            n_left,
            "%(n_left)s assignment is not submitted yet.",
            "%(n_left)s assignments are not submitted yet.",
        )
        % {"n_left": format_number(n_left)},
        reverse("annotate:batch-show", args=[course.project.slug, at_work.number]),
        "Look at the batch",
    )


def _read_agreement(course: Course) -> NextStep:
    is_short = not course.live and course.n_left(course.collecting)
    return NextStep(
        "Read the agreement",
        "No batch is open any more." if is_short else "The judgments asked for are in.",
        reverse("results:agreement", args=[course.project.slug]),
        "See how far annotators agree",
    )
