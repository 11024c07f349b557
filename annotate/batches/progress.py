"""Progress: how far batches are, how fast they proceed, and which unfilled assignments no one can take."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection

from annotate.models import Batch
from annotate.models.conditions import (
    counts_toward_caps,
    has_left,
    is_active_annotator,
    is_admitted,
    is_let_in,
    is_marked_counted,
    is_screened_out,
    is_work,
    most_hits,
    rates_here,
)

N_HITS_LOOKED_AT = 2_000
"""HITs examined for stuck places, so that the query stays fast on any batch; the page says if there are more."""
N_NUMBERS_SHOWN = 12
"""HIT numbers listed for each reason: one line of the page."""


@dataclass(frozen=True)
class Progress:
    """The places of a batch, from the counters of its ordinary HITs; `n_held` are in progress."""

    n_hits: int = 0
    n_complete: int = 0
    n_wanted: int = 0
    n_open: int = 0
    n_done: int = 0

    @property
    def n_held(self) -> int:
        return self.n_wanted - self.n_open - self.n_done

    @property
    def n_left(self) -> int:
        return self.n_wanted - self.n_done

    @property
    def done_share(self) -> float:
        return self.n_done / self.n_wanted if self.n_wanted else 0.0

    @property
    def is_complete(self) -> bool:
        """Whether all places are done: none is open, and none is held that could come back."""
        return self.n_wanted > 0 and self.n_done == self.n_wanted

    @property
    def is_all_in_hand(self) -> bool:
        """Whether no place is open but some are held and not yet submitted."""
        return self.n_wanted > 0 and not self.n_open and self.n_held > 0

    def __add__(self, other: "Progress") -> "Progress":
        return Progress(
            self.n_hits + other.n_hits,
            self.n_complete + other.n_complete,
            self.n_wanted + other.n_wanted,
            self.n_open + other.n_open,
            self.n_done + other.n_done,
        )


@dataclass(frozen=True)
class Speed:
    """Assignments submitted in the last 24 hours, and the hours that the rest takes at that pace."""

    n_recent: int
    hours: float
    hours_left: float | None

    @property
    def per_hour(self) -> float:
        return self.n_recent / self.hours if self.hours else 0.0


@dataclass(frozen=True)
class Stuck:
    """Open places that no active, qualified annotator may take, with the reason; `kind` decides the advice."""

    kind: str
    reason: str
    n_places: int
    n_hits: int
    hit_numbers: list[int]


@dataclass(frozen=True)
class StuckPlaces:
    """All stuck places among the examined HITs, and how many HITs have open places in all."""

    n_places: int
    by_reason: list[Stuck]
    n_looked_at: int
    n_open_hits: int

    @property
    def is_all_looked_at(self) -> bool:
        return self.n_looked_at == self.n_open_hits


def fetch_progress(batches: Iterable[Batch]) -> dict[int, Progress]:
    """Return the progress of each batch by its id, with one query for all.

    A HIT whose candidates were all withdrawn before anybody rated it asks for nothing: it is neither left nor complete.
    """
    ids = [batch.pk for batch in batches]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT batch_id, count(*) FILTER (WHERE places_wanted > 0),
                      count(*) FILTER (WHERE places_done = places_wanted AND places_wanted > 0),
                      sum(places_wanted), sum(places_open), sum(places_done)
               FROM annotate_hit h WHERE h.batch_id = ANY(%s) AND {is_work("h")} GROUP BY h.batch_id""",
            [ids],
        )
        found = {row[0]: Progress(*map(int, row[1:])) for row in cursor.fetchall()}
    return {batch_id: found.get(batch_id, Progress()) for batch_id in ids}


def measure_speed(batch: Batch, progress: Progress, *, n_stuck: int = 0) -> Speed:
    """Return the pace of the last 24 hours, or since the first assignment if that is less.

    The time left is that of the work that somebody can take.
    """
    return measure_common_speed([batch], progress.n_left - n_stuck)


def measure_common_speed(batches: Iterable[Batch], n_left: int) -> Speed:
    """Return the common pace of these batches, and the hours that the `n_left` remaining assignments take at it.

    Where none is left, the pace is that up to the last submission: it doesn't fall while there is nothing to do.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT count(*), extract(epoch FROM
                   CASE WHEN %s THEN max(a.submitted_at) ELSE now() END - min(a.opened_at)) / 3600
               FROM annotate_hit h JOIN annotate_assignment a ON a.hit_id = h.id
               WHERE h.batch_id = ANY(%s) AND {is_work("h")} AND a.submitted_at > now() - interval '24 hours'
                 AND {is_marked_counted("a")}""",
            [n_left <= 0, [batch.pk for batch in batches]],
        )
        n_recent, hours = cursor.fetchone()
    # At least a minute: with one assignment submitted seconds after it was opened, the pace would be absurd.
    hours = min(max(float(hours or 0), 1 / 60), 24.0)
    return Speed(n_recent, hours, n_left / (n_recent / hours) if n_recent and n_left else None)


# Which open places no one can take, and why. For each HIT with open places it counts the annotators who could still
# take it, and compares: a HIT with two open places needs two of them.
#
# `annotator` has the active annotators of the project, with what keeps them away: not among the chosen ones (is_asked),
# not qualified, or at a cap. It leaves out whom a survey screened out, who has left the study, and participants of
# ended panels whose session is over; while a panel is open, its earlier participants stand for those who may arrive.
# `looked_at` has the HITs served most often, since these run out of people first. `served` has who was served a
# candidate of such a HIT, in this or another batch; someone whose assignment of this very HIT has expired may resume
# it, so they are left out. `stuck` names the weakest reason that explains the gap: if the places would be filled
# without caps it is the caps, and so on.
#
# MATERIALIZED makes each of these run once, in this order. Joined into one plan, they may visit every assignment of the
# project.
_STUCK = f"""
WITH annotator AS MATERIALIZED (
    SELECT m.id,
           NOT b.has_named_annotators OR EXISTS (
               SELECT 1 FROM annotate_batchannotator n WHERE n.batch_id = b.id AND n.annotator_id = m.id) AS is_asked,
           {is_admitted(batch="b", annotator="m.id")} AS is_qualified,
           most.n IS NULL OR worked.n < most.n AS is_below_caps
    FROM annotate_batch b
    JOIN projects_membership m ON m.project_id = b.project_id AND {is_active_annotator("m")}
        AND {rates_here("m")} AND NOT {is_screened_out(response="screened", annotator="m.id")}
        AND (NOT m.is_participant AND NOT {has_left("m")} OR EXISTS (
            SELECT 1 FROM annotate_panelparticipant p JOIN annotate_panel l ON l.id = p.panel_id
            WHERE p.membership_id = m.id AND (l.ended_at IS NULL OR NOT {has_left("m")} AND EXISTS (
                SELECT 1 FROM annotate_panelsession s
                WHERE s.participant_id = p.id AND s.state IN ('arrived', 'working') AND {is_let_in("s")}))))
    CROSS JOIN LATERAL (SELECT {most_hits("b")} AS n) most
    CROSS JOIN LATERAL (
        SELECT count(*) AS n FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id
        WHERE most.n IS NOT NULL AND a.annotator_id = m.id AND h.batch_id = b.id AND {counts_toward_caps("a")}
    ) worked
    WHERE b.id = %(batch)s),
looked_at AS MATERIALIZED (
    SELECT h.id, h.number, h.places_open FROM annotate_hit h
    WHERE h.batch_id = %(batch)s AND h.places_open > 0 AND {is_work("h")}
    ORDER BY h.queue_key DESC LIMIT %(limit)s),
served AS MATERIALIZED (
    SELECT DISTINCT h.id AS hit_id, a.annotator_id
    FROM looked_at h
    JOIN annotate_item i ON i.hit_id = h.id
    JOIN annotate_item i2 ON i2.candidate_id = i.candidate_id
    JOIN annotate_assignment a ON a.hit_id = i2.hit_id AND NOT (a.hit_id = h.id AND a.state = 'expired')),
counted AS (
    SELECT h.number, h.places_open,
           (SELECT count(*) FROM annotator) AS active,
           (SELECT count(*) FROM annotator WHERE is_asked) AS asked,
           (SELECT count(*) FROM annotator WHERE is_asked AND is_qualified) AS fit,
           (SELECT count(*) FROM annotator WHERE is_asked AND is_qualified AND is_below_caps) AS able,
           count(w.id) AS served_active,
           count(w.id) FILTER (WHERE w.is_asked) AS served_asked,
           count(w.id) FILTER (WHERE w.is_asked AND w.is_qualified) AS served_fit,
           count(w.id) FILTER (WHERE w.is_asked AND w.is_qualified AND w.is_below_caps) AS served_able
    FROM looked_at h
    LEFT JOIN (served s JOIN annotator w ON w.id = s.annotator_id) ON s.hit_id = h.id
    GROUP BY h.id, h.number, h.places_open),
stuck AS (
    SELECT number, places_open - (able - served_able) AS n,
           CASE WHEN active = 0 THEN 'nobody'
                WHEN places_open <= fit - served_fit THEN 'caps'
                WHEN places_open <= asked - served_asked THEN 'unqualified'
                WHEN asked = 0 THEN 'named gone'
                WHEN places_open <= active - served_active THEN 'named'
                WHEN active > served_active THEN 'few'
                ELSE 'served' END AS reason
    FROM counted WHERE places_open > able - served_able)
SELECT reason, sum(n), count(*), (array_agg(number ORDER BY number))[1:%(shown)s],
       (SELECT count(*) FROM looked_at)
FROM stuck GROUP BY reason
UNION ALL
SELECT NULL, count(*), 0, NULL, (SELECT count(*) FROM looked_at) FROM annotate_hit h
WHERE h.batch_id = %(batch)s AND h.places_open > 0 AND {is_work("h")}
"""

# What each reason of the statement above means to a manager.
_REASONS = {
    "nobody": "The project has no active annotator who may take HITs.",
    "named gone": "Only chosen annotators may take them, and none of those is active.",
    "named": "Only chosen annotators may take them, and all active ones have already seen them.",
    "served": "All active annotators have already seen them.",
    "few": "Too few active annotators are left who haven’t seen them.",
    "unqualified": "The remaining annotators have not passed the qualification test.",
    "caps": "The remaining annotators have reached this batch’s limit of HITs.",
}


def find_stuck_places(batch: Batch, *, limit: int = N_HITS_LOOKED_AT) -> StuckPlaces:
    """Return the open places that no active, qualified annotator may take, by reason.

    At most `limit` HITs are examined, those served most often first, because these run out of people first. A daily cap
    makes no place stuck, because it ends by itself.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STUCK, {"batch": batch.pk, "limit": limit, "shown": N_NUMBERS_SHOWN})
        rows = cursor.fetchall()
    n_open_hits, n_looked_at = next((int(row[1]), int(row[4])) for row in rows if row[0] is None)
    found = [
        Stuck(kind, str(_REASONS[kind]), int(n_places), int(n_hits), list(numbers))
        for kind, n_places, n_hits, numbers, _ in rows
        if kind is not None
    ]
    found.sort(key=lambda stuck: -stuck.n_places)
    return StuckPlaces(sum(stuck.n_places for stuck in found), found, n_looked_at, n_open_hits)
