"""Requesting a training, starting it once its cost is known, going on with it, deleting it."""

import re

from django.db import IntegrityError, transaction

from measures.neural.environment import SETUP, is_installed
from measures.neural.folders import Kind, ModelFolder
from measures.neural.installed import Unusable, find_model, list_models
from measures.neural.lerc.variants import TablePlan
from measures.neural.model_files import BadFolder
from projects import log
from projects.database.numbering import next_number
from projects.errors import Refused
from projects.jobs import queue
from projects.models import Act, Membership, Project
from results.models import JudgmentSet, Training
from results.training import files
from results.training.reading import check_set, list_criteria
from results.training.training_plan import TrainingPlan

NAME_LENGTH = 40
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
KINDS: tuple[Kind, ...] = ("encoder", "masked")
"""Kinds of models whose encoder can be trained."""

Step = Training.Step


def list_encoders() -> list[ModelFolder]:
    """Return the models of the site that can be trained, by name."""
    return [each for each in list_models() if not isinstance(each, Unusable) and each.kind in KINDS]


def find_encoder(name: str) -> ModelFolder:
    """Return an encoder of the site by name. Raises Refused for another kind, and where torch is not installed."""
    if not is_installed():
        raise Refused(f"Nothing can be trained here yet: {SETUP}.", field="encoder")
    try:
        return find_model(name, *KINDS)
    except BadFolder as problem:
        raise Refused(f"{str(problem).removesuffix('.').capitalize()}.", field="encoder") from problem


def request_training(
    *,
    project: Project,
    actor: Membership,
    judgment_set: JudgmentSet,
    criterion: str,
    name: str,
    plan: TrainingPlan,
    table: str = TablePlan.ALL,
    is_enqueued: bool = True,
) -> Training:
    """Queue the estimate of a training under the project's next number.

    Raises Refused for a set, criterion, name or encoder that cannot be used. Locks the numbering of trainings.
    """
    if not _NAME.fullmatch(name):
        raise Refused(
            f"A name has up to {NAME_LENGTH} letters, digits, dots, hyphens and underscores, and begins with a letter "
            "or a digit.",
            field="name",
        )
    if judgment_set.project_id != project.pk:
        raise Refused("The judgment set belongs to another project.", field="set")
    check_set(judgment_set)
    known = list_criteria(judgment_set)
    if criterion not in known:
        raise Refused(
            f"Judgment set {judgment_set.number} has no criterion “{criterion}” with scores to learn. It has: "
            f"{', '.join(known) or 'none'}.",
            field="criterion",
        )
    find_encoder(plan.encoder)
    try:
        with transaction.atomic():
            training = Training.objects.create(
                project=project,
                number=next_number(project, Training),
                name=name,
                judgment_set=judgment_set,
                criterion=criterion,
                table=table,
                settings=plan.as_dict(),
                requested_by=actor,
            )
            after = {"number": training.number, "name": name, "set": judgment_set.number, "table": str(table)}
            log.record(project, actor, Act.TRAIN_METRIC, training, after={**after, "settings": training.settings})
            if is_enqueued:
                queue.enqueue_on_commit(training)
    except IntegrityError:
        raise Refused(f"There is already a training named “{name}”. Choose another name.", field="name") from None
    return training


def start(*, training: Training, is_enqueued: bool = True) -> None:
    """Queue the training itself, once its cost is known. Raises Refused unless it waits for that."""
    if not training.is_estimated:
        raise Refused("This training has no estimate that waits for a start.")
    queue.queue(training, is_announced=is_enqueued, only_if={"step": Step.ESTIMATE}, step=Step.TRAIN)


def go_on(*, training: Training, is_enqueued: bool = True) -> None:
    """Queue a training that failed, was cancelled or was interrupted twice; it goes on from its last checkpoint."""
    if training.state == Training.State.DONE:
        raise Refused("It has already finished.")
    queue.queue(training, is_announced=is_enqueued)


def delete_training(*, training: Training, actor: Membership) -> None:
    """Delete a training with its model and checkpoints; scores that the model gave are kept.

    Raises Refused while it runs, and to a researcher for a training that someone else requested.
    """
    if not may_delete(training, actor):
        raise Refused("Only a manager or the member who requested this training can delete it.")
    with transaction.atomic():
        # Locked, so that a worker cannot claim the job between the test and the deletion.
        rows = Training.objects.select_for_update(no_key=True).filter(pk=training.pk)
        if any(row.is_live for row in rows):
            raise Refused("This training is running. Cancel it first.")
        before = {"number": training.number, "name": training.name, "settings": training.settings}
        log.record(training.project, actor, Act.DELETE_TRAINING, training, before=before)
        rows.delete()
        transaction.on_commit(lambda: files.delete(training))


def may_delete(training: Training, actor: Membership) -> bool:
    return actor.can_manage or training.requested_by_id == actor.pk
