"""Answerability of generated questions, and Q-BLEU, which combines it with BLEU."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp
from string import punctuation
from typing import NamedTuple

import numpy as np

from measures.metrics.bleu import Bleu
from measures.metrics.metric import Answers, MeanMetric, setting
from measures.metrics.registry import register
from measures.patterns import Floats

QUESTION_WORDS = frozenset({"what", "which", "why", "who", "whom", "whose", "where", "when", "how"})
_FUNCTION_WORDS = (
    "a about above after again against all am an and any are as at be because been before being below between both "
    "but by can did do does doing don down during each few for from further had has have having he her here hers "
    "herself him himself his i if in into is it its itself just me more most my myself no nor not now of off on once "
    "only or other our ours ourselves out over own s same she should so some such t than that the their theirs them "
    "themselves then there these they this those through to too under until up very was we were while will with you "
    "your yours yourself yourselves"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English only, as in the released code."""

VARIANTS = {
    "paper": "one F1 from the weighted precision and recall of the four kinds of words",
    "released_code": "weighted mean of one F1 for each kind, as the authors' program computes it",
}


class QuestionWords(NamedTuple):
    """The words of a question by kind, in lower case."""

    named: Counter[str]
    question_type: Counter[str]
    relevant: Counter[str]
    function: Counter[str]


@dataclass(frozen=True, kw_only=True)
class Answerability(MeanMetric):
    """How far a generated question asks for the same as a reference question, by four weighted kinds of words.

    The kinds are named words (written with a capital letter), the question type (the question word, and the word after
    “what” or “which”), function words, and all other words, called relevant. `paper`: with h the shared words of a
    kind, precision is the weighted sum of h over the kind's words in the candidate, recall that of h over its words in
    the reference, and the score is their F1. A kind that neither question has gives its weight to the other kinds in
    proportion; a kind that only one has counts 0. A first word that is a function word is not a named one.
    `released_code`: the weighted mean of one F1 for each kind, whose precision and recall are BLEU-1 in both
    directions. There a word may be of several kinds, a first word like “Is” is a named one, and a kind that neither
    question has counts 0.

    The weights are divided by their sum. Words are split at white space, without punctuation at their ends, and
    compared in lower case; capital letters have to be as written. The best of several references counts. English only.

    References
    ----------
    P. Nema and M. Khapra (2018), Towards a Better Metric for Evaluating Question Generation Systems, EMNLP; weights of
    the authors' program for SQuAD.
    """

    form: str = setting("paper", "which definition", choices=VARIANTS)
    named: float = setting(0.6, "weight of named words", low=0, high=1)
    question_type: float = setting(0.2, "weight of the question type", low=0, high=1)
    relevant: float = setting(0.1, "weight of other content words", low=0, high=1)
    function: float = setting(0.1, "weight of function words", low=0, high=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not any(self.shares):
            raise ValueError("At least one of named, question_type, relevant and function must be above 0.")

    @property
    def shares(self) -> tuple[float, ...]:
        """The weights in the order of `QuestionWords`."""
        return self.named, self.question_type, self.relevant, self.function

    @property
    def variant(self) -> str:
        return f"{self.form.replace('_', ' ')}, best reference"

    @property
    def tokenisation(self) -> str:
        return "split at white space, without punctuation at the ends, lower case"

    def refuse(self, answers: Answers) -> list[str]:
        reasons = super().refuse(answers)
        for row, reason in enumerate(reasons):
            if not reason and not any(map(split_words, answers.references[row])):
                reasons[row] = "no reference has a word"
        return reasons

    def score_each(self, answers: Answers) -> Floats:
        is_paper = self.form == "paper"
        compare = _compare_as_in_paper if is_paper else _compare_as_in_code
        total = sum(self.shares)
        weights = [share / total for share in self.shares]
        divide = cache(divide_words if is_paper else _divide_as_in_code)
        return np.array(
            [
                max(compare(divide(candidate), divide(reference), weights) for reference in references)
                for candidate, references in zip(answers.candidates, answers.references, strict=True)
            ]
        )


@dataclass(frozen=True, kw_only=True)
class QBleu(Answerability):
    """Q-BLEU: delta times answerability plus 1 - delta times BLEU, of generated questions.

    BLEU compares the same words, over all references together, without smoothing; `released_code` with that of
    pycocoevalcap, which the authors' program uses.

    References
    ----------
    P. Nema and M. Khapra (2018), Towards a Better Metric for Evaluating Question Generation Systems, EMNLP, section 4.
    """

    order: int = setting(1, "length of the longest n-grams of BLEU", low=1, high=4)
    delta: float = setting(0.7, "weight of answerability", low=0, high=1)

    @property
    def variant(self) -> str:
        return f"{super().variant}, with BLEU-{self.order}"

    def score_each(self, answers: Answers) -> Floats:
        smoothing = "none" if self.form == "paper" else "mocha"
        bleu = Bleu(order=self.order, tokeniser="spaces", smoothing=smoothing)
        plain = Answers(
            candidates=[_join(text) for text in answers.candidates],
            references=[[_join(text) for text in texts] for texts in answers.references],
        )
        return self.delta * super().score_each(answers) + (1 - self.delta) * bleu.combine(bleu.count(plain))


def split_words(text: str) -> list[str]:
    """Split a question into words as they are written, without punctuation at their ends.

    Parameters
    ----------
    text : str
        The question.

    Returns
    -------
    list of str
        Without words that are punctuation only.

    Examples
    --------
    >>> split_words("Who wrote “Hamlet”, and where's it?")
    ['Who', 'wrote', 'Hamlet', 'and', "where's", 'it']
    """
    return [word for each in text.split() if (word := each.strip(_MARKS))]


def divide_words(text: str) -> QuestionWords:
    """Divide the words of a question into the four kinds.

    Parameters
    ----------
    text : str
        The question, with its capital letters.

    Returns
    -------
    Parts
        Each word is of one kind: of the question type, else named, else a function word, else relevant.

    Examples
    --------
    >>> parts = divide_words("In which book did Hamlet die?")
    >>> {kind: sorted(words) for kind, words in parts._asdict().items()}
    {'named': ['hamlet'], 'question_type': ['book', 'which'], 'relevant': ['die'], 'function': ['did', 'in']}
    """
    words = split_words(text)
    types = _find_question_type(words)
    kinds: dict[str, list[str]] = {kind: [] for kind in QuestionWords._fields}
    for place, word in enumerate(words):
        is_function = word.lower() in FUNCTION_WORDS
        if place in types:
            kind = "question_type"
        elif word[0].isupper() and not (is_function and place == 0) and word != "I":
            kind = "named"
        else:
            kind = "function" if is_function else "relevant"
        kinds[kind].append(word)
    return _make_parts(kinds)


def _divide_as_in_code(text: str) -> QuestionWords:
    words = split_words(text)
    types = _find_question_type(words)
    typed = {words[place] for place in types}
    first = int(bool(words) and words[0].lower() in QUESTION_WORDS)
    return _make_parts(
        {
            "named": [word for word in words[first:] if word[0].isupper()],
            "question_type": [words[place] for place in sorted(types)],
            "relevant": [
                word
                for word in words
                if word not in typed and not word[0].isupper() and word.lower() not in FUNCTION_WORDS
            ],
            "function": [word for word in words if word.lower() in FUNCTION_WORDS],
        }
    )


def _find_question_type(words: Sequence[str]) -> set[int]:
    """Return the places of question words, and of the word after each what and which."""
    found = {place for place, word in enumerate(words) if word.lower() in QUESTION_WORDS}
    after = {place + 1 for place in found if words[place].lower() in {"what", "which"}}
    return found | {place for place in after if place < len(words)}


def _make_parts(kinds: Mapping[str, Iterable[str]]) -> QuestionWords:
    return QuestionWords(**{kind: Counter(word.lower() for word in words) for kind, words in kinds.items()})


def _compare_as_in_paper(candidate: QuestionWords, reference: QuestionWords, weights: Sequence[float]) -> float:
    precision = recall = total = 0.0
    for ours, theirs, weight in zip(candidate, reference, weights, strict=True):
        if not ours and not theirs:
            continue
        total += weight
        shared = (ours & theirs).total()
        if shared:
            precision += weight * shared / ours.total()
            recall += weight * shared / theirs.total()
    return _f1(precision / total, recall / total) if total else 0.0


def _compare_as_in_code(candidate: QuestionWords, reference: QuestionWords, weights: Sequence[float]) -> float:
    pairs = zip(candidate, reference, weights, strict=True)
    return sum(weight * _f1(_bleu_1(ours, theirs), _bleu_1(theirs, ours)) for ours, theirs, weight in pairs)


def _bleu_1(words: Counter[str], others: Counter[str]) -> float:
    shared = (words & others).total()
    if not shared:
        return 0.0
    return shared / words.total() * min(1.0, exp(1 - others.total() / words.total()))


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def _join(text: str) -> str:
    return " ".join(split_words(text)).lower()


_MARKS = punctuation + "“”‘’«»„…–—¿¡"

register("answerability", "Answerability", Answerability, family="Generated questions")
register("q_bleu", "Q-BLEU", QBleu, family="Generated questions")
