"""The life of a batch: opened, paused, closed, reopened, archived, or deleted as a draft."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from annotate import places
from annotate.batches import trials
from annotate.batches.control_plan import clear_pool, list_pool
from annotate.batches.creating import describe
from annotate.models import Assignment, Batch, BatchAnnotator, ControlJob
from projects import log
from projects.errors import Refused
from projects.models import SCALE_FIELDS, Act, Consent, Instructions, Membership, Rubric
from projects.rubric import rubrics
from projects.texts.versions import current_consent, current_instructions

State = Batch.State


@dataclass(frozen=True)
class Move:
    """A change of state: its name, the states it starts from, and the state it leads to."""

    act: str
    before: tuple[Batch.State, ...]
    after: Batch.State


OPEN = Move("open", (State.DRAFT, State.PAUSED), State.OPEN)
PAUSE = Move("pause", (State.OPEN,), State.PAUSED)
CLOSE = Move("close", (State.OPEN, State.PAUSED), State.CLOSED)
REOPEN = Move("reopen", (State.CLOSED,), State.OPEN)
ARCHIVE = Move("archive", (State.CLOSED,), State.ARCHIVED)


def allowed_moves(batch: Batch) -> list[Move]:
    """Return the changes of state that are possible now."""
    if batch.kind == Batch.Kind.IMPORTED:
        return [ARCHIVE] if batch.state == State.CLOSED else []
    return [move for move in (OPEN, PAUSE, CLOSE, REOPEN, ARCHIVE) if batch.state in move.before]


@transaction.atomic
def open_batch(*, batch: Batch, actor: Membership | None, why: str = "") -> None:
    """Start or resume serving; the first opening freezes the rubric. Locks the batch.

    Raises Refused without instructions, and for a full collection whose trial is not closed unless a reason is given.
    """
    seen = _lock(batch)
    if batch.instructions_id is None:
        if current_instructions(batch.project) is None:
            raise Refused("There are no instructions for annotators. Write them under Task first.")
        raise Refused(
            "The instructions were written after this draft was created. Choose “Use latest versions” on the page of "
            "the batch first (in the API, the act “use latest texts”)."
        )
    # A reason overrides the refusal: a manager may have grounds to start early, and the log then has them.
    if (refusal := trials.explain_waiting_for_trial(batch)) and not why.strip():
        raise Refused(refusal)
    rubrics.freeze(batch.rubric)
    _move(batch, OPEN, actor, seen, why=why.strip())


@transaction.atomic
def pause(*, batch: Batch, actor: Membership | None) -> None:
    """Stop serving. HITs in progress can still be saved, submitted and returned."""
    _move(batch, PAUSE, actor, _lock(batch))


@transaction.atomic
def close(*, batch: Batch, actor: Membership | None) -> None:
    """End the collection. HITs in progress can still be submitted and count."""
    _move(batch, CLOSE, actor, _lock(batch))


@transaction.atomic
def reopen(*, batch: Batch, actor: Membership | None, why: str) -> None:
    """Reopen a closed batch. Raises Refused without a reason, or for imported judgments."""
    if not why.strip():
        raise Refused("Give a reason for reopening the batch. It is recorded in the audit log.")
    if batch.kind == Batch.Kind.IMPORTED:
        raise Refused("These judgments were imported, so there is nothing to open.")
    _move(batch, REOPEN, actor, _lock(batch), why=why.strip())


@transaction.atomic
def archive(*, batch: Batch, actor: Membership | None) -> None:
    """Archive a closed batch; its judgments still count. Raises Refused while a HIT of it is in progress.

    Waits for claims, resumed HITs and late submissions in progress: they hold a shared lock on the batch.
    """
    seen = _lock(batch, against_claims=True)
    n_open = Assignment.objects.open().filter(hit__batch=batch).count()
    if n_open:
        raise Refused(
            "One HIT of this batch is still in progress. Archive the batch when it is finished or has expired."
            if n_open == 1
            else f"{n_open} HITs of this batch are still in progress. Archive the batch when they are finished."
        )
    # No claim can begin them while the batch is locked, and none will after it.
    places.release_batch(batch.pk)
    _move(batch, ARCHIVE, actor, seen)


@transaction.atomic
def delete_draft(*, batch: Batch, actor: Membership | None) -> None:
    """Delete a batch that was never opened, with its HITs. Raises Refused for any other."""
    # A full lock, unlike elsewhere: the row is deleted, so nobody may add a HIT or a full batch that refers to it.
    locked = Batch.objects.select_for_update().get(pk=batch.pk)
    if locked.state != State.DRAFT or Assignment.objects.filter(hit__batch=batch).exists():
        raise Refused("Only a draft can be deleted. Close or archive this batch instead.")
    if full := locked.full_batches.first():
        raise Refused(f"“{full}” uses this trial. Delete that batch first.")
    # Logged first, while the batch still has an id.
    log.record(batch.project, actor, Act.DELETE_BATCH, batch, before=describe(locked))
    clear_pool(batch)
    places.delete_hits(batch)
    BatchAnnotator.objects.filter(batch=batch).delete()
    locked.delete()


@transaction.atomic
def adopt_newest_texts(*, batch: Batch, actor: Membership | None) -> bool:
    """Let a draft use the project's latest rubric, instructions and consent; return whether its controls were deleted.

    Controls name the correct ratings on the scales of the older rubric, and fit no others. Raises Refused once the
    batch was opened. Locks the batch, so that the rubric which an opening freezes is the one that the batch keeps.
    """
    _lock(batch)
    rubric = rubrics.current_rubric(batch.project)
    instructions, consent = current_instructions(batch.project), current_consent(batch.project)
    if rubric is None:
        raise Refused("This project has no rubric yet.")
    if batch.trial is not None and batch.use_of_trial == Batch.UseOfTrial.COUNT and batch.trial.rubric_id != rubric.pk:
        raise Refused("This batch counts the judgments of a trial with the older rubric. Create a new batch instead.")
    if batch.state != State.DRAFT:
        raise Refused(
            "Only a draft can change its rubric, because judgments stay with the version they were made under."
        )
    is_rescaled = list_pool(batch).exists() and _list_scales(batch.rubric) != _list_scales(rubric)
    if is_rescaled:
        if ControlJob.objects.filter(batch=batch, state__in=ControlJob.LIVE).exists():
            raise Refused(
                "Controls are being generated on the older scale. Wait until that is done, or cancel it first."
            )
        clear_pool(batch)
    Batch.objects.filter(pk=batch.pk).update(rubric=rubric, instructions=instructions, consent=consent)
    log.record(
        batch.project,
        actor,
        Act.PIN_VERSIONS,
        batch,
        before=_list_versions(batch.rubric.version, batch.instructions, batch.consent),
        after=_list_versions(rubric.version, instructions, consent),
    )
    return is_rescaled


def _list_scales(rubric: Rubric) -> set[tuple[Any, ...]]:
    return set(rubric.criteria.values_list("key", *SCALE_FIELDS, "used_for_quality"))


@transaction.atomic
def change_short_hit_pay(*, batch: Batch, actor: Membership | None, is_prorated: bool) -> None:
    """Let HITs of a draft with fewer items pay their share, or in full. Raises Refused once it was opened."""
    # The state is in the filter: what annotators were told of their pay doesn't change.
    before = Batch.objects.filter(pk=batch.pk).values_list("is_pay_prorated", flat=True).first()
    if not Batch.objects.filter(pk=batch.pk, state=State.DRAFT).update(is_pay_prorated=is_prorated):
        raise Refused("Only a draft can change its pay, because annotators were told the pay of an open batch.")
    if before != is_prorated:
        name = "is_pay_prorated"
        log.record(
            batch.project, actor, Act.CHANGE_SHORT_HIT_PAY, batch, before={name: before}, after={name: is_prorated}
        )


def _lock(batch: Batch, *, against_claims: bool = False) -> str:
    """Lock the batch, refresh it in place, and return the state that the caller saw. Raises Refused if it was deleted.

    A claim shares its lock with every act that doesn't lock `against_claims`.
    """
    seen = batch.state
    try:
        batch.refresh_from_db(from_queryset=Batch.objects.select_for_update(no_key=not against_claims))
    except Batch.DoesNotExist:
        raise Refused("This batch has been deleted.") from None
    return seen


def _move(batch: Batch, move: Move, actor: Membership | None, seen: str, *, why: str = "") -> None:
    """Change the state of a locked batch: of two people who press a button at once, the second is refused.

    The refusal names the state that the first one has set, which is not the one that the second has `seen`.
    """
    stamps: dict[str, object] = {}
    if move.after == State.OPEN:
        # The first opening is remembered; reopening keeps it.
        stamps["opened_at"] = batch.opened_at or Now()
        stamps["closed_at"] = None
    if move.after == State.CLOSED:
        stamps["closed_at"] = Now()
    before = batch.state
    if before not in move.before or before != seen:
        raise Refused(f"This batch is {batch.get_state_display()}, so it can’t be {_PAST[move.act]}.")
    Batch.objects.filter(pk=batch.pk).update(state=move.after, **stamps)
    batch.state = move.after
    log.record(
        batch.project,
        actor,
        Act(f"{move.act} batch"),
        batch,
        before={"state": before},
        after={"state": move.after},
        why=why,
    )


_PAST = {
    "open": "opened",
    "pause": "paused",
    "close": "closed",
    "reopen": "reopened",
    "archive": "archived",
}


def _list_versions(rubric: int, instructions: Instructions | None, consent: Consent | None) -> dict[str, int | None]:
    return {
        "rubric": rubric,
        "instructions": instructions.version if instructions else None,
        "consent": consent.version if consent else None,
    }
