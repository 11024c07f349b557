"""The filter of submitted work: by batch, annotator, state and mark."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import Q

from annotate.frames.rating_patterns import WITHDRAWN
from annotate.models import Assignment, Hit
from annotate.models.assignment import AssignmentQuerySet
from annotate.models.batch import find_batch_ids
from annotate.models.conditions import is_in_use, is_item, is_work
from projects.models import Membership, Project

State = Assignment.State
Mark = Assignment.Mark
CONTROL = "control"
"""Beside the marks: work whose mark lets it count, on a HIT of controls alone, so that no result has it."""
EMPTIED = "emptied"
"""The same on a HIT whose candidates are all withdrawn."""
MARKS = [*Mark.choices, (CONTROL, "control HIT"), (EMPTIED, "all candidates withdrawn")]
COUNTING = (Mark.COUNTED, Mark.LATE)


@dataclass(frozen=True, kw_only=True)
class WorkFilter:
    """The filter of a list of submitted work; without values it matches all of it.

    `until` keeps out what was submitted after the list was shown: no one decides on work that they haven't seen.
    """

    batch: int | None = None
    annotator: str = ""
    state: str = ""
    mark: str = ""
    is_answered: bool = False
    only_absent: bool = False
    """Whether only work of removed and suspended annotators matches."""
    uuids: tuple[str, ...] = ()
    until: datetime | None = None

    def select_from(self, project: Project) -> AssignmentQuerySet:
        """Return the matching submitted assignments of the project, without imported judgments."""
        batches = find_batch_ids(project, is_collecting=True)
        found = Assignment.objects.submitted().filter(hit__batch__in=batches)
        wanted = {
            "hit__batch__number": self.batch,
            "annotator__pseudonym": self.annotator,
            "state": self.state,
            "submitted_at__lte": self.until,
        }
        # An empty value matches everything, so it must not become a condition.
        found = found.filter(**{name: value for name, value in wanted.items() if value})
        if self.mark:
            found = found.filter(mark__in=COUNTING if self.mark in (CONTROL, EMPTIED) else (self.mark,))
        if self.mark == CONTROL:
            found = found.exclude(hit__purpose=Hit.Purpose.WORK)
        elif self.mark == EMPTIED:
            found = found.filter(hit__in=find_emptied_hits(project))
        elif self.mark in COUNTING:
            found = found.filter(hit__purpose=Hit.Purpose.WORK).exclude(hit__in=find_emptied_hits(project))
        if self.only_absent:
            found = found.exclude(annotator__standing=Membership.Standing.ACTIVE)
        if self.uuids:
            found = found.filter(uuid__in=self.uuids)
        return found.filter(~Q(reply="")) if self.is_answered else found

    def as_json(self) -> dict[str, object]:
        """Return the filter as the audit log stores it: without uuids, which may be thousands, and empty values."""
        values = {
            "batch": self.batch,
            "annotator": self.annotator,
            "state": self.state,
            "mark": self.mark,
            "answered": self.is_answered,
            "only_absent": self.only_absent,
        }
        return {name: value for name, value in values.items() if value}


def find_emptied_hits(project: Project) -> list[int]:
    """Return the HITs whose candidates are all withdrawn: no rating of them enters the results."""
    with connection.cursor() as cursor:
        cursor.execute(_EMPTIED, {"project": project.pk})
        return [pk for (pk,) in cursor.fetchall()]


# From the withdrawn candidates on, which are few.
_EMPTIED = f"""
SELECT DISTINCT i.hit_id FROM annotate_item i JOIN annotate_hit h ON h.id = i.hit_id AND {is_work("h")}
WHERE i.candidate_id IN ({WITHDRAWN}) AND {is_item("i")} AND NOT EXISTS (
    SELECT 1 FROM annotate_item left_in WHERE left_in.hit_id = h.id AND {is_item("left_in")} AND {is_in_use("left_in")})
"""
