"""Spot checks: assignments drawn at random, rated blind by a reviewer, then accepted or rejected item by item.

Reviews and their verdicts are rows of their own and never enter places, gold scores or agreement.
"""

import hashlib
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import NamedTuple

from django.db import connection, transaction
from django.utils import timezone

from annotate.models import QualityRules, Review, ReviewVerdict
from annotate.models.conditions import is_collected, is_member, is_submitted, is_work, rates_here
from annotate.rating import answers as rating_answers
from annotate.rating.sent import SentAnswers
from projects import log
from projects.errors import Refused
from projects.language.amounts import plural
from projects.models import Act, Membership, Project
from projects.rubric.rubrics import frozen_criteria

State = Review.State
SEEDS = 2**62
"""The number of possible seeds: too many to guess which HITs will be drawn, and within a database's bigint."""


class SubmittedAssignment(NamedTuple):
    """A submitted assignment; lists of them are in the order of submission."""

    id: int
    uuid: str
    is_drawn: bool


@dataclass(frozen=True)
class ItemVerdict:
    """A reviewer's verdict on one item."""

    is_poor: bool
    note: str = ""


# All submitted work that may be drawn, by annotator and in the order of submission, with whether it was drawn before.
# Approved work stays in the list: without it, the stretches of `choose` would shift and be drawn from again. HITs of
# controls alone enter no result, and have checks of their own.
_SUBMITTED = f"""
SELECT a.annotator_id, a.id, a.uuid::text, r.id IS NOT NULL
FROM annotate_assignment a
JOIN annotate_hit h ON h.id = a.hit_id AND {is_work("h")}
JOIN annotate_batch b ON b.id = h.batch_id AND {is_collected("b")}
JOIN projects_membership m ON m.id = a.annotator_id AND {is_member("m")} AND {rates_here("m")}
LEFT JOIN annotate_review r ON r.assignment_id = a.id
WHERE b.project_id = %s AND {is_submitted("a")}
ORDER BY a.annotator_id, a.submitted_at, a.id
"""


@transaction.atomic
def draw_spot_checks(*, project: Project) -> int:
    """Draw the spot checks that are due and return how many; none are if the rules require none.

    A second draw, even at the same time, draws nothing more, because it depends on the stored seed alone.
    """
    rules = QualityRules.objects.filter(pk=project.pk).first()
    if rules is None or not (rules.spot_check_share or rules.spot_check_floor):
        return 0
    # No lock: two draws at once compute the same assignments, and `_store` inserts each once.
    by_annotator: dict[int, list[SubmittedAssignment]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_SUBMITTED, [project.pk])
        for annotator, *submitted in cursor:
            by_annotator.setdefault(annotator, []).append(SubmittedAssignment(*submitted))
    due = [
        pk
        for each in by_annotator.values()
        for pk in choose(each, share=rules.spot_check_share, least=rules.spot_check_floor, seed=rules.seed)
    ]
    return _store(project, due) if due else 0


def choose(submitted: Sequence[SubmittedAssignment], *, share: float, least: int, seed: int) -> list[int]:
    """Return which of an annotator's assignments to draw now, in addition to those drawn before.

    The work is divided into stretches of 1 / share in the order of submission, and one is drawn from each full stretch,
    so that checks are spread over time; then as many more as the minimum requires. Within a stretch the order is a hash
    of seed and assignment: random, and the same at every draw.
    """
    drawn = {each.id for each in submitted if each.is_drawn}
    drawn_before = set(drawn)
    start = 0
    # 1e-9 absorbs the rounding error of products such as 20 * 0.05. The end of a stretch is n / share, rounded up.
    for n_due in range(1, floor(len(submitted) * share + 1e-9) + 1):
        end = min(len(submitted), -int(-n_due / share // 1))
        stretch = submitted[start:end]
        # A stretch in which one was drawn before, for the minimum or under another share, needs no second one.
        if stretch and not drawn & {each.id for each in stretch}:
            drawn.add(min(stretch, key=lambda each: _hash(seed, each)).id)
        start = end
    rest = sorted((each for each in submitted if each.id not in drawn), key=lambda each: _hash(seed, each))
    drawn |= {each.id for each in rest[: max(0, least - len(drawn))]}
    return sorted(drawn - drawn_before)


def _hash(seed: int, submitted: SubmittedAssignment) -> bytes:
    return hashlib.sha256(f"{seed}:{submitted.uuid}".encode()).digest()


def _store(project: Project, assignment_ids: Collection[int]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO annotate_review (assignment_id, state) SELECT unnest(%s::bigint[]), 'waiting'
               ON CONFLICT (assignment_id) DO NOTHING""",
            [list(assignment_ids)],
        )
        n_drawn = int(cursor.rowcount)
    if n_drawn:
        log.record(project, None, Act.DRAW_SPOT_CHECKS, project, after={"drawn": n_drawn})
    return n_drawn


@transaction.atomic
def set_rules(
    *, project: Project, actor: Membership, share: float, least: int, thresholds: Mapping[str, float | str]
) -> QualityRules:
    """Set the thresholds and how much is spot-checked. The seed is drawn once and then kept."""
    rules, _ = QualityRules.objects.select_for_update().get_or_create(
        project=project, defaults={"seed": secrets.randbelow(SEEDS)}
    )
    before = _describe_rules(rules)
    rules.spot_check_share, rules.spot_check_floor, rules.thresholds = share, least, dict(thresholds)
    rules.save(update_fields=["spot_check_share", "spot_check_floor", "thresholds"])
    if _describe_rules(rules) != before:
        log.record(project, actor, Act.CHANGE_QUALITY_RULES, project, before=before, after=_describe_rules(rules))
    return rules


@transaction.atomic
def store_review_ratings(*, review: Review, reviewer: Membership, sent: SentAnswers) -> Review:
    """Store the reviewer's own ratings, given before the annotator's are shown.

    Raises Incomplete, or Refused for the reviewer's own work and if another reviewer was first.
    """
    found = _lock(review, reviewer)
    # Blind ratings are final: by now the page may have shown this reviewer the annotator's own.
    if found.state != State.WAITING:
        raise Refused("This spot check has already been rated.")
    criteria = frozen_criteria(found.assignment.hit.batch.rubric_id)
    keys = {criterion.id: criterion.key for criterion in criteria}
    answers: dict[str, dict[str, float | None]] = {}
    for answer in rating_answers.check_answers(sent, found.assignment.layout, criteria):
        answers.setdefault(str(answer.item_id), {})[keys[answer.criterion_id]] = answer.value
    found.state, found.reviewer, found.answers, found.rated_at = State.RATED, reviewer, answers, timezone.now()
    found.save(update_fields=["state", "reviewer", "answers", "rated_at"])
    log.record(reviewer.project, reviewer, Act.RATE_FOR_REVIEW, found.assignment.annotator, after={"review": found.pk})
    return found


@transaction.atomic
def store_verdicts(*, review: Review, reviewer: Membership, verdicts: Mapping[int, ItemVerdict]) -> Review:
    """Accept or reject each item, by position in the layout, and finish the review.

    Raises Refused for the reviewer's own work, before the blind rating, for another reviewer's check, a second time, or
    if an item has no verdict.
    """
    found = _lock(review, reviewer)
    if found.state == State.DONE:
        raise Refused("This spot check is already finished.")
    if found.state == State.WAITING:
        raise Refused("Rate the items yourself first.")
    if found.reviewer_id != reviewer.pk:
        raise Refused("Another reviewer is doing this spot check.")
    layout = found.assignment.layout
    missing = [place + 1 for place in range(len(layout)) if place not in verdicts]
    if missing:
        items = plural(len(missing), "item", "items")
        raise Refused(f"Accept or reject every item. Still open: {items} {', '.join(map(str, missing))}.")
    ReviewVerdict.objects.bulk_create(
        ReviewVerdict(review=found, item_id=item, is_poor=verdicts[place].is_poor, note=verdicts[place].note)
        for place, item in enumerate(layout)
    )
    found.state, found.done_at = State.DONE, timezone.now()
    found.save(update_fields=["state", "done_at"])
    n_poor = sum(verdicts[place].is_poor for place in range(len(layout)))
    after = {"review": found.pk, "poor": n_poor, "of": len(layout)}
    log.record(reviewer.project, reviewer, Act.FINISH_REVIEW, found.assignment.annotator, after=after)
    return found


def why_not_review(review: Review, reviewer: Membership) -> str:
    """Explain why a reviewer may not do this check; an empty text if they may."""
    if review.assignment.annotator_id == reviewer.pk:
        return "This is your own work. Another manager needs to check it."
    if review.reviewer_id not in (None, reviewer.pk) and review.state != State.DONE:
        return "Another reviewer is doing this spot check."
    return ""


def _lock(review: Review, reviewer: Membership) -> Review:
    """Lock and return the review, with its assignment. Raises Refused for the reviewer's own work."""
    reviews = Review.objects.select_for_update(of=("self",), no_key=True)
    found = reviews.select_related("assignment__annotator", "assignment__hit__batch").get(pk=review.pk)
    if found.assignment.annotator_id == reviewer.pk:
        raise Refused("This is your own work. Another manager needs to check it.")
    return found


def _describe_rules(rules: QualityRules) -> dict[str, object]:
    return {
        "spot_check_share": rules.spot_check_share,
        "spot_check_floor": rules.spot_check_floor,
        "thresholds": rules.thresholds,
    }
