"""Openings: whether a project has a HIT for an annotator now, and if not, why not and when to come back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import orjson
from django.db import connection
from django.utils.translation import gettext as _

from annotate.attempts.admission import find_admission
from annotate.batches.control_plan import ControlPlan
from annotate.controls.reserved_hits import is_reserved_due
from annotate.controls.sampling import fetch_shown_controls
from annotate.models import Assignment, Reservation
from annotate.models.conditions import (
    can_be_taken,
    counts_toward_caps,
    is_admitted,
    is_collected,
    is_new_to,
    is_screened_out,
    is_under_way,
    most_hits,
)
from annotate.models.pay import hit_pay
from annotate.onboarding.surveys import survey_state
from annotate.places import GRACE
from projects.language.amounts import format_near_moment
from projects.models import Membership

ALL, TODAY = "all", "today"
"""The caps that an annotator may have reached in a batch: of the whole batch, or of this day."""


class OpenBatch(NamedTuple):
    """An open or paused batch as one annotator finds it; `is_theirs` if its HITs may be served to them at all.

    `hit_id` is the HIT that they would be served, and `freed_at` says when a HIT is freed for them at the latest that
    another annotator has now.
    """

    annotator_id: int
    batch_id: int
    is_open: bool
    is_theirs: bool
    is_gated: bool
    cents: int
    is_paid_by_answer: bool
    hit_size: int
    presentation: str
    control_plan: str | None
    cap: str
    again_at: datetime
    hit_id: int | None
    freed_at: datetime | None
    is_freed: bool

    @property
    def has_hit(self) -> bool:
        if self.hit_id is not None or self.is_freed:
            return True
        return self.is_theirs and not self.cap and self._has_reserved_hit

    @property
    def _has_reserved_hit(self) -> bool:
        # Asked only once the queue has nothing more for them, so that few desks pay for these queries.
        plan = ControlPlan.read(orjson.loads(self.control_plan or "{}"))
        return plan.makes_personal_hits(self.presentation) and is_reserved_due(
            annotator_id=self.annotator_id,
            batch_id=self.batch_id,
            hit_size=self.hit_size,
            plan=plan,
            history=fetch_shown_controls(self.annotator_id, self.batch_id),
        )


@dataclass(frozen=True)
class Opening:
    """The work that a project has for one annotator at this moment. If gated, it is theirs once they are qualified.

    The cents are the pay for a full HIT of `n_items` in the batches that have a HIT for them; if a batch pays by
    answer, a smaller HIT pays less. `hit_id` is the HIT that they would most likely be served.
    """

    has_hit: bool = False
    is_open: bool = False
    is_open_to_them: bool = False
    is_paused: bool = False
    is_gated: bool = False
    low_cents: int = 0
    high_cents: int = 0
    is_paid_by_answer: bool = False
    n_items: int = 0
    hit_id: int | None = None
    caps: Sequence[str] = field(default_factory=tuple)
    again_at: datetime | None = None
    freed_at: datetime | None = None

    @property
    def why_no_work(self) -> str:
        """Explain why there is no HIT at this moment and when to come back, without telling who has one."""
        if self.is_open_to_them:
            return self._why_nothing_left
        if self.is_gated:
            return _("Pass the qualification test to start.")
        if self.is_open:
            return _("The work available now is assigned to other annotators. Check back later for more.")
        if self.is_paused:
            return _("Work is paused. Check back later.")
        return _("No work is available right now. Check back later.")

    @property
    def _why_nothing_left(self) -> str:
        if TODAY in self.caps and self.again_at is not None:
            return _("You've reached today's limit. You can continue from {moment} UTC.").format(
                moment=format_near_moment(self.again_at)
            )
        if self.freed_at is not None:
            return _("All HITs are taken right now. One may be free again by {moment} UTC.").format(
                moment=format_near_moment(self.freed_at)
            )
        if all(cap == ALL for cap in self.caps):
            return _("You've rated as many HITs as one person may rate here. Thank you!")
        return _("You've rated everything for now. Thank you! Check back later for more.")


def find_openings(annotators: Iterable[Membership]) -> dict[int, Opening]:
    """Return the opening of each annotator by membership id, with one query for all.

    It asks what a claim asks, but takes no place and locks nothing. An annotator for whom a batch with controls has
    nothing left in its queue costs three more queries.
    """
    ids = [annotator.pk for annotator in annotators]
    batches: dict[int, list[OpenBatch]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_OPEN_BATCHES, {"annotators": ids, "grace": GRACE.total_seconds()})
        for row in cursor.fetchall():
            batches.setdefault(row[0], []).append(OpenBatch(*row))
    return {pk: _fold(batches.get(pk, [])) for pk in ids}


def find_opening(annotator: Membership) -> Opening:
    return find_openings([annotator])[annotator.pk]


def explain_start(annotator: Membership) -> str:
    """Return why an annotator who may work can't start or continue a HIT now; empty if they can."""
    if Assignment.objects.open().filter(annotator=annotator.pk).exists():
        return ""
    if annotator.is_participant and Reservation.objects.filter(annotator=annotator).exists():
        return ""
    opening = find_opening(annotator)
    return "" if opening.has_hit else survey_state(annotator).why_not or _explain(opening, annotator)


def explain_no_work(annotator: Membership) -> str:
    """Explain why there is no HIT for this annotator now, and what to do if they are not qualified."""
    if reason := survey_state(annotator).why_not:
        return reason
    return _explain(find_opening(annotator), annotator)


def _explain(opening: Opening, annotator: Membership) -> str:
    if opening.is_open_to_them or not opening.is_gated:
        return opening.why_no_work
    admission = find_admission(annotator)
    return (admission.why_not if admission else "") or opening.why_no_work


def _fold(batches: Sequence[OpenBatch]) -> Opening:
    """Return one opening for all batches of a project, which come in the order of serving.

    Pay is the range over the batches that have a HIT, because which of them the next HIT comes from is not known
    before it is taken.
    """
    theirs = [batch for batch in batches if batch.is_theirs]
    serving = [batch for batch in theirs if batch.has_hit]
    pay = [batch.cents for batch in serving]
    return Opening(
        has_hit=bool(serving),
        is_open=any(batch.is_open for batch in batches),
        is_open_to_them=bool(theirs),
        is_paused=any(not batch.is_open for batch in batches),
        is_gated=any(batch.is_gated for batch in batches),
        low_cents=min(pay, default=0),
        high_cents=max(pay, default=0),
        is_paid_by_answer=any(batch.is_paid_by_answer for batch in serving),
        n_items=max((batch.hit_size for batch in serving), default=0),
        hit_id=next((batch.hit_id for batch in serving), None),
        caps=tuple(batch.cap for batch in theirs),
        again_at=min((batch.again_at for batch in theirs if batch.cap == TODAY), default=None),
        freed_at=min((batch.freed_at for batch in theirs if batch.freed_at), default=None),
    )


# One row per annotator and batch that is open or paused. Each OFFSET 0 keeps its subquery from being merged into the
# one around it, which would compute the same HIT twice. `cap` is asked only of batches with caps, `hit_id` only below
# them, and `freed_at` only if there is no HIT.
_OPEN_BATCHES = f"""
SELECT found.annotator_id, found.batch_id, is_open, is_theirs, is_gated, cents, is_paid_by_answer, hit_size,
       presentation, control_plan, cap, again_at, found.hit_id, freed.at, coalesce(freed.at <= now(), false)
FROM (
    SELECT capped.*, CASE WHEN is_theirs AND cap = '' THEN (
        SELECT h.id FROM annotate_hit h
        WHERE h.batch_id = capped.batch_id AND h.reserved_for_id IS NULL AND h.places_open > 0
          AND {is_new_to(hit="h", annotator="capped.annotator_id")}
        ORDER BY h.queue_key LIMIT 1) END AS hit_id
    FROM (
        SELECT gate.*,
               CASE WHEN worked.n >= gate.most THEN '{ALL}' WHEN worked.n_today >= gate.most_a_day THEN '{TODAY}'
                    ELSE '' END AS cap,
               date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + interval '1 day' AS again_at
        FROM (
            SELECT open_to.*, is_open AND is_asked AND is_admitted AS is_theirs,
                   is_open AND is_asked AND NOT is_admitted AS is_gated
            FROM (
                SELECT m.id AS annotator_id, b.id AS batch_id, b.priority, b.number, b.state = 'open' AS is_open,
                       NOT b.has_named_annotators OR EXISTS (
                           SELECT 1 FROM annotate_batchannotator n
                           WHERE n.batch_id = b.id AND n.annotator_id = m.id) AS is_asked,
                       {is_admitted(batch="b", annotator="m.id")} AS is_admitted,
                       {hit_pay("b", "b.hit_size")} AS cents,
                       b.cents_per_item > 0 OR b.is_pay_prorated AND b.cents_per_hit > 0 AS is_paid_by_answer,
                       b.hit_size,
                       b.presentation, nullif(b.control_plan, '{{}}'::jsonb)::text AS control_plan,
                       {most_hits("b")} AS most,
                       b.max_hits_per_day AS most_a_day
                FROM projects_membership m
                JOIN annotate_batch b ON b.project_id = m.project_id AND {is_under_way("b")}
                WHERE m.id = ANY(%(annotators)s::bigint[]) AND {is_collected("b")}
                  AND NOT {is_screened_out(response="screened", annotator="m.id")} OFFSET 0) open_to) gate
        CROSS JOIN LATERAL (
            SELECT count(*) AS n, count(*) FILTER (
                WHERE a.opened_at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC') AS n_today
            FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id
            WHERE gate.is_theirs AND (gate.most IS NOT NULL OR gate.most_a_day IS NOT NULL)
              AND a.annotator_id = gate.annotator_id AND h.batch_id = gate.batch_id
              AND {counts_toward_caps("a")}) worked OFFSET 0) capped OFFSET 0) found
CROSS JOIN LATERAL (
    SELECT min(o.due_at) + %(grace)s::float8 * interval '1 second' AS at
    FROM annotate_assignment o JOIN annotate_hit h ON h.id = o.hit_id
    WHERE found.is_theirs AND found.cap = '' AND found.hit_id IS NULL
      AND o.state = 'open' AND h.batch_id = found.batch_id AND h.reserved_for_id IS NULL
      AND {can_be_taken("h")} AND {is_new_to(hit="h", annotator="found.annotator_id")}) freed
ORDER BY found.annotator_id, found.priority DESC, found.number
"""
