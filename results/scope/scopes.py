"""Find the batch and the criterion that a page, a report or a command asks for."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from annotate.frames.criteria_in_use import CriterionInUse, Scope, criteria_in_use, criteria_to_come
from annotate.frames.stages import Stage
from annotate.models import Batch
from measures.columns import ANNOTATOR
from measures.outcome import Undefined
from projects.errors import Refused
from projects.models import Membership, Project
from projects.tables.tables import Table

SEVERAL_SCALES = Undefined(reason="the criterion was asked on several scales")
"""What a figure is that would pool scores on several scales, where others of its page are defined."""


def find_batch(project: Project, number: int) -> Batch:
    """Return the batch of this number. Raises Refused, naming those there are."""
    batch = Batch.objects.filter(project=project, number=number).first()
    if batch is None:
        # Twenty are enough to see the mistake.
        numbers = ", ".join(str(each) for each in project.batches.values_list("number", flat=True)[:20])
        raise Refused(
            "The project has no batch {number}. It has: {numbers}.".format(number=number, numbers=numbers or "none yet")
        )
    return batch


def read_scope(project: Project, settings: Mapping[str, Any]) -> Scope:
    """Return the scope that a report's settings name. Raises Refused where the batch or criterion is gone."""
    return choose_scope(read_scopes(project, settings), settings["criterion"])


def read_scopes(project: Project, settings: Mapping[str, Any]) -> list[Scope]:
    """Return that scope for each criterion that the batch or project asks, not only for the one in the settings."""
    batch = find_batch(project, settings["batch"]) if settings["batch"] else None
    stage = Stage(settings["stage"])
    return [
        Scope(
            project=project,
            criterion=criterion,
            stage=stage,
            batch=batch,
            is_blind_only=settings["blind"],
        )
        for criterion in criteria_in_use(project, batch, stage=stage)
    ]


def choose_scope(scopes: list[Scope], key: str) -> Scope:
    """Return the scope of the criterion of this key. Raises Refused, naming those there are."""
    criterion = choose_among([scope.criterion for scope in scopes], key)
    return next(scope for scope in scopes if scope.criterion == criterion)


def scope_settings(scope: Scope) -> dict[str, Any]:
    """Return the scope as a report stores it; `read_scope` reads it back."""
    return {
        "criterion": scope.criterion.key,
        "stage": scope.stage.value,
        "batch": scope.batch.number if scope.batch else None,
        "blind": scope.is_blind_only,
    }


def choose_criterion(
    project: Project, *, key: str = "", batch: Batch | None = None, stage: Stage = Stage.ALL
) -> CriterionInUse:
    """Return the criterion of this key among those that the project's batches, or one batch, ask. Raises Refused."""
    return choose_among(criteria_in_use(project, batch, stage=stage), key)


def choose_criterion_to_measure(
    project: Project, *, key: str = "", batch: Batch | None = None, stage: Stage = Stage.ALL
) -> CriterionInUse:
    """Return the criterion as `choose_criterion` does; before there is a batch, the one that the first batch would ask.

    Raises Refused.
    """
    criteria = criteria_in_use(project, batch, stage=stage)
    if criteria:
        return choose_among(criteria, key)
    # A project that only plans has no batch; its rubric says what will be asked.
    planned = criteria_to_come(project)
    return choose_among(planned if key else planned[:1], key)


def choose_among(criteria: list[CriterionInUse], key: str) -> CriterionInUse:
    """Return the criterion of this key, or the only one. Raises Refused, naming those there are."""
    if not criteria:
        raise Refused("There is no batch yet, so there are no judgments.")
    keys = ", ".join(criterion.key for criterion in criteria)
    if not key and len(criteria) > 1:
        raise Refused(f"The batches ask several criteria. Choose one: {keys}.")
    found = next((criterion for criterion in criteria if criterion.key == key or not key), None)
    if found is None:
        raise Refused(f"There is no criterion “{key}”. Choose one of: {keys}.")
    return found


def explain_several_scales(criterion: CriterionInUse) -> str:
    return "“{criterion}” was asked on several scales ({scales}). Choose one batch.".format(
        criterion=criterion.name,
        scales="; ".join(criterion.scales),
    )


def warn_of_no_order(criterion: CriterionInUse) -> str:
    """Return the warning about means of categories, or nothing where the points of the criterion have an order."""
    if criterion.has_order:
        return ""
    return (
        f"“{criterion.name}” is nominal: its points are categories without an order, so means, medians, z scores and "
        "correlations of them are meaningless. Report its nominal alpha (Agreement) and how often each category was "
        "chosen (Human scores)."
    )


def add_warning(tables: Iterable[Table], criterion: CriterionInUse) -> list[Table]:
    """Return the tables with the warning about means of categories as the first of their notes, for files."""
    found = warn_of_no_order(criterion)
    return [replace(each, notes=[found, *each.notes]) if found else each for each in tables]


def has_simulated(project: Project, *frames: pd.DataFrame) -> bool:
    """Return whether some of these judgments are by simulated annotators."""
    names = [str(name) for frame in frames for name in frame[ANNOTATOR].dropna().unique()]
    return project.memberships.filter(kind=Membership.Kind.SIMULATED, pseudonym__in=names).exists()
