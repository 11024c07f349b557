"""Openings: whether a project has work for an annotator, and if not, the sentence that explains it."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection
from django.utils.translation import gettext as _

from annotate.models.conditions import is_admitted, is_collected
from annotate.qualification.admission import find_admission
from projects.models import Membership


@dataclass(frozen=True)
class Opening:
    """The work that a project's batches have for one annotator. If gated, it is theirs once they are qualified.

    The cents are the pay for a full HIT of `n_items` in the batches open to them; if a batch pays by answer, a smaller
    HIT pays less.
    """

    is_open: bool = False
    is_open_to_them: bool = False
    is_paused: bool = False
    is_gated: bool = False
    low_cents: int = 0
    high_cents: int = 0
    is_paid_by_answer: bool = False
    n_items: int = 0

    @property
    def why_no_work(self) -> str:
        """Explain why there is no HIT at this moment, without revealing anything about others' work."""
        if self.is_open_to_them:
            return _("You've rated everything for now. Thank you! Check back later for more.")
        if self.is_gated:
            return _("Pass the qualification test to start.")
        if self.is_open:
            return _("The work available now is assigned to other annotators. Check back later for more.")
        if self.is_paused:
            return _("Work is paused. You can finish your open HIT. Check back later for more.")
        return _("No work is available right now. Check back later.")


def find_openings(annotators: Iterable[Membership]) -> dict[int, Opening]:
    """Return the opening of each annotator by membership id, with one query for all."""
    ids = [annotator.pk for annotator in annotators]
    with connection.cursor() as cursor:
        cursor.execute(_OPENINGS, [ids])
        found = {row[0]: Opening(*row[1:]) for row in cursor.fetchall()}
    return {pk: found.get(pk, Opening()) for pk in ids}


def find_opening(annotator: Membership) -> Opening:
    return find_openings([annotator])[annotator.pk]


def explain_no_work(annotator: Membership) -> str:
    """Explain why there is no HIT for this annotator now, and what to do if they are not qualified."""
    opening = find_opening(annotator)
    if opening.is_open_to_them or not opening.is_gated:
        return opening.why_no_work
    admission = find_admission(annotator)
    return (admission.why_not if admission else "") or opening.why_no_work


_THEIRS = "is_open AND is_asked AND is_admitted"
"""SQL: whether a batch is open to the annotator; `is_asked` if it names no annotators or names this one too."""

# One row per annotator and batch, folded to one row per annotator. Pay is the range over the batches that are open to
# the annotator, because which of them the next HIT comes from is not known before it is taken.
_OPENINGS = f"""
SELECT id, bool_or(is_open), bool_or({_THEIRS}), bool_or(is_paused),
       bool_or(is_open AND is_asked AND NOT is_admitted),
       coalesce(min(cents) FILTER (WHERE {_THEIRS}), 0), coalesce(max(cents) FILTER (WHERE {_THEIRS}), 0),
       bool_or({_THEIRS} AND cents_per_item > 0), coalesce(max(hit_size) FILTER (WHERE {_THEIRS}), 0)
FROM (
    SELECT m.id, b.cents_per_hit + b.cents_per_item * b.hit_size AS cents, b.cents_per_item, b.hit_size,
           b.state = 'open' AS is_open, b.state = 'paused' AS is_paused,
           NOT b.has_named_annotators OR EXISTS (
               SELECT 1 FROM annotate_batchannotator n WHERE n.batch_id = b.id AND n.annotator_id = m.id) AS is_asked,
           {is_admitted(batch="b", annotator="m.id")} AS is_admitted
    FROM projects_membership m JOIN annotate_batch b ON b.project_id = m.project_id AND {is_collected("b")}
    WHERE m.id = ANY(%s)) found
GROUP BY id
"""
