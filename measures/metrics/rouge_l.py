"""ROUGE-L, and adapted ROUGE-L, with a bonus for correct opinions or entities."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from measures.metrics.bonus import agreeing_references, list_bonus_entities
from measures.metrics.counting import flatten
from measures.metrics.matches import Matches, f_measure
from measures.metrics.metric import Answers, MeanMetric, setting
from measures.metrics.registry import register
from measures.metrics.stemming import StemmingMetric
from measures.metrics.subsequences import find_positions, lcs_length, occurs
from measures.metrics.tokenising import MEANINGS
from measures.patterns import Floats

AGGREGATIONS = {
    "separate": "maximum precision and maximum recall, each over all references",
    "best": "the reference with the highest F, as in rouge-score",
}
MEASURES = {
    "f": "F measure of precision and recall",
    "recall": "share of the reference's words in the common subsequence",
    "precision": "share of the answer's words in it",
}


@dataclass(frozen=True, kw_only=True)
class RougeL(StemmingMetric, MeanMetric):
    """The longest common subsequence of an answer and its references.

    Precision P is its share of the answer's words, recall R that of the reference's words. `separate` computes F from
    the maximum P and the maximum R over the references, which may come from different references, as Yang et al. and
    the COCO scripts do; `best` is the highest F of a single reference, as in the package rouge-score, whose
    `rouge_beta` is 1.

    References
    ----------
    C.-Y. Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries, section 3. A. Yang et al. (2018),
    Adaptations of ROUGE and BLEU to Better Evaluate Machine Reading Comprehension Task, equations 6 to 8.
    """

    tokeniser: str = setting("alnum", "how texts are split into words", choices=MEANINGS)
    aggregation: str = setting("separate", "how several references are combined", choices=AGGREGATIONS)
    rouge_beta: float = setting(1.2, "weight of recall relative to precision in F", low=0, high=10)
    measure: str = setting("f", "which measure is the score", choices=MEASURES)

    @property
    def variant(self) -> str:
        joined = "max precision and recall" if self.aggregation == "separate" else "best reference"
        return f"{self.measure}, {joined}" + (f", rouge beta {self.rouge_beta:g}" if self.measure == "f" else "")

    def score_each(self, answers: Answers) -> Floats:
        return self.score_matches(self.matches(answers))

    def score_matches(self, matches: Matches) -> Floats:
        """Compute the scores from subsequences and lengths."""
        precision, recall = matches.precision, matches.recall
        if self.measure == "recall":
            return matches.best(recall)
        if self.measure == "precision":
            return matches.best(precision)
        if self.aggregation == "separate":
            return f_measure(matches.best(precision), matches.best(recall), self.rouge_beta)
        return matches.best(f_measure(precision, recall, self.rouge_beta))

    def matches(self, answers: Answers) -> Matches:
        """Return the length of the longest common subsequence with each reference, and the lengths of both texts."""
        rows, references = flatten(answers.references)
        # The references of a question occur with each of its candidates, and are split only once.
        read = cache(self.split)
        find = cache(lambda text: find_positions(read(text)))
        pairs = [
            (lcs_length(words, reference), len(words), reference.length)
            for words, reference in zip(
                (read(answers.candidates[row]) for row in rows), map(find, references), strict=True
            )
        ]
        n_common, n_candidate, n_reference = np.array(pairs, dtype=np.float64).reshape(-1, 3).T
        return Matches(n_common=n_common, n_candidate=n_candidate, n_reference=n_reference, answer=rows)


@dataclass(frozen=True, kw_only=True)
class BonusParts:
    """The counts of adapted ROUGE-L, from which it can be computed for many weights.

    Attributes
    ----------
    matches : Matches
        Subsequences and lengths, without any bonus.
    agrees : ndarray of bool, shape (m,)
        Pairs of yes-no questions in which answer and reference have the same opinion.
    n_entity : ndarray of float64, shape (n,)
        Words of gold entities in each answer to an entity question; 0 for other questions.
    """

    matches: Matches
    agrees: npt.NDArray[np.bool_]
    n_entity: Floats

    @property
    def has_opinion(self) -> npt.NDArray[np.bool_]:
        """The answers that share words with a reference of the same opinion, shape (n,)."""
        return self.matches.best(np.where(self.agrees, self.matches.n_common, 0.0)) > 0


@dataclass(frozen=True, kw_only=True)
class AdaptedRougeL(RougeL):
    """ROUGE-L with a bonus for the correct opinion (yes-no questions) or for gold entities (entity questions).

    With L the length of the common subsequence with a reference, the bonus b is alpha × L if the reference has the
    opinion of the answer, and beta × the number of words of the gold entities that occur verbatim in the answer, each
    listed entity once; P = (L + b) / (|answer| + b), R = (L + b) / (|reference| + b). Without such labels, and for
    other types of questions, there is no bonus, and the score is that of ROUGE-L.

    References
    ----------
    A. Yang et al. (2018), Adaptations of ROUGE and BLEU to Better Evaluate Machine Reading Comprehension Task,
    Workshop on Machine Reading for Question Answering, section 3.2.
    """

    tokeniser: str = setting("words", "how texts are split into words", choices=MEANINGS)
    alpha: float = setting(2.0, "weight of the opinion bonus (yes-no questions)", low=0, high=100)
    beta: float = setting(1.0, "weight of the entity bonus (entity questions)", low=0, high=100)

    weights: ClassVar[tuple[str, ...]] = ("alpha", "beta")

    @property
    def variant(self) -> str:
        return f"{super().variant}, alpha {self.alpha:g}, beta {self.beta:g}"

    def score_each(self, answers: Answers) -> Floats:
        return self.score_parts(self.parts(answers))

    def count(self, answers: Answers) -> Floats:
        """Return score, 1, and whether the answer had an opinion bonus and an entity bonus; shape (n, 4)."""
        parts = self.parts(answers)
        scores = self.score_parts(parts)
        has_opinion, has_entity = parts.has_opinion & (self.alpha > 0), (parts.n_entity > 0) & (self.beta > 0)
        return np.stack([scores, np.ones_like(scores), has_opinion, has_entity], axis=-1)

    def notes(self, counts: Floats) -> dict[str, int]:
        n_opinion, n_entity = counts[:, 2:].sum(axis=0).astype(int).tolist()
        return {"answers with an opinion bonus": n_opinion, "answers with an entity bonus": n_entity}

    def count_once(self, answers: Answers) -> Callable[..., Floats]:
        parts = self.parts(answers)
        return lambda **weights: self.with_weights(**weights).score_parts(parts)

    def score_parts(self, parts: BonusParts) -> Floats:
        """Compute the scores from subsequences, lengths and bonuses with the weights of this metric."""
        opinion = self.alpha * np.where(parts.agrees, parts.matches.n_common, 0.0)
        entities = self.beta * parts.n_entity[parts.matches.answer]
        return self.score_matches(parts.matches.plus(opinion + entities))

    def parts(self, answers: Answers) -> BonusParts:
        """Return the counts of the score, which do not depend on the weights."""
        read = cache(self.split)

        def count_entities(text: str, entities: tuple[str, ...]) -> int:
            # By their words, so that an entity that is listed twice counts once.
            runs = {tuple(words): words for words in map(read, entities)} if entities else {}
            return sum(len(run) for run in runs.values() if occurs(run, read(text)))

        return BonusParts(
            matches=self.matches(answers),
            agrees=np.array([each for row in agreeing_references(answers) for each in row], dtype=bool),
            n_entity=np.array(
                list(map(count_entities, answers.candidates, list_bonus_entities(answers))), dtype=np.float64
            ),
        )


register("rouge_l", "ROUGE-L", RougeL, family="ROUGE")
register("adapted_rouge_l", "Adapted ROUGE-L", AdaptedRougeL, family="ROUGE")
