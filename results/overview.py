"""The state of a project on one page: what there is, how far the batches are, what to do next."""

from dataclasses import dataclass

from django.db import connection

from annotate.models import Batch
from annotate.progress import Progress, progress_of
from projects.models import Candidate, Membership, Passage, Project, Question, Reference
from results.next_step import Course, NextStep, find_next_step

MOST_BATCHES = 10

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
    batches = list(project.batches.exclude(state=Batch.State.ARCHIVED).order_by("-number"))
    progress = progress_of(batches)
    active = Membership.objects.filter(project=project).active().annotators()
    n_annotators = active.people().count()
    course = Course(project, bool(data.candidates), n_annotators, batches, progress)
    return Overview(
        data=data,
        judgments=count_judgments(project),
        batches=tuple((batch, progress[batch.pk]) for batch in batches[:MOST_BATCHES]),
        n_batches=project.batches.count(),
        n_annotators=n_annotators,
        n_simulated=active.filter(kind=Membership.Kind.SIMULATED).count(),
        next_step=find_next_step(course, can_manage=can_manage),
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
