"""The overview of a project on one page: data, batches, annotators, timeline and next step."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from django.db import connection

from annotate.batches.progress import Progress, fetch_progress, find_stuck_places
from annotate.frames.kept import keep
from annotate.frames.rating_patterns import execute_analytic
from annotate.frames.stages import Stage, default_stage
from annotate.models import Batch
from annotate.models.conditions import has_left, is_active_annotator, is_let_in, is_screened_out, was_submitted
from annotate.moderation.decisions import Undecided, count_undecided
from annotate.payments import ledger
from projects.models import Membership, Project
from projects.rubric.rubrics import current_rubric
from results.overview.lacking_candidates import find_lacking_candidates
from results.overview.next_step import NextStep, ProjectState, find_next_step
from results.overview.timeline import Timeline, build_timeline
from results.scope.excluded import JudgmentCounts, count_judgments

MOST_BATCHES = 10
MOST_ENDING_BATCHES, MOST_OPEN_HITS = 3, 200
"""With more of them work is in full swing, and what no one can take is not looked for."""


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
    timeline: Timeline
    n_annotators: int
    n_simulated: int
    next_step: NextStep

    @property
    def judgments_note(self) -> str:
        return "counted, from the trial" if self.judgments.stage == Stage.TRIAL else "counted"

    @property
    def annotators_note(self) -> str:
        return f"active, plus {self.n_simulated} simulated" if self.n_simulated else "active"


def make_overview(project: Project, *, can_manage: bool) -> Overview:
    """Count what the project holds and find its next step; only managers get the link to it and the money."""
    data = count_data(project)
    everything = list(project.batches.order_by("-number"))
    batches = [batch for batch in everything if batch.state != Batch.State.ARCHIVED]
    progress = fetch_progress(everything)
    # Simulated annotators are counted apart: they are no people who could be waited for.
    kinds = _count_annotators(project)
    n_annotators = kinds.get(Membership.Kind.PERSON, 0)
    stuck = _count_stuck(batches, progress)
    has_money = can_manage and ledger.pays_anything(project)
    judgments = count_judgments(project, default_stage(project))
    state = ProjectState(
        project,
        bool(data.candidates),
        # Every batch has a rubric.
        bool(everything) or current_rubric(project) is not None,
        n_annotators,
        batches,
        progress,
        stuck,
        lacking=find_lacking_candidates(project),
        n_counted=judgments.n_counted,
        has_archive=len(batches) < len(everything),
        is_paid=has_money,
        undecided=count_undecided(project) if can_manage else Undecided(),
    )
    return Overview(
        data=data,
        judgments=judgments,
        batches=tuple((batch, progress[batch.pk]) for batch in batches[:MOST_BATCHES]),
        n_batches=len(everything),
        timeline=build_timeline(project, everything, progress, stuck=stuck, has_money=has_money),
        n_annotators=n_annotators,
        n_simulated=kinds.get(Membership.Kind.SIMULATED, 0),
        next_step=find_next_step(state, can_manage=can_manage),
    )


# A participant of a panel whom the consent, a survey or the test ended, or who returned the session, stays a member.
# Assignments are looked for last, and by a subquery with a limit, which is never hashed: few members need it.
_ANNOTATORS = f"""
SELECT m.kind, count(*) FROM projects_membership m
WHERE m.project_id = %s AND {is_active_annotator("m")} AND NOT {has_left("m")}
  AND (NOT {is_screened_out(response="screened", annotator="m.id")}
          AND (NOT m.is_participant OR EXISTS (
              SELECT 1 FROM annotate_panelsession s JOIN annotate_panelparticipant p ON p.id = s.participant_id
              WHERE p.membership_id = m.id AND s.state IN ('arrived', 'working') AND {is_let_in("s")}))
       OR (SELECT true FROM annotate_assignment a WHERE a.annotator_id = m.id AND {was_submitted("a")} LIMIT 1))
GROUP BY m.kind
"""


def _count_annotators(project: Project) -> dict[str, int]:
    """Return how many active annotators of each kind there are, without those who came, gave nothing and are gone.

    Who has left the study isn't active, whatever they gave.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ANNOTATORS, [project.pk])
        return dict(cursor.fetchall())


def _count_stuck(batches: Iterable[Batch], progress: Mapping[int, Progress]) -> dict[int, int]:
    """Return the assignments that no one can take in each open batch, where little is left."""
    ending = [batch for batch in batches if batch.state == Batch.State.OPEN and progress[batch.pk].n_open]
    n_hits = sum(progress[batch.pk].n_hits - progress[batch.pk].n_complete for batch in ending)
    if len(ending) > MOST_ENDING_BATCHES or n_hits > MOST_OPEN_HITS:
        return {}
    return {batch.pk: find_stuck_places(batch).n_places for batch in ending}


def count_data(project: Project) -> DataCounts:
    """Count passages, questions, references, candidates and datasets in one statement."""
    return keep(project, "data counts", "", partial(_count_data, project))


def _count_data(project: Project) -> DataCounts:
    with execute_analytic(_DATA, {"datasets": project.find_ids().datasets}) as cursor:
        return DataCounts(*cursor.fetchone())


# Each list is counted by the index that begins with its dataset; joining them would count each passage once for every
# reference. References have no dataset, and are joined with their questions.
_DATA = """
SELECT (SELECT count(*) FROM projects_passage WHERE dataset_id = ANY(%(datasets)s)),
       (SELECT count(*) FROM projects_question WHERE dataset_id = ANY(%(datasets)s)),
       (SELECT count(*) FROM projects_question q JOIN projects_reference r ON r.question_id = q.id
        WHERE q.dataset_id = ANY(%(datasets)s)),
       (SELECT count(*) FROM projects_candidate WHERE dataset_id = ANY(%(datasets)s)),
       cardinality(%(datasets)s::bigint[])
"""
