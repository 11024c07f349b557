"""Stages: which judgments belong to the full collection, and which are a trial's and kept apart."""

from collections.abc import Collection
from enum import StrEnum
from functools import partial

from django.db import connection

from annotate.models import Batch
from annotate.models.batch import find_batch_kinds
from annotate.models.conditions import is_unused_trial
from projects.models import Project

Kind, State = Batch.Kind, Batch.State


class Stage(StrEnum):
    """Which judgments a result or an export includes."""

    FULL = "full"
    TRIAL = "trial"
    ALL = "all"


# Conditions on the batches to leave out. An imported batch belongs to the full collection.
_OUT_OF = {Stage.FULL: is_unused_trial("b"), Stage.TRIAL: "b.kind <> 'trial'", Stage.ALL: "false"}


def left_out(project: Project, stage: Stage) -> tuple[int, ...]:
    """Return the ids of the project's batches whose judgments do not belong to the stage.

    The full collection is what was imported, what full batches collect, and the trials that one of these counts.
    Batches are excluded rather than included, so that most statements need no condition at all.
    """
    return project.remember(f"out of {stage}", partial(_read_left_out, project, stage))


def _read_left_out(project: Project, stage: Stage) -> tuple[int, ...]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT b.id FROM annotate_batch b WHERE b.project_id = %s AND {_OUT_OF[stage]} ORDER BY b.id",
            [project.pk],
        )
        return tuple(row[0] for row in cursor.fetchall())


def default_stage(project: Project) -> Stage:
    """Return the full collection, or the trial as long as nothing else has begun."""
    return choose_stage(find_batch_kinds(project))


def choose_stage(kinds: Collection[tuple[str, str]]) -> Stage:
    """Return the default stage of a project with batches of these kinds and states."""
    begun = {kind for kind, state in kinds if state != State.DRAFT}
    return Stage.TRIAL if begun == {Kind.TRIAL} else Stage.FULL
