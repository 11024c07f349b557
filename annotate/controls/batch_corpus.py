"""The material for controls: the ordinary items of a batch, the references of their questions, and phrases of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from django.db.models import QuerySet

from annotate.batches.control_plan import ControlPlan
from annotate.batches.selection import pair_id_sql
from annotate.models import Batch, Hit, Item
from measures.degrading import PhraseBook
from measures.token_overlap import token_f1
from projects.models import Reference

GOOD_F1 = 0.5
"""A candidate is good enough to be degraded if its token F1 with a reference is at least this."""
MOST_ELSEWHERE = 500
"""References of other passages among which wrong answers are sought; more would only cost time."""
Control, Recipe = Item.Control, Item.Recipe


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


def read_corpus(batch: Batch, seed: int) -> Corpus:
    rows = (
        list_ordinary(batch)
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
    elsewhere = Random(seed).sample(texts, min(len(texts), MOST_ELSEWHERE))  # noqa: S311 - to be repeated
    return Corpus(items, references, elsewhere, PhraseBook.of(texts))


def list_ordinary(batch: Batch) -> QuerySet[Item]:
    return Item.objects.filter(hit__batch=batch, hit__purpose=Hit.Purpose.WORK, control=Control.NONE, retired_at=None)


def is_good(text: str, references: Sequence[str]) -> bool:
    return any(token_f1(text, reference) >= GOOD_F1 for reference in references)


def list_live_by_question(pool: Sequence[Item], control: str) -> dict[int, list[str]]:
    """Return the texts of live controls of a kind by question; rated candidates are in HITs of their own."""
    texts: dict[int, list[str]] = {}
    for item in pool:
        if item.control == control and item.retired_at is None and item.recipe != Recipe.KNOWN_CANDIDATE:
            texts.setdefault(item.question_id, []).append(item.shown_text or "")
    return texts


def make_rng(plan: ControlPlan, passage_id: int) -> Random:
    return Random(f"{plan.seed}-{passage_id}")  # noqa: S311 - to be repeated, not to be secret
