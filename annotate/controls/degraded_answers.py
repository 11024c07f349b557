"""Degraded answers: good answers made worse, with the originals that they are compared with."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from math import ceil
from random import Random

import numpy as np

from annotate.batches.control_plan import ControlPlan
from annotate.controls.batch_corpus import Corpus, Ordinary, is_good, list_live_by_question, make_rng, read_corpus
from annotate.models import Batch, Item
from measures.degrading import Yield, degrade, measure_yields
from measures.outcome import Undefined

MOST_ANSWERS_TRIED = 2_000
"""Answers on which the yield of degrading is measured: enough for a share exact to about two per cent."""
Control, Recipe = Item.Control, Item.Recipe


def degrade_answers(
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
    live = list_live_by_question(pool, Control.DEGRADED)
    for passage, members in groupby(corpus.items, key=lambda item: item.passage_id):
        rows = list(members)
        questions = list(dict.fromkeys(row.question_id for row in rows))
        wanted = ceil(2 * plan.degraded_per_hit) * len({row.hit_id for row in rows})
        wanted -= sum(len(live.get(question, ())) for question in questions)
        rng = make_rng(plan, passage)
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


def count_degradable(batch: Batch, seed: int = 0) -> tuple[Yield, ...]:
    """Return how many of the batch's good answers and references of 1, 3 and 8 words can be degraded."""
    corpus = read_corpus(batch, seed)
    good = [
        (item.text, corpus.references.get(item.question_id, []), item.passage_id)
        for item in corpus.items
        if not item.pair and is_good(item.text, corpus.references.get(item.question_id, []))
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


def _list_sources(batch: Batch, rows: Sequence[Ordinary], corpus: Corpus, rng: Random) -> Iterable[tuple[Item, bool]]:
    """Yield what may be degraded, with whether it is a new item: good candidates first, then references."""
    good = [row for row in rows if not row.pair and is_good(row.text, corpus.references.get(row.question_id, []))]
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
