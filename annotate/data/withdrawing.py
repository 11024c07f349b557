"""Withdrawing a broken candidate or passage: no longer assigned, its judgments kept and not counted."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models.functions import Now

from annotate import places
from annotate.models import Judgment
from annotate.models.conditions import is_collected, is_in_use, is_item, is_work
from annotate.places import Withdrawn
from projects import access, log
from projects.database.locks import AdvisoryLock, lock_in_project
from projects.errors import Refused
from projects.identical_answers import mark_identical
from projects.models import Act, Candidate, Membership, Passage, Project


@dataclass(frozen=True)
class WithdrawalPlan:
    """The effect of a withdrawal, in numbers; HITs left empty lose their open places."""

    n_candidates: int
    n_hits: int
    n_hits_emptied: int
    n_places: int
    n_judgments: int
    n_open: int
    """Assignments in which somebody is rating one of the candidates now."""
    n_identical: int = 0
    """Candidates that have the ratings of one of these and would have none; the first of each is to be rated then."""


def plan_withdrawal(candidate_ids: Sequence[int]) -> WithdrawalPlan:
    """Return what withdrawing these candidates would change if it were done now."""
    with connection.cursor() as cursor:
        cursor.execute(_PLAN, {"ids": list(candidate_ids)})
        n_hits, n_emptied, n_places = map(int, cursor.fetchone())
        cursor.execute(_OPEN, {"ids": list(candidate_ids)})
        (n_open,) = cursor.fetchone()
    judgments = Judgment.objects.filter(candidate__in=candidate_ids, is_counted=True).count()
    # Of the same questions, as there is no index of what is identical to a candidate.
    questions = Candidate.objects.filter(pk__in=candidate_ids).values("question")
    identical = Candidate.objects.filter(question__in=questions, identical_to__in=candidate_ids)
    n_identical = identical.exclude(pk__in=candidate_ids).count()
    return WithdrawalPlan(len(candidate_ids), n_hits, n_emptied, n_places, judgments, n_open, n_identical)


def withdraw_candidate(*, project: Project, actor: Membership | None, candidate: Candidate, why: str) -> Withdrawn:
    """Withdraw one candidate and return the effect. Raises Refused without a reason, or if it is already withdrawn."""
    return _withdraw(project, actor, candidate, [candidate.pk], [], why)


def withdraw_passage(*, project: Project, actor: Membership | None, passage: Passage, why: str) -> Withdrawn:
    """Withdraw a passage with all its candidates and controls. Raises Refused as `withdraw_candidate`."""
    candidates = Candidate.objects.filter(question__passage=passage).values_list("pk", flat=True)
    return _withdraw(project, actor, passage, list(candidates), [passage.pk], why)


def _withdraw(
    project: Project,
    actor: Membership | None,
    row: Candidate | Passage,
    candidate_ids: Sequence[int],
    passage_ids: Sequence[int],
    why: str,
) -> Withdrawn:
    """Withdraw twice, in two transactions: judgments being submitted during the first are found by the second."""
    if not why.strip():
        raise Refused("Give a reason. It is recorded in the audit log.")
    act = Act(f"withdraw {row._meta.model_name}")
    with transaction.atomic():
        # In this order, as where a batch is cut again.
        if actor is not None:
            access.lock_actor(actor)
        lock_in_project(AdvisoryLock.WITHDRAWALS, project.pk)
        fresh = type(row)._default_manager.filter(pk=row.pk, withdrawn_at=None)
        if not fresh.update(withdrawn_at=Now(), withdrawn_why=why.strip()):
            raise Refused("This is already withdrawn.")
        if isinstance(row, Candidate):
            mark_identical(project, [row.question_id])
        done = places.withdraw_candidates(candidate_ids, passage_ids=passage_ids)
        after = {"items": done.n_items, "hits_emptied": done.n_hits_emptied, "judgments": done.n_judgments}
        log.record(project, actor, act, row, after=after, why=why.strip())
    with transaction.atomic():
        late = places.withdraw_candidates(candidate_ids, passage_ids=passage_ids)
        if late.n_judgments:
            log.mark_stale(project, act, row)
    return done + late


# Controls that were drawn from a pool are in layouts alone. Few assignments are open, and an index has them.
_OPEN = """
SELECT count(*) FROM annotate_assignment a WHERE a.state = 'open' AND EXISTS (
    SELECT 1 FROM annotate_item i WHERE i.id = ANY(a.layout) AND i.candidate_id = ANY(%(ids)s))
"""

# The HITs that ask about one of the candidates, with those that would be left without any other item (`is_emptied`).
_PLAN = f"""
WITH hit AS (
    SELECT h.id, h.places_open, NOT EXISTS (
        SELECT 1 FROM annotate_item rest WHERE rest.hit_id = h.id AND {is_in_use("rest")}
          AND {is_item("rest")} AND rest.candidate_id <> ALL (%(ids)s)) AS is_emptied
    FROM annotate_hit h JOIN annotate_batch b ON b.id = h.batch_id
    WHERE {is_work("h")} AND {is_collected("b")} AND h.id IN (
        SELECT i.hit_id FROM annotate_item i
        WHERE i.candidate_id = ANY (%(ids)s) AND {is_item("i")} AND {is_in_use("i")}))
SELECT count(*), count(*) FILTER (WHERE is_emptied), coalesce(sum(places_open) FILTER (WHERE is_emptied), 0) FROM hit
"""
