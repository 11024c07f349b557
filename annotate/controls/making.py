"""Generating the pool of a batch: known answers, and degraded answers with their originals, for managers to accept."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from math import ceil
from random import Random

from django.db import transaction

from annotate.batches.control_plan import ControlPlan
from annotate.controls.batch_corpus import Corpus, Ordinary, list_live_by_question, list_ordinary, make_rng, read_corpus
from annotate.controls.degraded_answers import degrade_answers
from annotate.controls.known_answers import (
    Known,
    drop_taken,
    find_control_criteria,
    find_known_answers,
    list_scored_candidates,
)
from annotate.controls.sampling import normalise
from annotate.models import Batch, Item
from projects import log
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.jobs.running import OnProgress
from projects.models import Act, Criterion, Membership

SPARE = 1.5
"""Known answers generated for each one shown: spares are needed, because equal texts never share a page."""
Control, Recipe = Item.Control, Item.Recipe


@dataclass(frozen=True)
class AddedControls:
    """What was added to a pool, and how many answers could not be degraded."""

    n_known: int
    n_known_candidates: int
    n_sources: int
    n_degraded: int
    n_not_degraded: int

    @property
    def n(self) -> int:
        return self.n_known + self.n_known_candidates + self.n_sources + self.n_degraded


@dataclass(frozen=True)
class Basis:
    """What controls are generated from. If it has changed when they are to be added, they may no longer fit."""

    plan: ControlPlan
    items: frozenset[int]
    pool: frozenset[int]


@dataclass(frozen=True)
class Generated:
    """Controls that are not in the pool yet, and how many answers could not be degraded."""

    basis: Basis
    known: list[Known]
    scored: list[Known]
    sources: list[Item]
    degraded: list[Item]
    n_not_degraded: int


def check_can_make(batch: Batch) -> None:
    """Raise Refused without a plan, for an imported, closed or archived batch, or with only categories to check."""
    if ControlPlan.read(batch.control_plan).is_empty:
        raise Refused("This batch shows no controls. Set how many first.")
    if batch.kind == Batch.Kind.IMPORTED or batch.state in (Batch.State.CLOSED, Batch.State.ARCHIVED):
        raise Refused("Controls can’t be generated for an imported, closed or archived batch.")
    if not find_control_criteria(batch):
        raise Refused(
            "Controls have a correct rating, and the criteria by which this batch checks annotators are categories "
            "without an order. Add a criterion with an order, such as correctness, to the rubric of the next batch."
        )


def make_pool(*, batch: Batch, actor: Membership | None) -> AddedControls:
    """Add the controls that the batch's plan requires and its pool lacks; none is shown before a manager accepts it.

    Calling it again adds nothing that was generated before, retired or not. Raises Refused as `generate` and `add` do.
    """
    with snapshot():
        generated = generate(batch)
    return add(generated, batch=batch, actor=actor)


def generate(batch: Batch, on_progress: OnProgress | None = None) -> Generated:
    """Return the controls that the batch's plan requires and its pool lacks; it only reads, and locks nothing.

    Progress is counted in passages. Raises Refused as `check_can_make`.
    """
    batch = Batch.objects.select_related("project", "rubric").get(pk=batch.pk)
    plan = ControlPlan.read(batch.control_plan)
    check_can_make(batch)
    # Generated from the whole batch and compared with the pool, so that repeating it adds what is missing and nothing
    # else.
    corpus = read_corpus(batch, plan.seed)
    criteria = find_control_criteria(batch)
    pool = list(Item.objects.filter(pool_of=batch).order_by("pk"))
    tick = _count_passages(plan, corpus, on_progress)
    known = _make_known_answers(plan, corpus, pool, criteria, tick)
    scored = _find_scored(batch, plan, pool, criteria) if plan.known_hit_every else []
    sources, degraded, n_failed = degrade_answers(batch, plan, corpus, pool, tick)
    basis = Basis(plan, frozenset(item.id for item in corpus.items), frozenset(item.pk for item in pool))
    return Generated(basis, known, scored, sources, degraded, n_failed)


@transaction.atomic
def add(generated: Generated, *, batch: Batch, actor: Membership | None) -> AddedControls:
    """Add generated controls to the pool of their batch.

    Raises Refused if the batch has been closed, archived or deleted since they were generated, or if its plan, its
    items or its pool have changed. Locks the batch.
    """
    batches = Batch.objects.select_for_update(no_key=True, of=("self",)).select_related("project", "rubric")
    locked = batches.filter(pk=batch.pk).first()
    if locked is None:
        raise Refused("The batch was deleted while its controls were being generated.")
    check_can_make(locked)
    if found := _find_change(locked, generated.basis):
        raise Refused(f"{found} while the controls were being generated, so none were added. Generate them again.")
    scored = drop_taken(locked, generated.scored)
    _write(locked, [*generated.known, *scored])
    # Originals first: degraded items refer to them, and bulk_create sets their ids on the same objects.
    Item.objects.bulk_create(generated.sources)
    Item.objects.bulk_create(generated.degraded)
    added = AddedControls(
        len(generated.known), len(scored), len(generated.sources), len(generated.degraded), generated.n_not_degraded
    )
    seed = generated.basis.plan.seed
    log.record(locked.project, actor, Act.MAKE_CONTROLS, locked, after={"n": added.n, "seed": seed})
    return added


def _find_change(batch: Batch, basis: Basis) -> str:
    """Return what of a batch has changed since the controls were generated from it, or an empty text."""
    if ControlPlan.read(batch.control_plan) != basis.plan:
        return "The plan was changed"
    if frozenset(list_ordinary(batch).values_list("pk", flat=True)) != basis.items:
        return "The items of the batch changed"
    if frozenset(Item.objects.filter(pool_of=batch).values_list("pk", flat=True)) != basis.pool:
        return "Other controls were generated"
    return ""


def _count_passages(plan: ControlPlan, corpus: Corpus, on_progress: OnProgress | None) -> Callable[[], None]:
    """Return a function to call after each passage, of which there are as many as kinds of controls to make."""
    n_kinds = bool(plan.known_per_hit) + bool(plan.degraded_per_hit)
    total = n_kinds * len({item.passage_id for item in corpus.items})
    done = count(1)

    def tick() -> None:
        if on_progress is not None:
            on_progress(next(done), total)

    return tick


def _make_known_answers(
    plan: ControlPlan, corpus: Corpus, pool: Sequence[Item], criteria: Sequence[Criterion], tick: Callable[[], None]
) -> list[Known]:
    """Return known answers for each HIT, to its own questions, alternating between good and wrong ones.

    One with the text of a candidate of the HIT would never be shown there, and counts for nothing: where systems give
    the reference itself, as they do for short answers, an edited reference or a wrong answer takes its place.
    """
    if not plan.known_per_hit:
        return []
    old = {(item.question_id, item.shown_text) for item in pool if item.control == Control.KNOWN_ANSWER}
    live = list_live_by_question(pool, Control.KNOWN_ANSWER)
    known: list[Known] = []
    for passage, members in groupby(corpus.items, key=lambda item: item.passage_id):
        rows = list(members)
        # A generator for each passage: what is generated for one doesn't depend on which others are in the batch.
        rng = make_rng(plan, passage)
        # 20 references from elsewhere are plenty for one passage, and comparing each with every question is slow.
        foreign = [text for other, text in corpus.elsewhere if other != passage]
        references = {row.question_id: corpus.references.get(row.question_id, []) for row in rows}
        sides = find_known_answers(references, rng.sample(foreign, min(len(foreign), 20)), criteria)
        hits = [_Hit.of(list(group)) for _number, group in groupby(rows, key=lambda row: row.hit_id)]
        n_needed = ceil(SPARE * plan.known_per_hit)
        served = _count_served(hits, live, n_needed)
        for hit, n_live in zip(hits, served, strict=True):
            new = [
                [
                    each
                    for each in side
                    if (each.question_id, each.text) not in old and hit.can_show(each.question_id, each.text)
                ]
                for side in sides
            ]
            found = _take_by_turns(new, n_needed - n_live, rng)
            old |= {(each.question_id, each.text) for each in found}
            known += found
        tick()
    return known


@dataclass(frozen=True)
class _Hit:
    """The questions of a HIT, and the texts that it shows already."""

    questions: tuple[int, ...]
    texts: frozenset[str]

    @classmethod
    def of(cls, rows: Sequence[Ordinary]) -> "_Hit":
        return cls(
            tuple(dict.fromkeys(row.question_id for row in rows)), frozenset(normalise(row.text) for row in rows)
        )

    def can_show(self, question_id: int, text: str) -> bool:
        return question_id in self.questions and normalise(text) not in self.texts


_Control = tuple[int, int]
"""A live control: its question, and its place among those of the question."""


def _count_served(hits: Sequence[_Hit], live: Mapping[int, Sequence[str]], most: int) -> list[int]:
    """Return how many live controls serve each HIT of a passage, at most `most`, where each control serves one HIT.

    HITs may ask the same question. If the first took what another one needs, while something else would do for it, the
    other would seem to lack controls that the pool has: so a HIT gives a control up if it finds another (a maximum
    matching by augmenting paths).
    """
    owners: dict[_Control, int] = {}
    closed: set[_Control] = set()  # no HIT that could take these finds another one
    usable = [
        [
            (question, place)
            for question in hit.questions
            for place, text in enumerate(live.get(question, ()))
            if hit.can_show(question, text)
        ]
        for hit in hits
    ]

    def find_control(number: int) -> bool:
        wanted_by: dict[_Control, int] = {}
        given_up: dict[int, _Control | None] = {number: None}
        asked = deque([number])
        while asked:
            hit = asked.popleft()
            for control in usable[hit]:
                if control in wanted_by or control in closed:
                    continue
                wanted_by[control] = hit
                if (owner := owners.get(control)) is None:
                    free: _Control | None = control
                    while free is not None:
                        owners[free] = taker = wanted_by[free]
                        free = given_up[taker]
                    return True
                if owner not in given_up:
                    given_up[owner] = control
                    asked.append(owner)
        closed.update(wanted_by)
        return False

    for number in range(len(hits)):
        for _ in range(most):
            if not find_control(number):
                break
    served = Counter(owners.values())
    return [served[number] for number in range(len(hits))]


def _take_by_turns(sides: Sequence[list[Known]], n: int, rng: Random) -> list[Known]:
    """Return `n` known answers from both sides in turn, each text once per question; a random side comes first."""
    taken: dict[tuple[int, str], Known] = {}
    queues = [rng.sample(side, len(side)) for side in rng.sample(list(sides), len(sides))]
    while len(taken) < n and any(queues):
        for queue in queues:
            if queue and len(taken) < n:
                known = queue.pop()
                taken.setdefault((known.question_id, known.text), known)
    return list(taken.values())


def _find_scored(batch: Batch, plan: ControlPlan, pool: Sequence[Item], criteria: Sequence[Criterion]) -> list[Known]:
    old = {item.candidate_id for item in pool if item.candidate_id is not None}
    found = list_scored_candidates(batch, criteria, plan.seed)
    return [known for _, known in found if known.candidate_id not in old]


def _write(batch: Batch, known: Iterable[Known]) -> None:
    Item.objects.bulk_create(
        Item(
            pool_of=batch,
            question_id=each.question_id,
            position=0,
            control=Control.KNOWN_ANSWER,
            recipe=each.recipe,
            candidate_id=each.candidate_id,
            expected=each.expected,
            shown_text=each.text,
        )
        for each in known
    )
