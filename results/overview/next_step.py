"""The next step of a project: the first thing that is missing, in the order of the work."""

from dataclasses import dataclass

from django.urls import reverse

from annotate.batches.progress import Progress
from annotate.models import Batch
from annotate.moderation.decisions import Undecided
from projects.language.amounts import format_number, plural
from projects.models import Project
from results.overview.lacking_candidates import LackingCandidates

State = Batch.State


@dataclass(frozen=True)
class NextStep:
    """What has to happen next, and the page where it is done."""

    title: str
    text: str
    url: str = ""
    action: str = ""


@dataclass(frozen=True)
class ProjectState:
    """What there is to choose the next step from; `batches` are those that are not archived, the newest first."""

    project: Project
    has_candidates: bool
    has_rubric: bool
    n_annotators: int
    batches: list[Batch]
    progress: dict[int, Progress]
    stuck: dict[int, int]
    lacking: LackingCandidates
    n_counted: int
    has_archive: bool
    is_paid: bool
    undecided: Undecided

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
        # Batches come newest first.
        return next((batch for batch in self.collecting if batch.kind == Batch.Kind.TRIAL), None)

    @property
    def is_all_stuck(self) -> bool:
        """Whether assignments of open batches are left, nobody is at work, and no active annotator can take any."""
        n_left = self.n_left(self.opened)
        return bool(n_left) and n_left == sum(self.stuck.get(batch.pk, 0) for batch in self.opened)

    @property
    def opened(self) -> list[Batch]:
        return [batch for batch in self.live if batch.state == State.OPEN]

    def n_left(self, batches: list[Batch]) -> int:
        return sum(self.progress[batch.pk].n_left for batch in batches)


def find_next_step(state: ProjectState, *, can_manage: bool) -> NextStep:
    """Return what a manager has to do or, failing that, what the project waits for; only managers get the link."""
    # While annotators still work on the open batches, that comes before what follows them, even if a draft waits.
    to_do = _import_candidates(state) or _define_rubric(state) or _make_batch(state) or _invite(state)
    # People wait for their pay; without pay, nothing depends on the approval.
    if to_do is None and state.is_paid:
        to_do = _approve(state)
    if to_do is None and (waits := _wait_for_annotators(state)) is not None:
        return waits
    to_do = to_do or _end_trial(state) or _open_draft(state) or _plan_collection(state) or _collect_missing(state)
    to_do = to_do or _approve(state)
    if to_do is None:
        return _read_agreement(state)
    return to_do if can_manage else _wait_for_manager(state, to_do)


def _wait_for_manager(state: ProjectState, to_do: NextStep) -> NextStep:
    """Return the step of a researcher while a manager has something to do: the results so far, if there are any."""
    if not state.n_counted:
        return NextStep(to_do.title, "A manager of the project has to do this.")
    counted = plural(state.n_counted, "{n} judgment counts", "{n} judgments count").format(
        n=format_number(state.n_counted)
    )
    return NextStep(
        "Check agreement",
        f"{counted} so far. Next step for a manager: {to_do.title}.",
        reverse("results:agreement", args=[state.project.slug]),
        "Show agreement",
    )


def _collect_missing(state: ProjectState) -> NextStep | None:
    lack = state.lacking
    if not lack.n_candidates or lack.batch_number is None:
        return None
    # Batches may ask for different numbers; then none of them is right for all candidates.
    wanted = lack.most_wanted if lack.least_wanted == lack.most_wanted else 0
    fewer = plural(wanted, "fewer than {n} judgment", "fewer than {n} judgments").format(n=wanted)
    have = plural(lack.n_candidates, "{n} candidate has", "{n} candidates have").format(
        n=format_number(lack.n_candidates)
    )
    reasons = (
        (lack.n_closed, "in batches that were closed with unfilled assignments"),
        (lack.n_excluded, "with excluded work that nobody redoes"),
        (lack.n_set_aside, "with judgments that were set aside"),
    )
    why = "; ".join(f"{format_number(n)} {reason}" for n, reason in reasons if n)
    return NextStep(
        "Collect missing judgments",
        f"{have} {fewer if wanted else 'fewer judgments than requested'}: {why}. Reopen the batch, raise its number of "
        "judgments, or let an overlap plan collect them.",
        reverse("annotate:batch-show", args=[state.project.slug, lack.batch_number]),
        "Open batch page",
    )


def _import_candidates(state: ProjectState) -> NextStep | None:
    if state.has_candidates:
        return None
    return NextStep(
        "Import candidates",
        "No data yet. Import a file with passages, questions, references and candidates.",
        reverse("annotate:import-new", args=[state.project.slug]),
        "Import file",
    )


def _end_trial(state: ProjectState) -> NextStep | None:
    trial = state.newest_trial
    if trial is None or trial not in state.live:
        return None
    return NextStep(
        f"Close “{trial.name}”",
        "The trial is complete. Close it, read its results, then open the full collection.",
        reverse("annotate:batch-show", args=[state.project.slug, trial.number]),
        "Open trial",
    )


def _plan_collection(state: ProjectState) -> NextStep | None:
    trial = state.newest_trial
    if trial is None or any(batch.kind == Batch.Kind.FULL for batch in state.batches):
        return None
    return NextStep(
        "Read the trial results",
        "Clarify the instructions where annotators differ. Then plan the full collection.",
        reverse("results:batch-results", args=[state.project.slug, trial.number]),
        "Read results",
    )


def _open_draft(state: ProjectState) -> NextStep | None:
    if state.draft is None:
        return None
    return NextStep(
        f"Open “{state.draft.name}”",
        "The batch is a draft and not visible to annotators until you open it.",
        reverse("annotate:batch-show", args=[state.project.slug, state.draft.number]),
        "Open batch page",
    )


def _needs_batch(state: ProjectState) -> bool:
    return not state.batches and not (state.has_archive and state.n_counted)


def _define_rubric(state: ProjectState) -> NextStep | None:
    if state.has_rubric or not _needs_batch(state):
        return None
    return NextStep(
        "Define the rubric",
        "Annotators rate candidates on the criteria of the rubric. Choose a preset or define your own.",
        reverse("projects:rubric-show", args=[state.project.slug]),
        "Go to Rubric",
    )


def _make_batch(state: ProjectState) -> NextStep | None:
    if not _needs_batch(state):
        return None
    return NextStep(
        "Create a batch",
        "Select candidates and the number of judgments for each. HITs and hours are estimated before you create it.",
        reverse("annotate:batch-new", args=[state.project.slug]),
        "Create a batch",
    )


def _invite(state: ProjectState) -> NextStep | None:
    if state.n_annotators or not state.live:
        return None
    return NextStep(
        "Invite annotators",
        "A batch is open, but there are no annotators yet.",
        reverse("projects:invitation-new", args=[state.project.slug]),
        "Invite people",
    )


def _wait_for_annotators(state: ProjectState) -> NextStep | None:
    n_left = state.n_left(state.live)
    if not n_left:
        return None
    unfinished = [batch for batch in state.live if state.progress[batch.pk].n_left]
    # An open batch with nothing left keeps nobody at work.
    if all(batch.state == State.PAUSED for batch in unfinished):
        return NextStep("Work is paused", "Annotators receive no HITs until a batch is reopened.")
    at_work = next(batch for batch in unfinished if batch.state == State.OPEN)
    if state.is_all_stuck:
        n_left = state.n_left(state.opened)
        has_begun = any(state.progress[batch.pk].n_done for batch in state.live)
        return NextStep(
            "No one can take what is left" if has_begun else "No one can take the HITs yet",
            plural(
                n_left,
                "{n} assignment remains. The batch page says why no one can take it.",
                "{n} assignments remain. The batch page says why no one can take them.",
            ).format(n=format_number(n_left)),
            reverse("annotate:batch-show", args=[state.project.slug, at_work.number]),
            "Open batch page",
        )
    return NextStep(
        "Annotation in progress",
        plural(
            n_left,
            "%(n_left)s assignment remaining.",
            "%(n_left)s assignments remaining.",
        )
        % {"n_left": format_number(n_left)},
        reverse("annotate:batch-show", args=[state.project.slug, at_work.number]),
        "Open batch page",
    )


def _approve(state: ProjectState) -> NextStep | None:
    """Return the approval of what waits for it; automatic approval leaves only the work of inactive annotators."""
    is_automatic = state.project.approve_after_days is not None
    n_absent = state.undecided.n_absent
    n = 0 if is_automatic else state.undecided.n - n_absent
    if not n and not n_absent:
        return None
    address = reverse("annotate:submitted-list", args=[state.project.slug])
    n_left = state.n_left(state.live)
    remaining = plural(n_left, " {n} assignment remaining.", " {n} assignments remaining.") if n_left else ""
    remaining = remaining.format(n=format_number(n_left))
    if not n:
        waiting = plural(n_absent, "{n} submission", "{n} submissions").format(n=format_number(n_absent))
        verb = plural(n_absent, "is", "are")
        left = "Automatic approval leaves it to you." if n_absent == 1 else "Automatic approval leaves them to you."
        return NextStep(
            f"Decide on {waiting}",
            f"{waiting} of suspended or removed annotators {verb} awaiting a decision."
            f"{f' {left}' if is_automatic else ''}{remaining}",
            f"{address}?state=submitted&inactive=1",
            "Show submissions",
        )
    waiting = plural(n, "{n} submission", "{n} submissions").format(n=format_number(n))
    others = plural(n_absent, "{n} more is", "{n} more are").format(n=format_number(n_absent))
    return NextStep(
        f"Approve {waiting}",
        f"{waiting} {plural(n, 'is', 'are')} awaiting approval."
        f"{f' {others} of suspended or removed annotators.' if n_absent else ''}{remaining}",
        f"{address}?state=submitted",
        "Show submissions",
    )


def _read_agreement(state: ProjectState) -> NextStep:
    if state.batches:
        done = "All requested judgments are complete." if state.collecting else "All judgments were imported."
    else:
        count = plural(state.n_counted, "{n} judgment counts", "{n} judgments count")
        done = f"All batches are archived. {count.format(n=format_number(state.n_counted))}."
    return NextStep(
        "Check agreement",
        done,
        reverse("results:agreement", args=[state.project.slug]),
        "Show agreement",
    )
