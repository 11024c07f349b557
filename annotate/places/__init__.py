"""Places: the one writer of assignment states, holds, counted flags and HIT counters.

A HIT has as many places as judgments are required of its candidates. These equations must hold at every moment:

    places_wanted = places_open + count(assignments that hold a place) + count(reservations)
    places_done   = count(assignments that hold a place and are submitted or approved)

Locks are taken in the order membership, assignment, reservation, HIT, judgment, in ascending order of id within each.
HITs are locked FOR NO KEY UPDATE: inserting a row that refers to one takes a key lock on it, which a plain FOR UPDATE
would conflict with, so that SKIP LOCKED would pass over HITs that are in fact free. Every function expects the caller's
transaction.
"""

import psycopg2.extras

from annotate.models.assignment import TAKEN_OUT
from annotate.places.creating import (
    NewHit,
    ReservedItem,
    create_hits,
    create_reserved,
    delete_hits,
    set_wanted,
    withdraw_reserved,
)
from annotate.places.deciding import (
    RestoredWork,
    accept,
    approve,
    count_acceptable,
    count_restorable,
    exclude,
    exclude_for_good,
    reject,
    restore,
)
from annotate.places.ending import (
    GRACE,
    Answer,
    expire,
    finish,
    return_assignment,
    sweep,
    withdraw,
    withdraw_expired,
)
from annotate.places.locking import lock_with_hits
from annotate.places.reserving import begin_reserved, keep_until, release, release_batch, release_overdue, reserve
from annotate.places.retiring import Withdrawn, set_aside, withdraw_candidates
from annotate.places.taking import add_controls, extend, reopen, take, take_reserved, write_layout

# psycopg2 can pass uuid.UUID values only after this call, once for each process.
psycopg2.extras.register_uuid()  # type: ignore[no-untyped-call]

__all__ = [
    "GRACE",
    "TAKEN_OUT",
    "Answer",
    "NewHit",
    "ReservedItem",
    "RestoredWork",
    "Withdrawn",
    "accept",
    "add_controls",
    "approve",
    "begin_reserved",
    "count_acceptable",
    "count_restorable",
    "create_hits",
    "create_reserved",
    "delete_hits",
    "exclude",
    "exclude_for_good",
    "expire",
    "extend",
    "finish",
    "keep_until",
    "lock_with_hits",
    "reject",
    "release",
    "release_batch",
    "release_overdue",
    "reopen",
    "reserve",
    "restore",
    "return_assignment",
    "set_aside",
    "set_wanted",
    "sweep",
    "take",
    "take_reserved",
    "withdraw",
    "withdraw_candidates",
    "withdraw_expired",
    "withdraw_reserved",
    "write_layout",
]
