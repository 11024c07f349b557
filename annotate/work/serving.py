"""Serving: the next HIT of an annotator, or the reason why there is none."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import orjson
from django.db import connection, transaction
from django.utils.translation import gettext as _

from annotate import places
from annotate.batches.control_plan import ControlPlan
from annotate.controls.reserved_hits import find_reserved
from annotate.controls.sampling import fetch_shown_controls, sample_controls
from annotate.models import Assignment, Batch, Reservation
from annotate.models.conditions import counts_toward_caps, is_admitted, is_screened_out, lacks_survey, most_hits
from annotate.panels import participant_work, sessions
from annotate.places.locking import lock_annotator
from annotate.work.openings import explain_no_work
from projects.access import Right, explain_refusal
from projects.database.prepared import prepared
from projects.models import Membership

# Asked on every claim, so that one round trip brings all the answers: which batches are open to this annotator, their
# caps, and what still has to be confirmed first. An open HIT of the annotator empties the result, because that HIT is
# returned instead of a new one. An empty control plan becomes NULL, because most batches have none.
#
# Consent to a newer text covers an older one: ids rise with the versions. A batch created before the project had a text
# pins none, and asks for consent to any version.
#
# The batches are locked against archiving alone: whoever archives one waits for claims in progress and then sees what
# they took, and a claim that waits for them no longer finds the batch. Pausing and closing wait for nobody, since HITs
# in progress may be finished after them.
_OFFERS = f"""
SELECT b.id, b.time_limit_minutes, b.order, {most_hits("b")}, b.max_hits_per_day, b.presentation,
       b.hit_size, nullif(b.control_plan, '{{{{}}}}'::jsonb)::text,
       EXISTS (SELECT 1 FROM projects_consent t WHERE t.project_id = b.project_id) AND NOT EXISTS (
           SELECT 1 FROM projects_consentacceptance c WHERE c.membership_id = %(me)s::bigint
             AND c.withdrawn_at IS NULL AND (b.consent_id IS NULL OR c.consent_id >= b.consent_id)),
       (SELECT i.version FROM projects_instructions i WHERE i.id = b.instructions_id AND NOT EXISTS (
           SELECT 1 FROM projects_instructionsreading r
           WHERE r.membership_id = %(me)s::bigint AND r.instructions_id = i.id)),
       {lacks_survey("before", project="b.project_id", annotator="%(me)s::bigint")}
FROM annotate_batch b
WHERE b.project_id = %(project)s::bigint AND b.state = 'open'
  AND {{only}}
  AND NOT {is_screened_out(response="screened", annotator="%(me)s::bigint")}
  AND (NOT b.has_named_annotators OR EXISTS (
      SELECT 1 FROM annotate_batchannotator n WHERE n.batch_id = b.id AND n.annotator_id = %(me)s::bigint))
ORDER BY b.priority DESC, b.number FOR KEY SHARE OF b
"""
_OPEN_TO = _OFFERS.format(
    only=f"""{is_admitted(batch="b", annotator="%(me)s::bigint")}
  AND NOT EXISTS (SELECT 1 FROM annotate_assignment a WHERE a.annotator_id = %(me)s::bigint AND a.state = 'open')"""
)
# Places are reserved before consent and test, both of which the claim then asks for.
_RESERVABLE = _OFFERS.format(only="true")

# HITs that use up the caps, in all and today (UTC). Returned, expired and withdrawn ones do not.
_WORKED = f"""
SELECT count(*),
       count(*) FILTER (WHERE a.opened_at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')
FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id
WHERE a.annotator_id = %s AND h.batch_id = %s AND {counts_toward_caps("a")}
"""


class Offer(NamedTuple):
    """A batch that is open to an annotator, with its caps."""

    batch_id: int
    minutes: int
    order: str
    most: int | None
    most_a_day: int | None
    presentation: str
    hit_size: int
    control_plan: str | None
    lacks_consent: bool
    unread_version: int | None
    lacks_survey: bool

    @property
    def is_confirmed(self) -> bool:
        return not self.lacks_consent and not self.lacks_survey and self.unread_version is None


@dataclass(frozen=True)
class NoWork:
    """No HIT for this annotator now, with the sentence that explains why."""

    reason: str


@dataclass(frozen=True)
class ConfirmFirst(NoWork):
    """There is a HIT, but consent, a survey or the reading of its batch's instructions comes first."""

    batch_id: int
    lacks_consent: bool
    lacks_survey: bool
    unread_version: int | None


def claim(annotator: Membership) -> uuid.UUID | NoWork:
    """Return the open assignment, or take a place on the next HIT; ConfirmFirst if something must be confirmed before.

    Locks the membership, then the HIT. Asking again, or at the same time from another tab, returns the same assignment.
    If no HIT is free, expired assignments are swept and the queue is asked once more, this time waiting for HITs that
    others are taking at this moment: without the second attempt, the last HITs could be missed.
    """
    found = _attempt(annotator, wait=False)
    if isinstance(found, uuid.UUID):
        return found
    # In a separate transaction: the sweep locks many assignments, and must not hold them while the next attempt waits.
    with transaction.atomic():
        places.sweep(project_id=annotator.project_id)
    found = _attempt(annotator, wait=True)
    # Explained after the attempts, and not by each: it asks of every open batch whether it has a HIT.
    return found if found is not None else NoWork(explain_no_work(annotator))


@transaction.atomic
def _attempt(annotator: Membership, *, wait: bool) -> uuid.UUID | NoWork | None:
    """Return an assignment, what is to be confirmed first, or why they may not work; None if there is no HIT."""
    lock_annotator(annotator)
    refusal = explain_refusal(annotator, Right.WORK)
    if refusal:
        return NoWork(refusal)
    with connection.cursor() as cursor:
        prepared(_OPEN_TO).execute(cursor, {"me": annotator.pk, "project": annotator.project_id})
        offers = [Offer(*row) for row in cursor.fetchall()]
    # No offer means an open HIT or no batch open to them, which one more query tells apart.
    if not offers:
        return Assignment.objects.open().filter(annotator=annotator.pk).values_list("uuid", flat=True).first()
    if annotator.is_participant:
        if not sessions.may_take_hit(annotator):
            return NoWork(_("You've done all HITs of this session."))
        if reserved := list(Reservation.objects.filter(annotator=annotator).select_related("hit")):
            return _begin_reserved(annotator, reserved, {offer.batch_id: offer for offer in offers})
    for offer in offers:
        if not _is_within_caps(annotator.pk, offer):
            continue
        if not offer.is_confirmed:
            if _has_hit(annotator, offer, wait):
                return _confirm_first(offer)
        elif (taken := _serve(annotator, offer, wait)) is not None:
            return taken
    return None


def _begin_reserved(
    annotator: Membership, reserved: Sequence[Reservation], offers: Mapping[int, Offer]
) -> uuid.UUID | NoWork | None:
    """Begin the first HIT reserved for a participant whose batch is open to them; None if there is none."""
    for reservation in reserved:
        offer = offers.get(reservation.hit.batch_id)
        if offer is None:
            continue
        if not offer.is_confirmed:
            return _confirm_first(offer)
        if (taken := _serve_reserved(annotator, offer, reservation)) is not None:
            sessions.mark_working(annotator)
            return taken
    return None


def _serve_reserved(annotator: Membership, offer: Offer, reservation: Reservation) -> uuid.UUID | None:
    not_blind = not annotator.is_blind
    if offer.control_plan is None:
        return places.begin_reserved(reservation, minutes=offer.minutes, not_blind=not_blind)
    plan = ControlPlan.read(orjson.loads(offer.control_plan))
    history = fetch_shown_controls(annotator.pk, offer.batch_id)
    work = {"annotator_id": annotator.pk, "batch_id": offer.batch_id, "hit_size": offer.hit_size}
    if (hit_id := find_reserved(**work, plan=plan, history=history)) is not None:
        return places.take_reserved(
            hit_id=hit_id, annotator_id=annotator.pk, minutes=offer.minutes, not_blind=not_blind
        )
    taken = places.begin_reserved(reservation, minutes=offer.minutes, not_blind=not_blind)
    if taken is not None and plan.is_in_hits:
        sample_controls(taken, **work, presentation=offer.presentation, plan=plan, history=history)
    return taken


def reserve_place(annotator: Membership, *, most: int, until: datetime) -> bool:
    """Reserve a place on the next HIT for a participant, before they agree to anything.

    Return False if there is none, or if they have `most` HITs already: reserved, open or submitted. One place in one
    transaction, because two participants who each held a HIT's lock and waited for the other's would deadlock. As a
    claim does, it sweeps and asks again before it says that nothing is left.
    """
    if _reserve(annotator, most=most, until=until, wait=False):
        return True
    if participant_work.count_hits(annotator) >= most:
        return False
    with transaction.atomic():
        places.release_overdue()
        places.sweep(project_id=annotator.project_id)
    return _reserve(annotator, most=most, until=until, wait=True)


@transaction.atomic
def _reserve(annotator: Membership, *, most: int, until: datetime, wait: bool) -> bool:
    lock_annotator(annotator)
    # Counted under the lock: of two browsers at once, the second sees what the first has reserved.
    if explain_refusal(annotator, Right.WORK) or participant_work.count_hits(annotator) >= most:
        return False
    with connection.cursor() as cursor:
        cursor.execute(_RESERVABLE, {"me": annotator.pk, "project": annotator.project_id})
        offers = [Offer(*row) for row in cursor.fetchall()]
    for offer in offers:
        n_reserved = Reservation.objects.filter(annotator=annotator, hit__batch=offer.batch_id).count()
        if _is_within_caps(annotator.pk, offer, n_reserved) and places.reserve(
            batch_id=offer.batch_id, annotator_id=annotator.pk, until=until, wait=wait
        ):
            return True
    return False


def _has_hit(annotator: Membership, offer: Offer, wait: bool) -> bool:
    """Return whether there is a HIT to take, by taking it and rolling back: no one should confirm for nothing."""
    with transaction.atomic():
        taken = _serve(annotator, offer, wait)
        transaction.set_rollback(True)
    return taken is not None


def _confirm_first(offer: Offer) -> ConfirmFirst:
    if offer.lacks_consent:
        reason = _("Agree to the consent first.")
    else:
        reason = _("Please answer the survey first.") if offer.lacks_survey else _("Read the instructions first.")
    return ConfirmFirst(reason, offer.batch_id, offer.lacks_consent, offer.lacks_survey, offer.unread_version)


def _serve(annotator: Membership, offer: Offer, wait: bool) -> uuid.UUID | None:
    return _take(annotator, offer, wait) if offer.control_plan is None else _take_controlled(annotator, offer, wait)


def _take(annotator: Membership, offer: Offer, wait: bool) -> uuid.UUID | None:
    for passage_id in _list_passages(annotator.pk, offer):
        taken = places.take(
            batch_id=offer.batch_id,
            annotator_id=annotator.pk,
            minutes=offer.minutes,
            not_blind=not annotator.is_blind,
            passage_id=passage_id,
            wait=wait,
        )
        if taken is not None:
            return taken
    return None


def _take_controlled(annotator: Membership, offer: Offer, wait: bool) -> uuid.UUID | None:
    """Take a place in a batch with controls: a reserved HIT that is due, else the next HIT with controls added."""
    plan = ControlPlan.read(orjson.loads(offer.control_plan or "{}"))
    history = fetch_shown_controls(annotator.pk, offer.batch_id)
    work = {"annotator_id": annotator.pk, "batch_id": offer.batch_id, "hit_size": offer.hit_size}
    # A reserved HIT comes first once it is due: behind the queue, it would come only when everything else is rated.
    hit_id = find_reserved(**work, plan=plan, history=history)
    if hit_id is not None:
        return places.take_reserved(
            hit_id=hit_id, annotator_id=annotator.pk, minutes=offer.minutes, not_blind=not annotator.is_blind
        )
    taken = _take(annotator, offer, wait)
    if taken is not None and plan.is_in_hits:
        sample_controls(taken, **work, presentation=offer.presentation, plan=plan, history=history)
    return taken


def _is_within_caps(annotator_id: int, offer: Offer, n_reserved: int = 0) -> bool:
    if offer.most is None and offer.most_a_day is None:
        return True
    with connection.cursor() as cursor:
        cursor.execute(_WORKED, [annotator_id, offer.batch_id])
        n_worked, n_today = (n + n_reserved for n in cursor.fetchone())
    return (offer.most is None or n_worked < offer.most) and (offer.most_a_day is None or n_today < offer.most_a_day)


def _list_passages(annotator_id: int, offer: Offer) -> list[int | None]:
    """Return the passages to try in turn, None for the whole queue: the last one first if the batch stays with it."""
    if offer.order != Batch.Order.PASSAGE:
        return [None]
    last = (
        Assignment.objects.filter(annotator=annotator_id, hit__batch=offer.batch_id)
        .order_by("-opened_at")
        .values_list("hit__passage_id", flat=True)
        .first()
    )
    return [None] if last is None else [last, None]
