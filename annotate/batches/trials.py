"""Trials: how a full batch uses the trial before it, and whether it may open already."""

from collections.abc import Collection, Mapping

from django.db import connection
from django.db.models import QuerySet

from annotate.models import Assignment, Batch
from annotate.models.conditions import is_counted, is_in_use, is_item, is_work
from projects.errors import Refused
from projects.models import Project, Rubric

N_CANDIDATES = 200
N_JUDGMENTS = 5
"""The size that the form proposes for a trial: MOCHA's had 200 candidates with 5 judgments each."""

Kind, State, Use = Batch.Kind, Batch.State, Batch.UseOfTrial


def list_trials(project: Project) -> QuerySet[Batch]:
    """Return the project's trials, the latest first."""
    return Batch.objects.filter(project=project, kind=Kind.TRIAL).order_by("-number")


def check_use(project: Project, *, kind: str, trial: Batch | None, use: str, rubric: Rubric | None) -> None:
    """Raise Refused if a batch cannot use the trial in this way."""
    if trial is None:
        if use:
            raise Refused("Choose a trial, or set no use of trial judgments.")
        return
    if kind != Kind.FULL:
        raise Refused("Only a full collection can exclude a trial’s candidates or count its judgments.")
    if trial.project_id != project.pk or trial.kind != Kind.TRIAL:
        raise Refused(f"“{trial}” is not a trial of this project.")
    if use not in Use.values:
        raise Refused("Choose how to use the trial: exclude its candidates, count its judgments or collect again.")
    if use == Use.COUNT:
        _check_countable(trial, rubric)


def count_trial_judgments(trial: Batch, candidates: Collection[int] | None = None) -> dict[int, int]:
    """Return the number of annotators with counted judgments in the trial, by candidate, if there is any."""
    # Annotators, not judgments: a rubric with several criteria has several judgments of each.
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT j.candidate_id, count(DISTINCT j.annotator_id)
               FROM annotate_hit h JOIN annotate_assignment a ON a.hit_id = h.id
               JOIN annotate_judgment j ON j.assignment_id = a.id
               WHERE h.batch_id = %s AND {is_counted("j")} GROUP BY 1""",
            [trial.pk],
        )
        found = dict(cursor.fetchall())
    return found if candidates is None else {each: found[each] for each in candidates if each in found}


def count_reused(batch: Batch) -> dict[int, int]:
    """Return the trial's judgments that count towards the batch's number, by candidate; empty if it counts none.

    A batch of an overlap plan already has the number of judgments it must collect, so nothing is deducted.
    """
    if batch.trial is None or batch.use_of_trial != Use.COUNT or batch.plan_id is not None:
        return {}
    return count_trial_judgments(batch.trial)


def group_hits_by_reused(batch: Batch, hit_ids: Collection[int] | None = None) -> Mapping[int, list[int]]:
    """Return the batch's HITs by the number of judgments that all their candidates have from the trial."""
    had = count_reused(batch)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT h.id, array_agg(i.candidate_id) FROM annotate_hit h JOIN annotate_item i ON i.hit_id = h.id
               WHERE h.batch_id = %s AND {is_work("h")} AND {is_item("i")} AND {is_in_use("i")}
                 AND (%s OR h.id = ANY(%s)) GROUP BY h.id ORDER BY h.id""",
            [batch.pk, hit_ids is None, list(hit_ids or ())],
        )
        groups: dict[int, list[int]] = {}
        for hit_id, candidates in cursor.fetchall():
            # They are equal, unless judgments of the trial were set aside since; the minimum leaves no candidate short.
            groups.setdefault(min(had.get(each, 0) for each in candidates), []).append(hit_id)
    return groups


def find_unfinished(project: Project) -> Batch | None:
    """Return the latest trial that is not closed, which the full collection should wait for, or None."""
    return list_trials(project).filter(state__in=(State.DRAFT, State.OPEN, State.PAUSED)).first()


def explain_waiting_for_trial(batch: Batch) -> str:
    """Explain why this draft of a full collection should not open yet; an empty text if no trial is unfinished."""
    if batch.kind != Kind.FULL or batch.state != State.DRAFT:
        return ""
    unfinished = find_unfinished(batch.project)
    if unfinished is None:
        return ""
    is_draft = unfinished.state == State.DRAFT
    remedy = "Open and close it, or delete it" if is_draft else "Close it first"
    state = "a draft" if is_draft else unfinished.get_state_display()
    return (
        f"The trial “{unfinished}” is {state}, and the full collection should follow the trial. {remedy}, or "
        "give a reason to start anyway."
    )


def find_reusing_batch(trial: Batch) -> Batch | None:
    """Return the latest full batch that counts this closed trial, or None: reopening it would add to that number."""
    # An open trial was never countable, so only a closed one can have a batch that relies on its number.
    if trial.kind != Kind.TRIAL or trial.state != State.CLOSED:
        return None
    return trial.full_batches.filter(use_of_trial=Use.COUNT).order_by("-number").first()


def _check_countable(trial: Batch, rubric: Rubric | None) -> None:
    if rubric is not None and trial.rubric_id != rubric.pk:
        raise Refused("The rubric has changed since the trial, so its judgments can’t be counted.")
    if trial.state not in (State.CLOSED, State.ARCHIVED):
        raise Refused("Close the trial first, because its number of judgments can still change.")
    if Assignment.objects.open().filter(hit__batch=trial).exists():
        raise Refused("A HIT of the trial is still in progress. Its judgments can be counted once it is submitted.")
