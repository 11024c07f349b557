"""The work of a batch: its HITs and their texts, the pool for personal HITs, and what a project's work so far says."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from django.db import connection
from django.db.models import TextField
from django.db.models.functions import MD5, Cast

from annotate.batches.control_plan import ControlPlan
from annotate.batches.personal_hits import ENOUGH, Supply
from annotate.models import Batch, Item
from annotate.models.conditions import (
    is_active_annotator,
    is_collected,
    is_counted,
    is_work,
    rates_here,
    was_submitted,
)
from annotate.rating.pace import BYTES_PER_SECOND, MEASURED, SECONDS_PER_RATING, Pace, measure_texts, read_pace
from measures.outcome import Undefined
from measures.quality.shares import Share, compute_share
from projects.models import Candidate, Passage, Project

N_HITS_MEASURED = 1_000
"""HITs whose texts are measured: all of a usual batch, a random sample of a larger one."""
N_PASSAGES_MEASURED = 200
"""Passages whose texts give a project's mean lengths: the same ones each time, chosen by the hash of their key."""
N_KNOWN_MEASURED = 1_000
"""Rated candidates of which it is looked up who has had them."""


@dataclass(frozen=True, kw_only=True)
class PlannedHit:
    """A HIT to be priced: its passage, its candidates with their questions, and how many annotators rate it."""

    passage: int
    candidates: Sequence[int]
    questions: Sequence[int]
    n_places: int


@dataclass(frozen=True, kw_only=True)
class Texts:
    """The mean bytes of a HIT's passage, and of one item with its share of questions and references."""

    passage_bytes: float = 0.0
    item_bytes: float = 0.0
    n_criteria: int = 1

    def estimate_seconds(self, n_hits: float, n_items: float) -> float:
        """Return the time of so many HITs with so many items in all, estimated from the length of the texts."""
        reading = (n_hits * self.passage_bytes + n_items * self.item_bytes) / BYTES_PER_SECOND
        return reading + SECONDS_PER_RATING * n_items * self.n_criteria


@dataclass(frozen=True, kw_only=True)
class Work:
    """The ordinary work to be priced: how many assignments have how many candidates, and the length of their texts.

    The numbers of assignments are fractions where a sample stands for all.
    """

    sizes: Mapping[int, float]
    texts: Texts

    @classmethod
    def of_mean_size(cls, n_assignments: float, n_judgments: float, texts: Texts) -> "Work":
        """Return the work of HITs of which only the mean size is known: as many of the sizes next to it as give it."""
        if not n_assignments:
            return cls(sizes={}, texts=texts)
        small = int(n_judgments // n_assignments)
        n_large = n_judgments - small * n_assignments
        return cls(sizes={small: n_assignments - n_large, small + 1: n_large}, texts=texts)

    @property
    def n_assignments(self) -> float:
        return sum(self.sizes.values())

    @property
    def n_judgments(self) -> float:
        return sum(n_items * n for n_items, n in self.sizes.items())

    def __mul__(self, times: float) -> "Work":
        return replace(self, sizes={n_items: n * times for n_items, n in self.sizes.items()})


@dataclass(frozen=True)
class Redone:
    """Submitted assignments that others had to do again, as far as this project has any.

    `share` is of all that were submitted; `paid_share` is how many of those done again were paid nevertheless.
    """

    share: Share | Undefined
    paid_share: float = 1.0

    def expect_more(self, share: float) -> float:
        """Return the assignments that are done again for each one that counts, if this share is."""
        # Those done again may have to be done again too, which sums up to q / (1 - q). The bound keeps it finite where
        # nothing counted so far.
        return share / (1 - min(share, 0.95))


@dataclass(frozen=True)
class Basis:
    """What a project's work so far says about work to come: its pace, how much was redone, and who can work."""

    pace: Pace
    redone: Redone
    n_active: int

    def expect_annotators(self, judgments: int, *, n_named: int = 0) -> int:
        """Return how many share the work: the chosen annotators, or all active ones, at least one per judgment."""
        return n_named or max(judgments, self.n_active, 1)


def measure_work(hits: Iterable[PlannedHit], *, rubric_id: int | None) -> Work:
    """Return the sizes of HITs, and the length of their texts, measured on a random sample of very many."""
    hits = [hit for hit in hits if hit.n_places]
    sizes: Counter[int] = Counter()
    for hit in hits:
        sizes[len(hit.candidates)] += hit.n_places
    # A fixed seed: the same page twice shows the same numbers.
    sample = hits if len(hits) <= N_HITS_MEASURED else Random(0).sample(hits, N_HITS_MEASURED)  # noqa: S311
    passages: Counter[int] = Counter()
    questions: Counter[int] = Counter()
    candidates: Counter[int] = Counter()
    for hit in sample:
        passages[hit.passage] += hit.n_places
        for question in set(hit.questions):
            questions[question] += hit.n_places
        for candidate in hit.candidates:
            candidates[candidate] += hit.n_places
    if not candidates:
        return Work(sizes=sizes, texts=Texts())
    of_passages, of_items, n_criteria = measure_texts(
        passages=passages, questions=questions, candidates=candidates, rubric_id=rubric_id
    )
    texts = Texts(
        passage_bytes=of_passages / sum(passages.values()),
        item_bytes=of_items / sum(candidates.values()),
        n_criteria=n_criteria,
    )
    return Work(sizes=sizes, texts=texts)


def measure_project_texts(project: Project, *, rubric_id: int | None) -> Texts:
    """Return the length of a project's texts, measured on some of its passages with all that is asked about them."""
    sample = Passage.objects.in_project(project).filter(withdrawn_at=None).order_by(MD5(Cast("pk", TextField())))
    candidates = Candidate.objects.filter(
        question__passage__in=sample.values("pk")[:N_PASSAGES_MEASURED], withdrawn_at=None
    )
    found: dict[int, tuple[list[int], list[int]]] = {}
    for passage, candidate, question in candidates.values_list("question__passage_id", "pk", "question_id"):
        asked = found.setdefault(passage, ([], []))
        asked[0].append(candidate)
        asked[1].append(question)
    hits = (
        PlannedHit(passage=passage, candidates=candidates, questions=questions, n_places=1)
        for passage, (candidates, questions) in found.items()
    )
    return measure_work(hits, rubric_id=rubric_id).texts


def fetch_planned_hits(places: Mapping[int, int]) -> list[PlannedHit]:
    """Return these HITs of existing batches, given by id with their number of places, to be priced."""
    found: dict[int, tuple[int, list[int], list[int]]] = {}
    items = Item.objects.filter(
        hit__in=list(places), control=Item.Control.NONE, retired_at=None, candidate__isnull=False
    )
    for hit, passage, candidate, question in items.values_list(
        "hit_id", "hit__passage_id", "candidate_id", "question_id"
    ):
        _, candidates, questions = found.setdefault(hit, (passage, [], []))
        candidates.append(candidate or 0)
        questions.append(question)
    return [
        PlannedHit(passage=passage, candidates=candidates, questions=questions, n_places=places[hit])
        for hit, (passage, candidates, questions) in found.items()
    ]


def measure_basis(project: Project) -> Basis:
    """Return what the project's work so far says about work to come."""
    with connection.cursor() as cursor:
        cursor.execute(_BASIS, {"project": project.pk})
        rows = cursor.fetchall()
    n, n_again, n_paid, n_active = rows[0][:4]
    pace = read_pace([row[4:] for row in rows if row[4] is not None])
    share = compute_share(n_again, n, nothing="nothing was submitted yet")
    return Basis(pace, Redone(share, n_paid / n_again if n_again else 1.0), n_active)


# The work submitted so far, how much of it was rejected, excluded or surplus, and how much of that is paid; the active
# annotators; and in further columns the rows of the pace, of which there may be none.
_BASIS = f"""
SELECT redone.*, measured.* FROM (
SELECT count(*) AS n, count(*) FILTER (WHERE NOT a.holds_place),
       count(*) FILTER (WHERE NOT a.holds_place AND NOT (a.state = 'rejected' AND a.is_unpaid)),
       (SELECT count(*) FROM projects_membership m
        WHERE m.project_id = %(project)s AND {is_active_annotator("m")} AND {rates_here("m")})
FROM annotate_batch b JOIN annotate_hit h ON h.batch_id = b.id AND {is_work("h")}
JOIN annotate_assignment a ON a.hit_id = h.id AND {was_submitted("a")}
WHERE b.project_id = %(project)s AND {is_collected("b")}) redone
LEFT JOIN ({MEASURED}) measured ON true
"""


def find_supply(batch: Batch) -> Supply:
    """Return what the pool of a batch holds for personal HITs: what is not retired, accepted or not."""
    plan = ControlPlan.read(batch.control_plan)
    if not plan.makes_personal_hits(batch.presentation):
        return ENOUGH
    pool = Item.objects.filter(pool_of=batch, retired_at=None).exclude(control=Item.Control.REPEAT)
    if not pool.exists():
        return find_supply_of_new(
            batch.project,
            list(Item.objects.filter(hit__batch=batch).values_list("candidate", flat=True)),
            plan,
        )
    degraded_per_hit = pool.filter(control=Item.Control.DEGRADED).count() / max(1, batch.n_hits)
    known = pool.filter(recipe=Item.Recipe.KNOWN_CANDIDATE)
    return _add_known(
        Supply(degraded_per_hit=degraded_per_hit), batch.project, known.values_list("candidate", flat=True)
    )


def find_supply_of_new(project: Project, candidates: Collection[int], plan: ControlPlan) -> Supply:
    """Return what the pool of a batch with these candidates can hold: rated candidates that are not among them."""
    if not plan.known_hit_every:
        return ENOUGH
    with connection.cursor() as cursor:
        cursor.execute(_SCORED, {"project": project.pk, "limit": N_KNOWN_MEASURED, "chosen": list(candidates)})
        return _add_known(ENOUGH, project, [row[0] for row in cursor.fetchall()])


def _add_known(supply: Supply, project: Project, candidates: Iterable[int | None]) -> Supply:
    """Return the supply with the rated candidates that an annotator has not had: no one gets a candidate twice."""
    known = list(candidates)[:N_KNOWN_MEASURED]
    with connection.cursor() as cursor:
        cursor.execute(_UNSEEN, {"project": project.pk, "known": known})
        n_passages, n_candidates = map(float, cursor.fetchone())
    per_passage = n_candidates / n_passages if n_passages else 0.0
    return replace(supply, known_passages=n_passages, known_per_passage=per_passage)


# Candidates with a known score as `controls.known_answers` finds them: judged at least twice, or imported.
_SCORED = f"""
SELECT DISTINCT scored.candidate_id FROM (
    SELECT j.candidate_id, j.criterion_id
    FROM annotate_batch b JOIN annotate_hit h ON h.batch_id = b.id
    JOIN annotate_assignment a ON a.hit_id = h.id JOIN annotate_judgment j ON j.assignment_id = a.id
    WHERE b.project_id = %(project)s AND {is_counted("j")} AND j.candidate_id <> ALL(%(chosen)s::bigint[])
    GROUP BY 1, 2 HAVING count(*) >= 2 OR bool_or(NOT {is_collected("b")})) scored
LIMIT %(limit)s
"""

# How many of these candidates, and of their passages, an active annotator has not been served, on average.
_UNSEEN = f"""
SELECT coalesce(avg(left_to_ask.n_passages), 0), coalesce(avg(left_to_ask.n_candidates), 0)
FROM (
    SELECT m.id, count(DISTINCT q.passage_id) AS n_passages, count(c.id) AS n_candidates
    FROM projects_membership m
    LEFT JOIN (projects_candidate c JOIN projects_question q ON q.id = c.question_id)
        ON c.id = ANY(%(known)s::bigint[]) AND NOT EXISTS (
            SELECT 1 FROM annotate_item i JOIN annotate_assignment a ON a.hit_id = i.hit_id
            WHERE i.candidate_id = c.id AND a.annotator_id = m.id)
    WHERE m.project_id = %(project)s AND {is_active_annotator("m")} AND {rates_here("m")}
    GROUP BY m.id) left_to_ask
"""
