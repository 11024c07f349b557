"""What a page computes from all judgments of a project, kept by each process until one of them changes."""

import hashlib
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import orjson
from django.core.cache import caches
from django.db import connection

from annotate.frames.rating_patterns import execute_analytic
from annotate.models.batch import count_wanted_assignments
from projects.models import Project

T = TypeVar("T")
Version = tuple[int, int, datetime | None]

LEAST_WANTED = 500
"""Where batches want fewer assignments, which are some thousand judgments, computing is as fast as keeping."""
_SECONDS = 3600
"""How long figures stay that nobody asks for; which judgments they are from is part of their key."""
_ID_BYTES = 8


def read_version(project: Project) -> Version:
    """Return what changes with the judgments: the number of acts that reach results, and of submitted HITs, the last.

    Numbers only grow, so what is read after its version is never older than that.
    """
    return project.remember("version", lambda: _read_version(project))


def keep(project: Project, name: str, settings: object, compute: Callable[[], T]) -> T:
    """Return what `compute` returns for these settings, from an earlier call if nothing has changed since.

    It may rest on nothing but the settings, the judgments, and what acts of the log change. `settings` are what JSON
    holds.
    """
    if count_wanted_assignments(project) < LEAST_WANTED:
        return compute()
    key = hashlib.sha256(orjson.dumps([project.pk, name, settings, read_version(project)])).hexdigest()
    kept = caches["kept"]
    found: T | None = kept.get(key)
    if found is None:
        found = compute()
        # The key names the version of the judgments, so nothing ever has to be deleted.
        kept.set(key, found, _SECONDS)
    return found


class Order(Sequence[int]):
    """Ids in an order, eight bytes each: a list of any length, of which a page reads a slice."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __len__(self) -> int:
        return len(self._content) // _ID_BYTES

    def __getitem__(self, part: Any) -> Any:
        if not isinstance(part, slice):
            return self[part : part + 1][0]
        start, stop, _ = part.indices(len(self))
        n = max(0, stop - start)
        return list(struct.unpack_from(f">{n}q", self._content, start * _ID_BYTES)) if n else []


def fetch_order(statement: str, order: str, parameters: Mapping[str, Any], *, key: str) -> Order:
    """Return the ids in the column `key` of a statement's rows, in an order. All three are fixed SQL, never input."""
    # One value of bytes, where a row for each of 300,000 candidates would take longer than the statement itself.
    ordered = f"SELECT string_agg(int8send({key}), ''::bytea ORDER BY {order}) FROM ({statement}) found"
    with execute_analytic(ordered, parameters) as cursor:
        (content,) = cursor.fetchone()
    return Order(bytes(content or b""))


def _read_version(project: Project) -> Version:
    with connection.cursor() as cursor:
        cursor.execute(_VERSION, {"project": project.pk, "members": project.find_ids().members})
        n_acts, n_submitted, last = cursor.fetchone()
    return n_acts, n_submitted, last


# Acts write a row each into projects_figurechange (docs/decisions/0014). Submitting is no act of the log, so submitted
# assignments are counted beside them: by their annotators, whose index has the time of each.
_VERSION = """
SELECT c.n, a.n, a.at
FROM (SELECT count(*) AS n FROM projects_figurechange WHERE project_id = %(project)s) c,
     (SELECT count(*) AS n, max(submitted_at) AS at FROM annotate_assignment
      WHERE annotator_id = ANY(%(members)s) AND submitted_at IS NOT NULL) a
"""
