"""The state of a project on one page: what there is, how far the batches are, what to do next."""

from dataclasses import dataclass

from django.db import connection
from django.urls import reverse

from annotate.models import Batch
from annotate.progress import Progress, progress_of
from projects.models import Candidate, Membership, Passage, Project, Question, Reference

MOST_BATCHES = 10
State = Batch.State

_JUDGMENTS = """
SELECT j.not_counted_reason, count(*) FROM annotate_judgment j
WHERE j.candidate_id IS NOT NULL AND j.criterion_id IN (
    SELECT cr.id FROM projects_criterion cr JOIN projects_rubric r ON r.id = cr.rubric_id WHERE r.project_id = %s)
GROUP BY 1 ORDER BY 1
"""


@dataclass(frozen=True)
class JudgmentCounts:
    """Judgments of candidates: those that count, and those that do not, by reason."""

    n_counted: int
    not_counted: tuple[tuple[str, int], ...]

    @property
    def n_not_counted(self) -> int:
        return sum(n for _, n in self.not_counted)

    @property
    def n_total(self) -> int:
        return self.n_counted + self.n_not_counted


@dataclass(frozen=True)
class DataCounts:
    """How much there is to judge."""

    passages: int
    questions: int
    references: int
    candidates: int
    datasets: int


@dataclass(frozen=True)
class NextStep:
    """What the project waits for, and where that is done."""

    title: str
    text: str
    url: str = ""
    action: str = ""


@dataclass(frozen=True)
class Overview:
    """Everything the overview shows."""

    data: DataCounts
    judgments: JudgmentCounts
    batches: tuple[tuple[Batch, Progress], ...]
    n_batches: int
    n_annotators: int
    n_simulated: int
    next_step: NextStep

    @property
    def annotators_note(self) -> str:
        note = "people who may work now"
        return f"{note}; and {self.n_simulated} simulated" if self.n_simulated else note


def make_overview(project: Project, *, can_manage: bool) -> Overview:
    """Count what the project holds and say what comes next; managers get the way there."""
    data = count_data(project)
    batches = list(project.batches.exclude(state=State.ARCHIVED).order_by("-number"))
    shown = batches[:MOST_BATCHES]
    progress = progress_of(batches)
    active = Membership.objects.filter(project=project).active().annotators()
    annotators = active.people().count()
    return Overview(
        data=data,
        judgments=count_judgments(project),
        batches=tuple((batch, progress[batch.pk]) for batch in shown),
        n_batches=len(batches),
        n_annotators=annotators,
        n_simulated=active.filter(kind=Membership.Kind.SIMULATED).count(),
        next_step=_next_step(project, data, batches, progress, annotators, can_manage=can_manage),
    )


def count_judgments(project: Project) -> JudgmentCounts:
    with connection.cursor() as cursor:
        cursor.execute(_JUDGMENTS, [project.pk])
        counts = dict(cursor.fetchall())
    return JudgmentCounts(counts.pop("", 0), tuple(counts.items()))


def count_data(project: Project) -> DataCounts:
    return DataCounts(
        datasets=project.datasets.count(),
        passages=Passage.objects.filter(dataset__project=project).count(),
        questions=Question.objects.filter(dataset__project=project).count(),
        references=Reference.objects.filter(question__dataset__project=project).count(),
        candidates=Candidate.objects.filter(dataset__project=project).count(),
    )


def _next_step(
    project: Project,
    data: DataCounts,
    batches: list[Batch],
    progress: dict[int, Progress],
    n_annotators: int,
    *,
    can_manage: bool,
) -> NextStep:
    """The first thing that is missing, in the order of the work."""
    collecting = [batch for batch in batches if batch.kind != Batch.Kind.IMPORTED]
    live = [batch for batch in collecting if batch.state in (State.OPEN, State.PAUSED)]
    n_left = sum(progress[batch.pk].n_left for batch in live)
    draft = next((batch for batch in collecting if batch.state == State.DRAFT), None)
    agreement = reverse("results:agreement", args=[project.slug])
    if not data.candidates:
        step = NextStep(
            "Import candidates",
            "There is nothing to judge yet. A file holds passages, questions, references and candidates.",
            reverse("annotate:import-new", args=[project.slug]),
            "Import a file",
        )
    elif draft and not live:
        step = NextStep(
            f"Open “{draft.name}”",
            "The batch is a draft: nobody is served its HITs until it is opened.",
            reverse("annotate:batch-show", args=[project.slug, draft.number]),
            "Look at the batch",
        )
    elif not collecting and not batches:
        step = NextStep(
            "Make a batch",
            "Choose candidates and how often each is to be judged; you see HITs, money and hours before it is made.",
            reverse("annotate:batch-new", args=[project.slug]),
            "Make a batch",
        )
    elif live and not n_annotators:
        step = NextStep(
            "Invite annotators",
            "A batch is open and nobody can work on it yet.",
            reverse("projects:invitation-new", args=[project.slug]),
            "Invite people",
        )
    elif live and n_left:
        paused = [batch for batch in live if batch.state == State.PAUSED]
        if len(paused) == len(live):
            return NextStep("The work is paused", "Nobody is served a HIT until a batch is opened again.")
        at_work = next(batch for batch in live if progress[batch.pk].n_left)
        return NextStep(
            "Annotators are at work",
            f"{n_left:,} assignments are still to be handed in.",
            reverse("annotate:batch-show", args=[project.slug, at_work.number]),
            "Look at the batch",
        )
    else:
        return NextStep(
            "Read the agreement", "The judgments asked for are in.", agreement, "See how far annotators agree"
        )
    return step if can_manage else NextStep(step.title, "A manager of the project does this.")
