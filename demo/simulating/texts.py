"""Texts for simulations: passages of the demo corpus, answers derived from their references, and their true worth.

Good answers share words with a reference more often than bad ones, but far from always: some are paraphrases, and some
bad ones keep all words except the one that matters. Answers are shorter, longer or as long as their references.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from demo import corpus
from measures.token_overlap import token_f1

Rng = np.random.Generator
N_QUESTIONS = 3
"""Questions per passage."""


@dataclass(frozen=True)
class SimulatedAnswer:
    """An answer to a question, and its true worth from 0 to 1."""

    id: str
    text: str
    worth: float


@dataclass(frozen=True)
class SimulatedQuestion:
    """A question with its references and answers."""

    id: str
    text: str
    references: tuple[str, ...]
    answers: tuple[SimulatedAnswer, ...]


@dataclass(frozen=True)
class SimulatedPassage:
    """A passage with its questions, and as many answers as fit one HIT."""

    id: str
    text: str
    questions: tuple[SimulatedQuestion, ...]


@dataclass(frozen=True)
class Mix:
    """The shares of good answers, and of answers written for the demo, for which shared words say little."""

    good_share: float = 0.45
    written_share: float = 0.35


def write_texts(n_passages: int, n_answers: int, *, mix: Mix, rng: Rng) -> tuple[SimulatedPassage, ...]:
    """Return passages with the same number of answers each.

    The demo's passages are reused, each time with other questions and other answers.
    """
    stock = _Stock.of_demo()
    return tuple(_write(number, stock, n_answers, mix, rng) for number in range(1, n_passages + 1))


def rows(passages: Sequence[SimulatedPassage]) -> Iterator[dict[str, Any]]:
    """Yield one row per answer in the format of an import file, without its worth."""
    for passage in passages:
        for question in passage.questions:
            for answer in question.answers:
                yield {
                    "dataset": "simulated",
                    "dataset_kind": "generative",
                    "passage_id": passage.id,
                    "passage": passage.text,
                    "question_id": question.id,
                    "question": question.text,
                    **{f"reference_{n}": text for n, text in enumerate(question.references, start=1)},
                    "candidate_id": answer.id,
                    "source": "simulated",
                    "candidate": answer.text,
                }


def worth_when_degraded(worth: float, source: str, degraded: str) -> float:
    """Return the worth of a degraded answer: that of its original times their squared token F1."""
    return worth * token_f1(degraded, source) ** 2


@dataclass(frozen=True)
class _Stock:
    """Material for answers: the demo's passages, all its references, and words to insert."""

    passages: tuple[corpus.DemoPassage, ...]
    references: tuple[str, ...]
    words: tuple[str, ...]

    @classmethod
    def of_demo(cls) -> "_Stock":
        passages = corpus.passages()
        references = tuple(r.text for p in passages for q in p.questions for r in q.references)
        words = sorted({word.strip(".,;:!?()").lower() for text in references for word in text.split()})
        return cls(passages, references, tuple(word for word in words if len(word) > 3))


def _write(number: int, stock: _Stock, n_answers: int, mix: Mix, rng: Rng) -> SimulatedPassage:
    passage = stock.passages[int(rng.integers(len(stock.passages)))]
    text = "\n".join([passage.passage, *(document["text"] for document in passage.documents)]).strip()
    n_questions = min(N_QUESTIONS, len(passage.questions))
    chosen = sorted(rng.choice(len(passage.questions), n_questions, replace=False))
    shares = [n_answers // n_questions + (place < n_answers % n_questions) for place in range(n_questions)]
    questions = []
    for place, (index, n) in enumerate(zip(chosen, shares, strict=True), start=1):
        question = passage.questions[int(index)]
        references = tuple(reference.text for reference in question.references)
        answers = _answers(question, references, stock, n, mix, rng)
        name = f"{number}-{place}"
        numbered = tuple(
            SimulatedAnswer(f"{name}-{n}", text, worth) for n, (text, worth) in enumerate(answers, start=1)
        )
        questions.append(SimulatedQuestion(name, question.text, references, numbered))
    return SimulatedPassage(str(number), f"{text}\n\n(Simulated copy {number}.)", tuple(questions))


def _answers(
    question: corpus.DemoQuestion,
    references: tuple[str, ...],
    stock: _Stock,
    n: int,
    mix: Mix,
    rng: Rng,
) -> list[tuple[str, float]]:
    """Return different answers, none equal to a reference; fewer than `n` if many draws repeat others."""
    made: dict[str, float] = {}
    taken = {_plain(text) for text in references}
    own = [(c.text, (c.true_score - 1) / 4) for c in question.candidates]
    # Short references allow only a few different answers, so the number of draws is limited.
    for _ in range(200):
        if len(made) == n:
            break
        is_good = rng.random() < mix.good_share
        if own and rng.random() < mix.written_share:
            fitting = [each for each in own if (each[1] >= 0.6) == is_good]
            text, worth = (
                fitting[int(rng.integers(len(fitting)))] if fitting else _make(references, stock, is_good, rng)
            )
        else:
            text, worth = _make(references, stock, is_good, rng)
        if _plain(text) and _plain(text) not in taken:
            taken.add(_plain(text))
            made[text] = worth
    return list(made.items())


def _make(references: Sequence[str], stock: _Stock, is_good: bool, rng: Rng) -> tuple[str, float]:
    kinds = _GOOD if is_good else _BAD
    weights = np.array([weight for weight, _ in kinds])
    kind = kinds[int(rng.choice(len(kinds), p=weights / weights.sum()))][1]
    return kind(references[int(rng.integers(len(references)))], stock, rng)


def _same(reference: str, stock: _Stock, rng: Rng) -> tuple[str, float]:
    """Return the reference with small changes."""
    words = reference.rstrip(".").split()
    openings = ("It is said that", "As the text says,", "Well,", "I think", "Probably", "In the text,")
    if rng.random() < 0.6:
        words = [openings[int(rng.integers(len(openings)))], words[0].lower(), *words[1:]]
    if len(words) > 4 and rng.random() < 0.6:
        at = int(rng.integers(1, len(words) - 1))
        words = [*words[:at], *words[at + 1 :]]
    return _sentence(words), float(rng.uniform(0.85, 1.0))


def _longer(reference: str, stock: _Stock, rng: Rng) -> tuple[str, float]:
    """Return the reference with unrelated additions."""
    extra = stock.references[int(rng.integers(len(stock.references)))].split()[: int(rng.integers(3, 9))]
    return _sentence([*reference.rstrip(".").split(), "and", *extra]), float(rng.uniform(0.6, 0.85))


def _part(reference: str, stock: _Stock, rng: Rng) -> tuple[str, float]:
    """Return a part of the reference."""
    words = reference.rstrip(".").split()
    kept = max(1, round(len(words) * rng.uniform(0.3, 0.75)))
    start = int(rng.integers(len(words) - kept + 1))
    return _sentence(words[start : start + kept]), float(np.clip(kept / len(words) + rng.normal(0, 0.15), 0.1, 0.8))


def _twisted(reference: str, stock: _Stock, rng: Rng) -> tuple[str, float]:
    """Return the reference with its longest words replaced, which usually matter most."""
    words = reference.rstrip(".").split()
    long_first = sorted(range(len(words)), key=lambda at: -len(words[at]))
    for at in long_first[: max(1, round(len(words) * rng.uniform(0.15, 0.45)))]:
        words[at] = stock.words[int(rng.integers(len(stock.words)))]
    return _sentence(words), float(rng.uniform(0.0, 0.4))


def _beside(reference: str, stock: _Stock, rng: Rng) -> tuple[str, float]:
    """Return an answer to another question, whole or cut."""
    words = stock.references[int(rng.integers(len(stock.references)))].rstrip(".").split()
    kept = max(1, round(len(words) * rng.uniform(0.4, 1.2)))
    return _sentence(words[:kept]), float(rng.uniform(0.0, 0.1))


def _mixed(reference: str, stock: _Stock, rng: Rng) -> tuple[str, float]:
    """Return the beginning of the reference followed by something unrelated."""
    words = reference.rstrip(".").split()
    kept = max(1, round(len(words) * rng.uniform(0.3, 0.6)))
    other = stock.references[int(rng.integers(len(stock.references)))].rstrip(".").split()
    return _sentence([*words[:kept], *other[-int(rng.integers(1, 6)) :]]), float(rng.uniform(0.1, 0.45))


_Maker = Callable[[str, _Stock, Rng], tuple[str, float]]
_GOOD: tuple[tuple[float, _Maker], ...] = ((0.55, _same), (0.25, _longer), (0.2, _part))
_BAD: tuple[tuple[float, _Maker], ...] = ((0.25, _twisted), (0.45, _beside), (0.2, _mixed), (0.1, _part))


def _sentence(words: Sequence[str]) -> str:
    text = " ".join(words)
    return f"{text[:1].upper()}{text[1:]}."


def _plain(text: str) -> str:
    return " ".join(text.lower().rstrip(".").split())
