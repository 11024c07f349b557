"""Generating the pool of a batch: known answers, and degraded answers with their originals, for managers to accept."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from math import ceil
from random import Random
from typing import NamedTuple

import numpy as np
from django.db import transaction
from django.db.models import QuerySet

from annotate.batches.control_plan import ControlPlan
from annotate.batches.selection import pair_id_sql
from annotate.controls.known_answers import (
    Known,
    drop_taken,
    find_known_answers,
    find_quality_criteria,
    list_scored_candidates,
)
from annotate.controls.sampling import normalise
from annotate.models import Batch, Hit, Item
from measures.degrading import PhraseBook, Yield, degrade, measure_yields
from measures.outcome import Undefined
from measures.tokens import token_f1
from projects import log
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.jobs.running import OnProgress
from projects.models import Act, Criterion, Membership, Reference

GOOD_F1 = 0.5
"""A candidate is good enough to be degraded if its token F1 with a reference is at least this."""
SPARE = 1.5
"""Known answers generated for each one shown: spares are needed, because equal texts never share a page."""
MOST_ELSEWHERE = 500
"""References of other passages among which wrong answers are sought; more would only cost time."""
MOST_ANSWERS_TRIED = 2_000
"""Answers on which the yield of degrading is measured: enough for a share exact to about two per cent."""
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


class Ordinary(NamedTuple):
    """An ordinary item."""

    passage_id: int
    hit_id: int
    id: int
    question_id: int
    text: str
    pair: int | None
    """The minimal pair of its candidate. Such items are not degraded: the result could resemble the other candidate."""


@dataclass(frozen=True)
class Corpus:
    """The material for controls: a batch's items, the references of their questions, and phrases from all of them."""

    items: list[Ordinary]
    references: dict[int, list[str]]
    elsewhere: list[tuple[int, str]]
    phrases: PhraseBook


def check_can_make(batch: Batch) -> None:
    """Raise Refused without a plan, or for an imported, closed or archived batch."""
    if ControlPlan.read(batch.control_plan).is_empty:
        raise Refused("This batch shows no controls. Set how many first.")
    if batch.kind == Batch.Kind.IMPORTED or batch.state in (Batch.State.CLOSED, Batch.State.ARCHIVED):
        raise Refused("Controls can’t be generated for an imported, closed or archived batch.")


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
    corpus = _read_corpus(batch, plan.seed)
    criteria = find_quality_criteria(batch)
    pool = list(Item.objects.filter(pool_of=batch).order_by("pk"))
    tick = _count_passages(plan, corpus, on_progress)
    known = _make_known_answers(plan, corpus, pool, criteria, tick)
    scored = _find_scored(batch, plan, pool, criteria) if plan.known_hit_every else []
    sources, degraded, n_failed = _degrade_answers(batch, plan, corpus, pool, tick)
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
    """Return what of a batch is not any more as the controls were generated from it, or an empty text."""
    if ControlPlan.read(batch.control_plan) != basis.plan:
        return "The plan was changed"
    if frozenset(_list_ordinary(batch).values_list("pk", flat=True)) != basis.items:
        return "The items of the batch changed"
    if frozenset(Item.objects.filter(pool_of=batch).values_list("pk", flat=True)) != basis.pool:
        return "Other controls were generated"
    return ""


def count_degradable(batch: Batch, seed: int = 0) -> tuple[Yield, ...]:
    """Return how many of the batch's good answers and references of 1, 3 and 8 words can be degraded."""
    corpus = _read_corpus(batch, seed)
    good = [
        (item.text, corpus.references.get(item.question_id, []), item.passage_id)
        for item in corpus.items
        if not item.pair and _is_good(item.text, corpus.references.get(item.question_id, []))
    ]
    questions = {item.question_id: item.passage_id for item in corpus.items}
    good += [
        (text, [other for other in corpus.references[question] if other != text], passage)
        for question, passage in questions.items()
        for text in corpus.references.get(question, [])
    ]
    # Shuffled before it is cut, since items come by passage and one corpus may have several datasets.
    Random(seed).shuffle(good)  # noqa: S311 - to be repeated, not to be secret
    return measure_yields(good[:MOST_ANSWERS_TRIED], phrases=corpus.phrases, rng=np.random.default_rng(seed))


def _read_corpus(batch: Batch, seed: int) -> Corpus:
    rows = (
        _list_ordinary(batch)
        .order_by("hit__passage_id", "hit_id", "position")
        .values_list(
            "hit__passage_id", "hit_id", "id", "question_id", "candidate__text", pair_id_sql(prefix="candidate__")
        )
    )
    items = [Ordinary(*row) for row in rows]
    references: dict[int, list[str]] = {}
    texts: list[tuple[int, str]] = []
    # References of all the batch's datasets, not only of its own questions: a small batch would have too few phrases
    # and too few wrong answers.
    datasets = Item.objects.filter(hit__batch=batch).values("question__dataset_id")
    for question, passage, text in (
        Reference.objects.filter(question__dataset__in=datasets)
        .order_by("question_id", "position")
        .values_list("question_id", "question__passage_id", "text")
    ):
        references.setdefault(question, []).append(text)
        texts.append((passage, text))
    elsewhere = Random(seed).sample(texts, min(len(texts), MOST_ELSEWHERE))  # noqa: S311
    return Corpus(items, references, elsewhere, PhraseBook.of(texts))


def _list_ordinary(batch: Batch) -> QuerySet[Item]:
    return Item.objects.filter(hit__batch=batch, hit__purpose=Hit.Purpose.WORK, control=Control.NONE, retired_at=None)


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
    live = _list_live_by_question(pool, Control.KNOWN_ANSWER)
    known: list[Known] = []
    for passage, members in groupby(corpus.items, key=lambda item: item.passage_id):
        rows = list(members)
        # A generator for each passage: what is generated for one doesn't depend on which others are in the batch.
        rng = _make_rng(plan, passage)
        # 20 references from elsewhere are plenty for one passage, and comparing each with every question is slow.
        foreign = [text for other, text in corpus.elsewhere if other != passage]
        references = {row.question_id: corpus.references.get(row.question_id, []) for row in rows}
        sides = find_known_answers(references, rng.sample(foreign, min(len(foreign), 20)), criteria)
        for _number, group in groupby(rows, key=lambda row: row.hit_id):
            hit = list(group)
            questions = list(dict.fromkeys(row.question_id for row in hit))
            texts = {normalise(row.text) for row in hit}
            n_needed = ceil(SPARE * plan.known_per_hit)
            wanted = n_needed - _use_up(live, questions, texts, n_needed)
            new = [
                [
                    each
                    for each in side
                    if each.question_id in questions
                    and (each.question_id, each.text) not in old
                    and normalise(each.text) not in texts
                ]
                for side in sides
            ]
            found = _take_by_turns(new, wanted, rng)
            old |= {(each.question_id, each.text) for each in found}
            known += found
        tick()
    return known


def _use_up(live: dict[int, list[str]], questions: Sequence[int], texts: set[str], most: int) -> int:
    """Return how many live controls serve a HIT with these questions and texts, and leave the rest to other HITs."""
    n = 0
    for question in questions:
        left = []
        for text in live.get(question, ()):
            if n < most and normalise(text) not in texts:
                n += 1
            else:
                left.append(text)
        live[question] = left
    return n


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


def _degrade_answers(
    batch: Batch, plan: ControlPlan, corpus: Corpus, pool: Sequence[Item], tick: Callable[[], None]
) -> tuple[list[Item], list[Item], int]:
    """Return originals and degraded answers to add, and how many answers could not be degraded.

    Twice as many are generated as are shown on average: a degraded answer is only for those who rated its original, so
    that each annotator can use just a part of them. References are used if good candidates are few.
    """
    sources: list[Item] = []
    degraded: list[Item] = []
    n_failed = 0
    if not plan.degraded_per_hit:
        return sources, degraded, n_failed
    old_from = {item.made_from_id for item in pool if item.control == Control.DEGRADED}
    old_sources = {(item.question_id, item.shown_text) for item in pool if item.control == Control.SOURCE}
    live = _list_live_by_question(pool, Control.DEGRADED)
    for passage, members in groupby(corpus.items, key=lambda item: item.passage_id):
        rows = list(members)
        questions = list(dict.fromkeys(row.question_id for row in rows))
        wanted = ceil(2 * plan.degraded_per_hit) * len({row.hit_id for row in rows})
        wanted -= sum(len(live.get(question, ())) for question in questions)
        rng = _make_rng(plan, passage)
        # `measures` takes numpy's generator, everything else here Python's.
        numbers = np.random.default_rng([plan.seed, passage])
        for source, is_new in _list_sources(batch, rows, corpus, rng):
            if wanted <= 0:
                break
            # A candidate has an id by which it is found again; a reference becomes a new item, known by its text.
            if (source.question_id, source.shown_text) in old_sources if is_new else source.pk in old_from:
                continue
            text = source.shown_text or ""
            others = [each for each in corpus.references.get(source.question_id, []) if each != text]
            result = degrade(text, references=others, phrases=corpus.phrases, passage=passage, rng=numbers)
            if isinstance(result, Undefined):
                n_failed += 1
                continue
            if is_new:
                sources.append(source)
            degraded.append(
                _new_control(batch, source.question_id, Control.DEGRADED, Recipe.DEGRADED, result.text, source)
            )
            wanted -= 1
        tick()
    return sources, degraded, n_failed


def _list_sources(batch: Batch, rows: Sequence[Ordinary], corpus: Corpus, rng: Random) -> Iterable[tuple[Item, bool]]:
    """Yield what may be degraded, with whether it is a new item: good candidates first, then references."""
    good = [row for row in rows if not row.pair and _is_good(row.text, corpus.references.get(row.question_id, []))]
    for row in rng.sample(good, len(good)):
        # Not saved: it only carries the id of the item that exists, for `made_from`.
        yield Item(pk=row.id, question_id=row.question_id, shown_text=row.text), False
    # A reference that equals a candidate of its question would be shown twice.
    shown = {(row.question_id, row.text.strip()) for row in rows}
    references = [
        (question, text)
        for question in dict.fromkeys(row.question_id for row in rows)
        for text in dict.fromkeys(corpus.references.get(question, []))
        if text.strip() and (question, text.strip()) not in shown
    ]
    for question, text in rng.sample(references, len(references)):
        yield _new_control(batch, question, Control.SOURCE, Recipe.REFERENCE, text), True


def _is_good(text: str, references: Sequence[str]) -> bool:
    return any(token_f1(text, reference) >= GOOD_F1 for reference in references)


def _list_live_by_question(pool: Sequence[Item], control: str) -> dict[int, list[str]]:
    """Return the texts of live controls of a kind by question; rated candidates are in HITs of their own."""
    texts: dict[int, list[str]] = {}
    for item in pool:
        if item.control == control and item.retired_at is None and item.recipe != Recipe.KNOWN_CANDIDATE:
            texts.setdefault(item.question_id, []).append(item.shown_text or "")
    return texts


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


def _new_control(
    batch: Batch, question_id: int, control: str, recipe: str, text: str, made_from: Item | None = None
) -> Item:
    return Item(
        pool_of=batch,
        question_id=question_id,
        position=0,
        control=control,
        recipe=recipe,
        shown_text=text,
        made_from=made_from,
    )


def _make_rng(plan: ControlPlan, passage_id: int) -> Random:
    return Random(f"{plan.seed}-{passage_id}")  # noqa: S311 - to be repeated, not to be secret
