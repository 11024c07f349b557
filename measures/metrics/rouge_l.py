"""ROUGE-L, and the adapted ROUGE-L that rewards the right opinion and the right entities."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from measures.metrics.bonus import agreeing_references, entities_wanted
from measures.metrics.counting import flatten
from measures.metrics.matches import Matches, f_measure
from measures.metrics.metric import Answers, MeanMetric, setting
from measures.metrics.registry import register
from measures.metrics.stemming import StemmingMetric
from measures.metrics.subsequences import lcs_length, occurs, places
from measures.metrics.tokenising import MEANINGS
from measures.patterns import Floats

AGGREGATIONS = {
    "separate": "the highest P and the highest R, each for itself",
    "best": "the best single reference, as in rouge-score",
}
MEASURES = {
    "f": "the F measure of recall and precision",
    "recall": "the share of the reference's words in the common subsequence",
    "precision": "the share of the answer's words in it",
}


@dataclass(frozen=True, kw_only=True)
class RougeL(StemmingMetric, MeanMetric):
    """The longest common subsequence of an answer and its references.

    P is its share of the answer's words, R that of the reference's. `separate` takes the highest P and the highest R
    over the references, each for itself, and then F, as Yang et al. and the COCO scripts do; `best` takes the highest
    F of a single reference, as the package rouge-score does with a `rouge_beta` of 1.

    References
    ----------
    C.-Y. Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries, section 3. A. Yang et al. (2018),
    Adaptations of ROUGE and BLEU to Better Evaluate Machine Reading Comprehension Task, equations 6 to 8.
    """

    tokeniser: str = setting("alnum", "how texts become words", choices=MEANINGS)
    aggregation: str = setting(
        "separate",
        "how several references count",
        choices=AGGREGATIONS,
    )
    rouge_beta: float = setting(1.2, "how many times as much recall counts as precision", low=0, high=10)
    measure: str = setting("f", "what is given", choices=MEASURES)

    @property
    def variant(self) -> str:
        joined = "highest P and R" if self.aggregation == "separate" else "best reference"
        return f"{self.measure}, {joined}" + (f", b = {self.rouge_beta:g}" if self.measure == "f" else "")

    def score_each(self, answers: Answers) -> Floats:
        return self.score_matches(self.matches(answers))

    def score_matches(self, matches: Matches) -> Floats:
        """The scores that subsequences and lengths come to."""
        precision, recall = matches.precision, matches.recall
        if self.measure == "recall":
            return matches.best(recall)
        if self.measure == "precision":
            return matches.best(precision)
        if self.aggregation == "separate":
            return f_measure(matches.best(precision), matches.best(recall), self.rouge_beta)
        return matches.best(f_measure(precision, recall, self.rouge_beta))

    def matches(self, answers: Answers) -> Matches:
        """The longest common subsequence with each reference, and the lengths in words."""
        rows, references = flatten(answers.references)
        read = cache(self.split)
        places_of = cache(lambda text: places(read(text)))
        pairs = [
            (lcs_length(words, reference), len(words), reference.length)
            for words, reference in zip(
                (read(answers.candidates[row]) for row in rows), map(places_of, references), strict=True
            )
        ]
        n_common, n_candidate, n_reference = np.array(pairs, dtype=np.float64).reshape(-1, 3).T
        return Matches(n_common=n_common, n_candidate=n_candidate, n_reference=n_reference, answer=rows)


@dataclass(frozen=True, kw_only=True)
class BonusParts:
    """What the adapted ROUGE-L is made of, so that it can be computed for many weights.

    Attributes
    ----------
    matches : Matches
        Subsequences and lengths, without any bonus.
    agrees : ndarray of bool, shape (m,)
        Pairs of a yes-no question whose answer and reference have the same opinion.
    n_entity : ndarray of float64, shape (n,)
        Words of the gold entities in each answer to an entity question, 0 elsewhere.
    """

    matches: Matches
    agrees: npt.NDArray[np.bool_]
    n_entity: Floats

    @property
    def has_opinion(self) -> npt.NDArray[np.bool_]:
        """Answers that share words with a reference of their opinion, shape (n,)."""
        return self.matches.best(np.where(self.agrees, self.matches.n_common, 0.0)) > 0


@dataclass(frozen=True, kw_only=True)
class AdaptedRougeL(RougeL):
    """ROUGE-L with a bonus for the right opinion on yes-no questions and the right entities on entity questions.

    With L the subsequence shared with a reference, its bonus b is alpha × L where the reference has the opinion of
    the answer, and beta × the words of the gold entities that stand in the answer word for word, each listed entity
    once; P = (L + b) / (|answer| + b), R = (L + b) / (|reference| + b). Whatever has no such label, and every other
    type of question, has no bonus and scores as ROUGE-L.

    References
    ----------
    A. Yang et al. (2018), Adaptations of ROUGE and BLEU to Better Evaluate Machine Reading Comprehension Task,
    Workshop on Machine Reading for Question Answering, section 3.2.
    """

    tokeniser: str = setting("words", "how texts become words", choices=MEANINGS)
    alpha: float = setting(2.0, "weight of the bonus for the opinion of a yes-no answer", low=0, high=100)
    beta: float = setting(1.0, "weight of the bonus for gold entities", low=0, high=100)

    weights: ClassVar[tuple[str, ...]] = ("alpha", "beta")

    @property
    def variant(self) -> str:
        return f"{super().variant}, alpha = {self.alpha:g}, beta = {self.beta:g}"

    def score_each(self, answers: Answers) -> Floats:
        return self.score_parts(self.parts(answers))

    def count(self, answers: Answers) -> Floats:
        """Beside score and one: whether the answer had an opinion bonus, and one for entities; shape (n, 4)."""
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
        """The scores that subsequences, lengths and bonuses come to with these weights."""
        opinion = self.alpha * np.where(parts.agrees, parts.matches.n_common, 0.0)
        entities = self.beta * parts.n_entity[parts.matches.answer]
        return self.score_matches(parts.matches.plus(opinion + entities))

    def parts(self, answers: Answers) -> BonusParts:
        """What the score is made of, whatever the weights."""
        read = cache(self.split)

        def count_entities(text: str, entities: tuple[str, ...]) -> int:
            runs = {tuple(words): words for words in map(read, entities)} if entities else {}
            return sum(len(run) for run in runs.values() if occurs(run, read(text)))

        return BonusParts(
            matches=self.matches(answers),
            agrees=np.array([each for row in agreeing_references(answers) for each in row], dtype=bool),
            n_entity=np.array(
                list(map(count_entities, answers.candidates, entities_wanted(answers))), dtype=np.float64
            ),
        )


register("rouge_l", "ROUGE-L", RougeL, family="ROUGE")
register("adapted_rouge_l", "Adapted ROUGE-L", AdaptedRougeL, family="ROUGE")
