"""Steering: a batch opened, paused, closed, archived or deleted, and its wanted judgments raised or lowered."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate import places, trials
from annotate.batching import describe
from annotate.controls.accepting import clear_pool
from annotate.costs import Cost, Pace, cost_of, seconds_per_item
from annotate.models import Assignment, Batch, BatchAnnotator, Hit
from annotate.terms import MAX_JUDGMENTS
from projects import log
from projects.errors import Refused
from projects.language.amounts import say_number
from projects.models import Consent, Instructions, Membership
from projects.rubric import rubrics
from projects.texts.versions import current_consent, current_instructions

State = Batch.State


@dataclass(frozen=True)
class Move:
    """A change of state: its name, from where, to where."""

    act: str
    before: tuple[Batch.State, ...]
    after: Batch.State


OPEN = Move("open", (State.DRAFT, State.PAUSED), State.OPEN)
PAUSE = Move("pause", (State.OPEN,), State.PAUSED)
CLOSE = Move("close", (State.OPEN, State.PAUSED), State.CLOSED)
REOPEN = Move("reopen", (State.CLOSED,), State.OPEN)
ARCHIVE = Move("archive", (State.CLOSED,), State.ARCHIVED)


@dataclass(frozen=True)
class Change:
    """What wanting another number of judgments would do.

    `n_kept` places lie above the new number and stay, because somebody holds them. `cost` is what the places
    added cost, `saved` what those taken away would have.
    """

    judgments: int
    n_hits: int
    n_added: int
    n_removed: int
    n_kept: int
    cost: Cost
    saved: Cost


def moves_of(batch: Batch) -> list[Move]:
    """The changes of state that the batch can make now."""
    if batch.kind == Batch.Kind.IMPORTED:
        return [ARCHIVE] if batch.state == State.CLOSED else []
    return [move for move in (OPEN, PAUSE, CLOSE, REOPEN, ARCHIVE) if batch.state in move.before]


@transaction.atomic
def open_batch(*, batch: Batch, actor: Membership | None, why: str = "") -> None:
    """Start or resume serving; leaving the draft freezes the rubric.

    Raises Refused without instructions; and for a full collection whose trial is not closed, unless a reason is given.
    """
    if batch.instructions_id is None:
        raise Refused(_("Annotators would have nothing to read: write the instructions in the settings first."))
    if (refusal := trials.why_not_yet(batch)) and not why.strip():
        raise Refused(refusal)
    rubrics.freeze(batch.rubric)
    _move(batch, OPEN, actor, why=why.strip())


@transaction.atomic
def pause(*, batch: Batch, actor: Membership | None) -> None:
    """Stop serving. What is open can still be finished, returned and saved."""
    _move(batch, PAUSE, actor)


@transaction.atomic
def close(*, batch: Batch, actor: Membership | None) -> None:
    """End the collection. What is open can still be finished and counts."""
    _move(batch, CLOSE, actor)


@transaction.atomic
def reopen(*, batch: Batch, actor: Membership | None, why: str) -> None:
    """Open a closed batch again. Raises Refused without a reason, or for judgments that were imported."""
    if not why.strip():
        raise Refused(_("Say why the batch is opened again; the reason is kept in the log."))
    if batch.kind == Batch.Kind.IMPORTED:
        raise Refused(_("These judgments were made elsewhere, so there is nothing to open."))
    _move(batch, REOPEN, actor, why=why.strip())


@transaction.atomic
def archive(*, batch: Batch, actor: Membership | None) -> None:
    """Put a closed batch away; its judgments stay in every figure. Raises Refused while somebody works on it."""
    n_open = Assignment.objects.open().filter(hit__batch=batch).count()
    if n_open:
        raise Refused(
            _("Somebody is still working on a HIT of this batch. Archive it when that is finished or has expired.")
            if n_open == 1
            else _("%(n_open)s HITs of this batch are still being worked on. Archive it when they are finished.")
            % {"n_open": n_open}
        )
    _move(batch, ARCHIVE, actor)


@transaction.atomic
def delete_draft(*, batch: Batch, actor: Membership | None) -> None:
    """Delete a batch that was never opened, with its HITs. Raises Refused for any other."""
    locked = Batch.objects.select_for_update().get(pk=batch.pk)
    if locked.state != State.DRAFT or Assignment.objects.filter(hit__batch=batch).exists():
        raise Refused(_("Only a draft can be deleted. Close or archive this batch instead."))
    if full := locked.full_batches.first():
        raise Refused(_("“%(full)s” says what becomes of this trial. Delete that batch first.") % {"full": full})
    log.record(batch.project, actor, "delete batch", batch, before=describe(locked))
    clear_pool(batch)
    places.delete_hits(batch)
    BatchAnnotator.objects.filter(batch=batch).delete()
    locked.delete()


@transaction.atomic
def pin_newest(*, batch: Batch, actor: Membership | None) -> None:
    """Let a draft use the project's newest rubric, instructions and consent. Raises Refused once it was opened."""
    rubric = rubrics.current_rubric(batch.project)
    instructions, consent = current_instructions(batch.project), current_consent(batch.project)
    if rubric is None:
        raise Refused(_("This project has no rubric yet."))
    if batch.trial is not None and batch.use_of_trial == Batch.UseOfTrial.COUNT and batch.trial.rubric_id != rubric.pk:
        raise Refused(_("This batch counts the judgments of a trial under the older rubric. Make a new batch instead."))
    changed = Batch.objects.filter(pk=batch.pk, state=State.DRAFT).update(
        rubric=rubric, instructions=instructions, consent=consent
    )
    if not changed:
        raise Refused(_("Only a draft can change its rubric: what was rated under one version stays under it."))
    log.record(
        batch.project,
        actor,
        "pin versions",
        batch,
        before=_versions(batch.rubric.version, batch.instructions, batch.consent),
        after=_versions(rubric.version, instructions, consent),
    )


def plan_wanted(*, batch: Batch, judgments: int, hit_numbers: Sequence[int] | None = None) -> Change:
    """Say what wanting so many judgments would add or take away, and its money. Raises Refused where it cannot be."""
    hit_ids = _check_wanted(batch, judgments, hit_numbers)
    sums = [0] * 6
    for new, ids in _targets(batch, judgments, hit_ids):
        sums = [total + more for total, more in zip(sums, _count_change(batch, new, ids), strict=True)]
    n_hits, n_added, n_removed, n_kept, items_added, items_removed = sums
    pace = seconds_per_item(batch.project)
    return Change(
        judgments=judgments,
        n_hits=n_hits,
        n_added=n_added,
        n_removed=n_removed,
        n_kept=n_kept,
        cost=batch_cost(batch, n_added, items_added, pace),
        saved=batch_cost(batch, n_removed, items_removed, pace),
    )


def _targets(batch: Batch, judgments: int, hit_ids: list[int] | None) -> list[tuple[int, list[int] | None]]:
    """The places that HITs are to want: as many, less what the trial has given already where the batch counts that."""
    if not trials.counted_for(batch):
        return [(judgments, hit_ids)]
    return [(max(0, judgments - n_had), ids) for n_had, ids in trials.hits_by_counted(batch, hit_ids).items()]


def _lock_in_order(hit_ids: list[int]) -> None:
    list(Hit.objects.filter(pk__in=hit_ids).order_by("pk").select_for_update(no_key=True).values_list("pk"))


def _count_change(batch: Batch, new: int, hit_ids: list[int] | None) -> list[int]:
    """HITs, places added, taken away and kept, and the items of the first two, were so many places wanted."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT count(*), coalesce(sum(greatest(d.by, 0)), 0), coalesce(sum(greatest(-d.by, 0)), 0),
                      coalesce(sum(greatest(d.held - %(new)s, 0)), 0),
                      coalesce(sum(greatest(d.by, 0) * d.n_items), 0), coalesce(sum(greatest(-d.by, 0) * d.n_items), 0)
               FROM (SELECT greatest(%(new)s, h.places_wanted - h.places_open) - h.places_wanted AS by,
                            h.places_wanted - h.places_open AS held,
                            (SELECT count(*) FROM annotate_item i
                             WHERE i.hit_id = h.id AND i.retired_at IS NULL) AS n_items
                     FROM annotate_hit h
                     WHERE h.batch_id = %(batch)s AND h.purpose = 'work' AND (%(all)s OR h.id = ANY(%(hits)s))
                       AND (h.places_open > 0 OR {places.IS_TAKEN_UP})) d""",
            {"batch": batch.pk, "new": new, "all": hit_ids is None, "hits": hit_ids or []},
        )
        return [int(value) for value in cursor.fetchone()]


@transaction.atomic
def change_caps(
    *,
    batch: Batch,
    actor: Membership | None,
    max_hits_per_annotator: int | None,
    max_hits_per_day: int | None,
    max_share: float | None,
) -> None:
    """Set what one annotator may rate of the batch at most; None sets no cap. Raises Refused where none can be."""
    locked = Batch.objects.select_for_update(no_key=True).get(pk=batch.pk)
    if locked.kind == Batch.Kind.IMPORTED or locked.state == State.ARCHIVED:
        raise Refused(_("Nobody works on this batch, so there is nothing to cap."))
    if locked.has_named_annotators and (max_hits_per_annotator is not None or max_share is not None):
        raise Refused(_("Each named annotator rates everything, so no cap on their HITs can be set."))
    caps = {
        "max_hits_per_annotator": max_hits_per_annotator,
        "max_hits_per_day": max_hits_per_day,
        "max_share": max_share,
    }
    before = {name: getattr(locked, name) for name in caps}
    for name, value in caps.items():
        setattr(batch, name, value)
    batch.save(update_fields=list(caps))
    log.record(batch.project, actor, "change caps", batch, before=before, after=caps)


def batch_cost(batch: Batch, n_assignments: int, n_items: int, pace: Pace) -> Cost:
    """What so much work costs at the batch's rates."""
    return cost_of(
        n_assignments=n_assignments,
        n_items=n_items,
        cents_per_hit=batch.cents_per_hit,
        cents_per_item=batch.cents_per_item,
        fee_share=batch.fee_share,
        seconds_per_item=pace,
    )


@transaction.atomic
def change_wanted(
    *, batch: Batch, actor: Membership | None, judgments: int, hit_numbers: Sequence[int] | None = None, why: str = ""
) -> tuple[int, int]:
    """Want so many judgments of the whole batch or of chosen HITs; returns the places added and taken away.

    A place that somebody holds is never taken. Raises Refused where it cannot be. Locks the batch, then the HITs.
    """
    locked = Batch.objects.select_for_update(no_key=True).get(pk=batch.pk)
    hit_ids = _check_wanted(locked, judgments, hit_numbers)
    targets = _targets(locked, judgments, hit_ids)
    _lock_in_order([hit for _, ids in targets for hit in ids or ()])
    changes = [places.set_wanted(locked, judgments=new, hit_ids=ids) for new, ids in targets]
    added, removed = (sum(each) for each in zip(*changes, strict=True))
    if hit_numbers is None:
        Batch.objects.filter(pk=batch.pk).update(judgments=judgments)
        batch.judgments = judgments
    log.record(
        batch.project,
        actor,
        "want judgments",
        batch,
        before={"judgments": locked.judgments},
        after={"judgments": judgments, "added": added, "removed": removed, "hits": hit_numbers and list(hit_numbers)},
        why=why,
    )
    return added, removed


def _move(batch: Batch, move: Move, actor: Membership | None, *, why: str = "") -> None:
    """Compare and swap: of two who press a button at once, the second is told what the first did."""
    stamps: dict[str, object] = {}
    if move.after == State.OPEN:
        stamps["opened_at"] = batch.opened_at or Now()
        stamps["closed_at"] = None
    if move.after == State.CLOSED:
        stamps["closed_at"] = Now()
    before = batch.state
    if before not in move.before or not Batch.objects.filter(pk=batch.pk, state=before).update(
        state=move.after, **stamps
    ):
        try:
            batch.refresh_from_db(fields=["state"])
        except Batch.DoesNotExist:
            raise Refused(_("This batch has been deleted.")) from None
        raise Refused(
            _("This batch is %(state)s, so it cannot be %(past)s now.")
            % {"state": batch.get_state_display(), "past": _PAST[move.act]}
        )
    batch.state = move.after
    log.record(
        batch.project, actor, f"{move.act} batch", batch, before={"state": before}, after={"state": move.after}, why=why
    )


_PAST = {
    "open": gettext_lazy("opened"),
    "pause": gettext_lazy("paused"),
    "close": gettext_lazy("closed"),
    "reopen": gettext_lazy("opened again"),
    "archive": gettext_lazy("archived"),
}


def _check_wanted(batch: Batch, judgments: int, hit_numbers: Sequence[int] | None) -> list[int] | None:
    if batch.kind == Batch.Kind.IMPORTED:
        raise Refused(_("These judgments were made elsewhere, so no more can be asked for."))
    if batch.state == State.ARCHIVED:
        raise Refused(_("This batch is archived, so its judgments are settled."))
    if not 1 <= judgments <= MAX_JUDGMENTS:
        raise Refused(
            _("A candidate gets 1 to %(max_judgments)s judgments.") % {"max_judgments": say_number(MAX_JUDGMENTS)}
        )
    if batch.has_named_annotators and judgments > batch.named_annotators.count():
        raise Refused(
            _("Only the named annotators rate this batch, so more judgments than there are of them cannot be had.")
        )
    if hit_numbers is None:
        return None
    if not hit_numbers:
        raise Refused(_("No HIT is chosen."))
    hits = dict(
        Hit.objects.filter(batch=batch, purpose=Hit.Purpose.WORK, number__in=hit_numbers).values_list("number", "id")
    )
    missing = [number for number in hit_numbers if number not in hits]
    if missing:
        raise Refused(_("This batch has no HIT %(missing)s.") % {"missing": missing[0]})
    return sorted(hits.values())


def _versions(rubric: int, instructions: Instructions | None, consent: Consent | None) -> dict[str, int | None]:
    return {
        "rubric": rubric,
        "instructions": instructions.version if instructions else None,
        "consent": consent.version if consent else None,
    }
