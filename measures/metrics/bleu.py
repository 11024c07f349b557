"""BLEU of answers and of corpora, and adapted BLEU, with a bonus for correct opinions or entities."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from measures.metrics.bonus import agreeing_references, list_bonus_entities
from measures.metrics.counting import Bags, Tokenised, flatten, tokenise
from measures.metrics.lexical import LexicalMetric
from measures.metrics.metric import Answers, setting
from measures.metrics.registry import register
from measures.metrics.tokenising import Tokeniser
from measures.patterns import Floats, Ints

LONGEST = 4
"""Papineni et al. found that up to 4-grams correlate best with people; papers print BLEU-1 to BLEU-4."""
SMOOTHINGS = {
    "none": "no smoothing, so the score is 0",
    "add-k": "one more match and n-gram in every order but the first (sacrebleu)",
    "exp": "½ match for the first such order, then ¼, ⅛ … (sacrebleu)",
    "floor": "0.1 matches for each such order (sacrebleu)",
    "mocha": "1e-15 matches and 1e-9 n-grams more in every order (pycocoevalcap)",
}
_FLOOR, _TINY, _SMALL = 0.1, 1e-15, 1e-9
"""The constants of sacrebleu's "floor" and of pycocoevalcap, for scores equal to theirs."""


@dataclass(frozen=True, kw_only=True)
class Bleu(LexicalMetric):
    """BLEU: the geometric mean of n-gram precisions up to an order, times a brevity penalty.

    Matches of an n-gram are clipped at its count in the reference that has it most often. The reference length is that
    of the reference closest in length, the shorter one on a tie; references without words are ignored. If an answer is
    too short to have n-grams of an order, the precision of that order is 0. For a corpus, all counts and lengths are
    summed before they are combined.

    Smoothing changes orders without a match: "exp" counts half a match for the first of them and half as much for each
    further one, "floor" 0.1 matches, and "add-k" adds one match and one n-gram to every order but the first, all three
    as in sacrebleu; "mocha" adds 1e-15 matches and 1e-9 n-grams to every order, as pycocoevalcap does.

    References
    ----------
    K. Papineni et al. (2002), BLEU: a Method for Automatic Evaluation of Machine Translation, ACL; in the form of
    A. Yang et al. (2018), Adaptations of ROUGE and BLEU to Better Evaluate Machine Reading Comprehension Task,
    equations 1 to 3. Smoothing: B. Chen and C. Cherry (2014), WMT.
    """

    order: int = setting(LONGEST, "length of the longest n-grams", low=1, high=LONGEST)
    smoothing: str = setting("none", "smoothing of n-gram orders without a match", choices=SMOOTHINGS)
    effective_order: bool = setting(False, "leave out n-gram orders for which the answer is too short")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.effective_order and self.smoothing == "mocha":
            raise ValueError("MOCHA's smoothing has no effective order.")

    @property
    def variant(self) -> str:
        smoothing = "no smoothing" if self.smoothing == "none" else f"smoothing {self.smoothing}"
        return smoothing + (", effective order" if self.effective_order else "")

    def count(self, answers: Answers) -> Floats:
        found = _Column(self.split, self.order, answers)
        return np.column_stack([*found.hits(), *found.totals(), *found.lengths()]).astype(np.float64)

    def combine(self, sums: Floats) -> Floats:
        hits, totals = sums[..., : self.order], sums[..., self.order : -2]
        length, wanted = sums[..., -2], sums[..., -1]
        if self.smoothing == "mocha":
            penalty = _penalty(length + _TINY, wanted + _SMALL)
            return _geometric_mean((hits + _TINY) / (totals + _SMALL)) * penalty
        precisions, has_ngrams = self._precisions(hits, totals)
        # Smoothing must not give a score to an answer without any matching word, as in sacrebleu.
        mean = _geometric_mean(precisions, has_ngrams if self.effective_order else None)
        return np.where(hits.any(axis=-1), mean * _penalty(length, wanted), 0.0)

    def _precisions(self, hits: Floats, totals: Floats) -> tuple[Floats, Floats]:
        """Return the precision of each order, and 1 where there are n-grams of the order, else 0."""
        is_missed = (hits == 0) & (totals > 0)
        if self.smoothing == "add-k":
            is_longer = np.arange(self.order) > 0
            hits, totals = hits + is_longer, totals + is_longer
        elif self.smoothing == "floor":
            hits = np.where(is_missed, _FLOOR, hits)
        elif self.smoothing == "exp":
            hits = np.where(is_missed, 0.5 ** np.cumsum(is_missed, axis=-1), hits)
        return _ratio(hits, totals), (totals > 0).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class AdaptedBleu(LexicalMetric):
    """BLEU with a bonus for the correct opinion (yes-no questions) or for gold entities (entity questions).

    The bonus of an order is the number of n-grams that the answer shares with the references of its own opinion, or
    with the gold entities. Multiplied by its weight it is added both to the matches and to the n-grams, so a score
    never exceeds 1. There is no bonus for other types of questions, for an answer without an opinion, and without a
    reference of the same opinion.

    References
    ----------
    A. Yang et al. (2018), Adaptations of ROUGE and BLEU to Better Evaluate Machine Reading Comprehension Task,
    equations 4 and 5.
    """

    order: int = setting(LONGEST, "length of the longest n-grams", low=1, high=LONGEST)
    alpha: float = setting(2.0, "weight of the opinion bonus (yes-no questions)", low=0, high=100)
    beta: float = setting(1.0, "weight of the entity bonus (entity questions)", low=0, high=100)

    weights: ClassVar[tuple[str, ...]] = ("alpha", "beta")

    @property
    def variant(self) -> str:
        return f"up to {self.order}-grams, alpha {self.alpha:g}, beta {self.beta:g}"

    def count(self, answers: Answers) -> Floats:
        found = _Column(self.split, self.order, answers)
        statistics = [*found.hits(), *found.opinion_hits(), *found.entity_hits(), *found.totals(), *found.lengths()]
        return np.column_stack(statistics).astype(np.float64)

    def combine(self, sums: Floats) -> Floats:
        n = self.order
        hits, opinion, entity, totals = (sums[..., k * n : (k + 1) * n] for k in range(4))
        bonus = self.alpha * opinion + self.beta * entity
        return _geometric_mean(_ratio(hits + bonus, totals + bonus)) * _penalty(sums[..., -2], sums[..., -1])

    def notes(self, counts: Floats) -> Mapping[str, int]:
        return {
            "answers with an opinion bonus": int((self.alpha * counts[:, self.order] > 0).sum()),
            "answers with an entity bonus": int((self.beta * counts[:, 2 * self.order] > 0).sum()),
        }


class _Column:
    """The n-grams of a column of answers, and those they share with references and entities."""

    def __init__(self, split: Tokeniser, order: int, answers: Answers) -> None:
        self.answers = answers
        self.rows, references = flatten(answers.references)
        self.entity_rows, entities = flatten(list_bonus_entities(answers))
        self.texts: Tokenised = tokenise(split, answers.candidates, references, entities)
        self.candidates = self.texts.of(answers.candidates)
        self.references, self.entities = self.texts.of(references), self.texts.of(entities)
        self.bags: list[Bags] = self.texts.bags(order)

    def hits(self) -> list[Ints]:
        return [bags.clipped(self.candidates, self.rows, self.references) for bags in self.bags]

    def totals(self) -> list[Ints]:
        return [bags.totals[self.candidates] for bags in self.bags]

    def lengths(self) -> tuple[Ints, Ints]:
        """Return the length of each answer, and that of its closest reference, the shorter one on a tie."""
        lengths = self.texts.lengths[self.candidates]
        has_words = self.texts.lengths[self.references] > 0
        rows, wanted = self.rows[has_words], self.texts.lengths[self.references[has_words]]
        # Distance and length in one number, whose minimum is the closest reference, and the shorter one on a tie.
        unit = int(wanted.max(initial=0)) + 1
        closest = np.full(len(lengths), np.iinfo(np.int64).max)
        np.minimum.at(closest, rows, np.abs(wanted - lengths[rows]) * unit + wanted)
        return lengths, closest % unit

    def opinion_hits(self) -> list[Ints]:
        agrees = np.array([each for row in agreeing_references(self.answers) for each in row], dtype=bool)
        rows, references = self.rows[agrees], self.references[agrees]
        return [bags.clipped(self.candidates, rows, references) for bags in self.bags]

    def entity_hits(self) -> list[Ints]:
        return [bags.clipped(self.candidates, self.entity_rows, self.entities) for bags in self.bags]


def _ratio(part: Floats, whole: Floats) -> Floats:
    return part / np.where(whole > 0, whole, 1)


def _geometric_mean(values: Floats, weights: Floats | None = None) -> Floats:
    weights = np.ones_like(values) if weights is None else weights
    with np.errstate(divide="ignore"):
        logs = np.where(weights > 0, np.log(values), 0)
    mean: Floats = np.exp(logs.sum(axis=-1) / np.maximum(weights.sum(axis=-1), 1))
    return mean


def _penalty(length: Floats, wanted: Floats) -> Floats:
    """Return the brevity penalty; 0 for an empty answer."""
    return np.where(length > 0, np.exp(np.minimum(1 - wanted / np.where(length > 0, length, 1), 0)), 0.0)


for _n in range(1, LONGEST + 1):
    register(f"bleu_{_n}", f"BLEU-{_n}", Bleu, family="BLEU", order=_n)
register("adapted_bleu", "Adapted BLEU", AdaptedBleu, family="BLEU")
